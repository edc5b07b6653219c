"""The disabled sandbox: runs nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agent_core.errors import CommandError
from agent_core.model.agent import Agent
from agent_core.model.files import Background, ProgramRun
from agent_core.model.ids import AgentId
from agent_core.ports.sandbox import NOTHING_SEALED


@dataclass(frozen=True, slots=True)
class DisabledSandbox:
    """Every method that would run a program raises CommandError with `why`."""

    why: str

    async def self_test(self) -> str:
        """Always passes: this sandbox runs nothing."""
        return ""

    async def run(
        self,
        argv: Sequence[str],
        agent: Agent,
        *,
        seconds: float,
        report: Callable[[str], None],
        sealed: Mapping[str, bytes] = NOTHING_SEALED,
    ) -> ProgramRun:
        raise CommandError(self.why)

    async def start(self, argv: Sequence[str], agent: Agent) -> Background:
        raise CommandError(self.why)

    async def list_background(self, agent: Agent) -> tuple[Background, ...]:
        return ()

    async def end(self, agent: Agent, key: str) -> Background:
        raise CommandError(self.why)

    async def end_all(self, agent_id: AgentId) -> None:
        pass

    async def close(self) -> None:
        pass
