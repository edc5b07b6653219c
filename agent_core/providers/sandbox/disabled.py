"""The sandbox where no program may run: there is no other way to run one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agent_core.errors import CommandError
from agent_core.model.agent import Agent
from agent_core.model.files import Background, ProgramRun
from agent_core.model.ids import AgentId
from agent_core.ports.sandbox import NOTHING_SEALED


@dataclass(frozen=True, slots=True)
class DisabledSandbox:
    """Refuses everything, and says `why`."""

    why: str

    async def self_test(self) -> str:
        """Nothing gets through, as nothing gets in."""
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
        """Refuse."""
        raise CommandError(self.why)

    async def start(self, argv: Sequence[str], agent: Agent) -> Background:
        """Refuse."""
        raise CommandError(self.why)

    async def list_background(self, agent: Agent) -> tuple[Background, ...]:
        """None."""
        return ()

    async def end(self, agent: Agent, key: str) -> Background:
        """Refuse."""
        raise CommandError(self.why)

    async def end_all(self, agent_id: AgentId) -> None:
        """There is none."""

    async def close(self) -> None:
        """Nothing runs."""
