"""The disabled sandbox: refuses to run any program, where programs are not allowed or no sandbox works."""

from dataclasses import dataclass
from typing import NoReturn

from agent_core.errors import CommandError
from agent_core.model.agent import Agent
from agent_core.model.files import Background
from agent_core.model.ids import AgentId


@dataclass(frozen=True, slots=True)
class DisabledSandbox:
    """Every method that would run a program raises CommandError with `why`."""

    why: str

    async def self_test(self) -> str:
        """Always passes: this sandbox runs nothing."""
        return ""

    async def run(self, *_arguments: object, **_options: object) -> NoReturn:
        raise CommandError(self.why)

    start = end = run

    async def list_background(self, agent: Agent) -> tuple[Background, ...]:
        return ()

    def list_with_programs(self) -> tuple[AgentId, ...]:
        return ()

    async def end_all(self, agent_id: AgentId) -> None:
        pass

    async def close(self) -> None:
        pass
