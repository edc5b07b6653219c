"""A sandbox that runs nothing: it records what it was asked to run and answers as a test says."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias

from agent_core.errors import CommandError
from agent_core.model.agent import Agent
from agent_core.model.files import Background, ProgramRun
from agent_core.model.ids import AgentId
from agent_core.ports.sandbox import NOTHING_SEALED
from agent_core.ports.world import Clock, Files, Workspaces
from agent_core.testing.clock import FakeClock
from agent_core.testing.files import InMemoryWorkspaces

Program: TypeAlias = Callable[[Sequence[str], Files], Awaitable[ProgramRun]]
MAX_BACKGROUND = 4
KILLED_EXIT_CODE = 137


async def silent(_argv: Sequence[str], _files: Files) -> ProgramRun:
    """A program that does nothing and succeeds."""
    return ProgramRun(exit_code=0, output="")


@dataclass(slots=True, kw_only=True)
class RecordingSandbox:
    """A Sandbox in which every program is `program`, a function that may change the agent's files.

    What is left running runs until it is ended; `ran` and `started` hold what was asked for, `sealed` the sealed files
    of each run, `fault` is what the self-test says.
    """

    program: Program = silent
    workspaces: Workspaces = field(default_factory=InMemoryWorkspaces)
    clock: Clock = field(default_factory=FakeClock)
    fault: str = ""
    ran: list[tuple[str, ...]] = field(default_factory=list)
    started: list[tuple[str, ...]] = field(default_factory=list)
    sealed: list[dict[str, bytes]] = field(default_factory=list)
    _left: dict[AgentId, list[Background]] = field(default_factory=dict)
    _keys: "count[int]" = field(default_factory=lambda: count(1))

    async def self_test(self) -> str:
        """What the test says."""
        return self.fault

    async def run(
        self,
        argv: Sequence[str],
        agent: Agent,
        *,
        seconds: float,
        report: Callable[[str], None],
        sealed: Mapping[str, bytes] = NOTHING_SEALED,
    ) -> ProgramRun:
        """Call the program; what it printed is reported once."""
        self.ran.append(tuple(argv))
        self.sealed.append(dict(sealed))
        run = await self.program(argv, self.workspaces.of(agent))
        report(run.output)
        return run

    async def start(self, argv: Sequence[str], agent: Agent) -> Background:
        """Call the program, and say that it goes on."""
        left = self._left.setdefault(agent.id, [])
        if len(left) >= MAX_BACKGROUND:
            raise CommandError(f"{len(left)} programs run already; end one with end_process first.")
        self.started.append(tuple(argv))
        run = await self.program(argv, self.workspaces.of(agent))
        told = Background(key=f"p{next(self._keys)}", line=argv[-1], started_at=self.clock.now(), output=run.output)
        left.append(told)
        return told

    async def list_background(self, agent: Agent) -> tuple[Background, ...]:
        """What the agent started."""
        return tuple(self._left.get(agent.id, ()))

    async def end(self, agent: Agent, key: str) -> Background:
        """Forget one."""
        left = self._left.get(agent.id, [])
        for program in left:
            if program.key == key:
                left.remove(program)
                return replace(program, exit_code=KILLED_EXIT_CODE)
        raise CommandError(f"There is no program {key!r}: list_processes names those there are.")

    async def end_all(self, agent_id: AgentId) -> None:
        """Forget all of the agent's."""
        self._left.pop(agent_id, None)

    async def close(self) -> None:
        """Forget all."""
        self._left.clear()
