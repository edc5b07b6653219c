"""A fake sandbox that starts no process: it records command lines and calls a function of the test instead."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias

from agent_core.errors import CommandError
from agent_core.model.agent import Agent
from agent_core.model.files import Background, ProgramRun
from agent_core.model.ids import AgentId
from agent_core.ports.clock import Clock
from agent_core.ports.files import Files, Workspaces
from agent_core.ports.sandbox import NOTHING_SEALED
from agent_core.testing.clock import FakeClock
from agent_core.testing.files import InMemoryWorkspaces

Program: TypeAlias = Callable[[Sequence[str], Files], Awaitable[ProgramRun]]
MAX_BACKGROUND = 4
KILLED_EXIT_CODE = 137


async def silent(_argv: Sequence[str], _files: Files) -> ProgramRun:
    """The default `program`: it prints nothing and succeeds."""
    return ProgramRun(exit_code=0, output="")


@dataclass(slots=True, kw_only=True)
class RecordingSandbox:
    """Implements `Sandbox`: instead of running a program it calls the function `program`, which may change files.

    Background programs count as running until they are ended. `ran` and `started` record the command lines, `sealed`
    the sealed files of each run. `fault`: the result of the self-test.
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
        """Call `program` and report its output once."""
        self.ran.append(tuple(argv))
        self.sealed.append(dict(sealed))
        run = await self.program(argv, self.workspaces.of(agent))
        report(run.output)
        return run

    async def start(self, argv: Sequence[str], agent: Agent) -> Background:
        left = self._left.setdefault(agent.id, [])
        if len(left) >= MAX_BACKGROUND:
            raise CommandError(f"{len(left)} programs run already; end one with end_process first.")
        self.started.append(tuple(argv))
        run = await self.program(argv, self.workspaces.of(agent))
        started = Background(key=f"p{next(self._keys)}", line=argv[-1], started_at=self.clock.now(), output=run.output)
        left.append(started)
        return started

    async def list_background(self, agent: Agent) -> tuple[Background, ...]:
        return tuple(self._left.get(agent.id, ()))

    def list_with_programs(self) -> tuple[AgentId, ...]:
        return tuple(agent_id for agent_id, left in self._left.items() if left)

    async def end(self, agent: Agent, key: str) -> Background:
        left = self._left.get(agent.id, [])
        for program in left:
            if program.key == key:
                left.remove(program)
                return replace(program, exit_code=KILLED_EXIT_CODE)
        raise CommandError(f"There is no program {key!r}: list_processes names those there are.")

    async def end_all(self, agent_id: AgentId) -> None:
        self._left.pop(agent_id, None)

    async def close(self) -> None:
        self._left.clear()
