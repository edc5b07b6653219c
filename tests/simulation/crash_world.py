"""A deterministic world in which a process ends at a step that is chosen before: each step is a callback of its loop.

Whatever reaches the outside (a commit, a card, a file, a program, a call of a model) takes a step before and after it,
so the process can end at every moment between two effects.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypeVar, TypeVarTuple

from agent_core.assembly import Core, CorePorts
from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.capabilities.programs.commands import ProgramCommands
from agent_core.errors import PersonError
from agent_core.model.agent import Agent
from agent_core.model.files import ProgramRun
from agent_core.model.ids import TurnId
from agent_core.model.model_calls import Message, Reply, Usage
from agent_core.model.note import Notice
from agent_core.model.origin import Origin, ThreadRef
from agent_core.model.records.audit import AuditEntry
from agent_core.model.records.reservation import Account
from agent_core.model.turn import Turn
from agent_core.ports.files import Files
from agent_core.ports.models import CallOptions, ModelProgress
from agent_core.testing.embedder import WordEmbedder
from agent_core.testing.examples import ANA, CHANNEL
from agent_core.testing.files import InMemoryFiles, InMemoryWorkspaces
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.memory_index import InMemoryIndex
from agent_core.testing.sandbox import RecordingSandbox
from agent_core.testing.surface import RecordingSurface
from agent_core.toolset.registry import Commands
from bot.worker import work
from tests.simulation.scheduler import CLOCK, PROCESS, Chance, Process, SimulatedLoop
from tests.simulation.wire import Faults
from tests.simulation.world import PRICE_PER_TOKEN, REPLY_USAGE, YieldingDatabase

T = TypeVar("T")
Args = TypeVarTuple("Args")
Ending = Literal["kill", "SIGTERM", "SIGTERM without time"]
ROOT = Path(__file__).parents[2]
IDLE = ("agent_core/engines/", "agent_core/service/housekeeping/erasing.py", "agent_core/loop/live_")
LOOK_SECONDS, PROGRAM_SECONDS = 0.25, 3.0
GRACE_SECONDS: dict[Ending, float] = {"SIGTERM": 20.0, "SIGTERM without time": 0.0}
NOTHING_MORE = reply_text("list_files", {})
SANDBOX = RecordingSandbox(clock=CLOCK)  # the scene that is played sets its program
COMMANDS = Commands.of(
    *FILE_COMMANDS,
    *FINISH_COMMANDS,
    *(command for command in ProgramCommands(sandbox=SANDBOX).commands if command.spec.name == "execute_shell"),
)


def by_ana(delivery: str) -> Origin:
    """The person, and the platform's id of what they do: it is the same when they do it again."""
    return Origin(by=ANA, channel=CHANNEL, delivery=delivery)


async def take_a_step() -> None:
    await CLOCK.sleep(0)


class Steady(Chance):
    """Nothing is left to chance: each pause is one step, and nothing fails."""

    def happens(self, share: float) -> bool:
        return False

    async def pause(self, longest: float | None = None) -> None:
        await take_a_step()


@dataclass(eq=False, slots=True)
class Mortal(Process):
    """A process that ends before its step number `ends_at`, or is told to end there. 0: it lives on.

    `told`: done when it came to that step. `place`: what it was doing then.
    """

    ends_at: int = 0
    ending: Ending = "kill"
    steps: int = 0
    place: str = ""
    told: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def may_step(self) -> bool:
        """Count a step; return whether the process still lives."""
        self.steps += not self.is_dead
        if self.steps == self.ends_at and not self.told.done():
            self.place = ", ".join(sorted(_places()))
            self.told.set_result(None)
            if self.ending == "kill":
                self.kill()
        return not self.is_dead


class SteppingLoop(SimulatedLoop):
    """Counts the steps of mortal processes. What a dead one would have run is kept, and not run."""

    is_prompt = True

    def call_soon(
        self, callback: Callable[[*Args], object], *args: *Args, context: Context | None = None
    ) -> asyncio.Handle:
        own = context or copy_context()
        return super().call_soon(self._step, own, callback, *args, context=own)

    def _step(self, context: Context, callback: Callable[[*Args], object], *args: *Args) -> None:
        process = PROCESS.get()
        if isinstance(process, Mortal) and not self._is_over and not process.may_step():
            self._buried.append(asyncio.Handle(callback, args, self, context))
            return
        callback(*args)


def _places() -> Iterator[str]:
    """The innermost line of the core at which each task waits, such as "agent_core/loop/act_step.py:113 _start".

    What only waits for work is left out.
    """
    for task in asyncio.all_tasks():
        waiting: Any = task.get_coro()
        found = ""
        while waiting is not None:
            frame = getattr(waiting, "cr_frame", None) or getattr(waiting, "ag_frame", None)
            path = Path(frame.f_code.co_filename) if frame else ROOT
            if frame and path.is_relative_to(ROOT / "agent_core"):
                found = f"{path.relative_to(ROOT)}:{frame.f_lineno} {frame.f_code.co_name}"
            waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "ag_await", None)
        if found and not found.startswith(IDLE):
            yield found


@dataclass(slots=True)
class SteppingSurface(RecordingSurface):
    """A chat as people see it. It searches a thread for a message that may exist, and posts it otherwise."""

    posted: Counter[str] = field(default_factory=Counter)

    async def open_thread(self, agent: Agent) -> ThreadRef:
        await take_a_step()
        if not self.posted[f"root of {agent.name}"]:
            self.posted[f"root of {agent.name}"] += 1
        await take_a_step()
        return await RecordingSurface.open_thread(self, agent)

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        await take_a_step()
        card = f"card {turn.number}"
        if not turn.shown_as and not (may_exist and self.posted[card]):
            self.posted[card] += 1
        address = await RecordingSurface.show(self, agent, turn, may_exist=may_exist)
        await take_a_step()
        return address

    async def notice(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        await take_a_step()
        if not (may_exist and self.posted[f"notice {notice.id}"]):
            self.posted[f"notice {notice.id}"] += 1
            await RecordingSurface.notice(self, agent, notice, may_exist=may_exist)
        await take_a_step()


@dataclass(slots=True)
class SteppingFiles(InMemoryFiles):
    """Files at which each write and deletion takes a step before and after it. `begun`: the texts of all writes."""

    begun: set[str] = field(default_factory=set)

    async def write(self, path: str, data: bytes, *, append: bool = False, expected: str | None = None) -> None:
        self.begun.add(data.decode())
        await take_a_step()
        await InMemoryFiles.write(self, path, data, append=append, expected=expected)
        await take_a_step()

    async def delete(self, path: str, *, expected: str | None = None) -> None:
        await take_a_step()
        await InMemoryFiles.delete(self, path, expected=expected)
        await take_a_step()


@dataclass(slots=True)
class SteppingWorkspaces(InMemoryWorkspaces):
    """`begun`: the texts that commands began to write, and the lines that they began to run."""

    begun: set[str] = field(default_factory=set)

    def of(self, agent: Agent) -> InMemoryFiles:
        """The agent's files, which count and take steps."""
        return self.by_agent.setdefault(agent.home, SteppingFiles(clock=CLOCK, begun=self.begun))

    async def remove(self, agent: Any) -> None:
        await take_a_step()
        await InMemoryWorkspaces.remove(self, agent)
        await take_a_step()


class PlannedModel(ScriptedModel):
    """Proposes what is planned for the number of turns that are saved, however often it is asked.

    The reply is streamed at once and ends a second later. `calls`: those that have to be paid.
    """

    def __init__(self, plan: Sequence[str], turns: Callable[[], int]) -> None:
        super().__init__()
        self.plan, self.turns, self.calls = plan, turns, 0

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        await take_a_step()
        self.calls += 1
        self.prompts.append(tuple(messages))
        if options.report:
            options.report(ModelProgress(characters=27, prompt_usage=replace(REPLY_USAGE, completion=0)))
        await CLOCK.sleep(1)
        turns = self.turns()
        return Reply(text=self.plan[turns] if turns < len(self.plan) else NOTHING_MORE, usage=REPLY_USAGE)

    def price(self, usage: Usage, model: str) -> Decimal:
        return (usage.prompt + usage.completion) * PRICE_PER_TOKEN


@dataclass(slots=True)
class Scene:
    """One agent, its processes one after the other, and a person. `plan`: what the model proposes, by turn.

    `asked`: turns of which people were asked whether they ran. `programs`: how often each line ran.
    `needless`: those of which people were asked although nothing had begun.
    """

    plan: tuple[str, ...]
    asked: list[TurnId] = field(default_factory=list)
    needless: list[TurnId] = field(default_factory=list)
    programs: Counter[str] = field(default_factory=Counter)
    agent: Agent | None = None
    core: Core = field(init=False)
    process: Process = field(init=False)
    database: YieldingDatabase = field(init=False)
    surface: SteppingSurface = field(default_factory=SteppingSurface)
    workspaces: SteppingWorkspaces = field(default_factory=SteppingWorkspaces)
    model: PlannedModel = field(init=False)

    def __post_init__(self) -> None:
        self.database = YieldingDatabase(Steady.of(0), Faults())
        self.model = PlannedModel(self.plan, lambda: len(self.database.saved(Turn)))
        self.core = self.make_core()

    def make_core(self) -> Core:
        """What a process has of its own."""
        SANDBOX.program, SANDBOX.workspaces = self._run_program, self.workspaces
        ports = CorePorts(
            database=self.database,
            model=self.model,
            index=InMemoryIndex(),
            surfaces=(self.surface,),
            workspaces=self.workspaces,
            clock=CLOCK,
            embedder=WordEmbedder(),
        )
        return Core.assemble(ports, lambda _parts: COMMANDS)

    def start(self, ends_at: int = 0, ending: Ending = "kill") -> Mortal:
        """Start the next process."""
        process = self.process = Mortal("process", ends_at=ends_at, ending=ending)
        self.core = self.make_core()
        process.start(self._live(self.core))
        return process

    async def end_in_order(self, ending: Ending = "SIGTERM") -> None:
        """What SIGTERM does: commands have some time to end; then every step is cancelled."""
        with suppress(ConnectionError):
            await self.process.answer(self.core.drain(GRACE_SECONDS[ending]))
        self.process.kill()

    async def act(self, request: Callable[[Core], Awaitable[T]]) -> T | None:
        """Do something as a person does: again while there is no answer. None for a refusal."""
        while True:

            async def answer() -> T:
                return await request(self.core)

            try:
                return await self.process.answer(answer())
            except ConnectionError:
                await CLOCK.sleep(LOOK_SECONDS)
            except PersonError:
                return None

    async def until(self, happened: Callable[[], bool]) -> None:
        """Answer what people are asked about interrupted commands, until this has happened."""
        while not happened():
            for turn in [each for each in self.cards if each.state == "interrupted"]:
                await self._settle(turn)
            await CLOCK.sleep(LOOK_SECONDS)

    @property
    def cards(self) -> list[Turn]:
        """The cards that people see."""
        if self.surface.shows_what_is_saved:
            return self.database.saved(Turn)
        return [*self.surface.cards.values()]

    @property
    def notices(self) -> list[Notice]:
        """The notices that people see."""
        if self.surface.shows_what_is_saved:
            return self.database.saved(Notice)
        return self.surface.notices

    @property
    def agents(self) -> list[Agent]:
        """The agents as people see them."""
        if self.surface.shows_what_is_saved:
            return self.database.saved(Agent)
        return [*self.surface.agents.values()]

    def card(self, number: int) -> Turn | None:
        """The card of this turn, as it was last shown."""
        return next((card for card in self.cards if card.number == number), None)

    def asks(self, number: int) -> bool:
        card = self.card(number)
        return card is not None and card.state == "proposed"

    def file(self, name: str) -> str:
        there = [files.contents[name][0] for files in self.workspaces.by_agent.values() if name in files.contents]
        return there[0].decode() if there else ""

    async def log(self) -> list[AuditEntry]:
        async with self.database.begin() as unit:
            return [*await unit.audit.in_channel(CHANNEL)]

    async def money_complaints(self) -> list[str]:
        """Whether each call was charged once: by its price, or by an estimate, which is more, if it was given up."""
        async with self.database.begin() as unit:
            budget = await unit.budgets.of(CHANNEL)
            charged = sum((agent.budget.spent for agent in await unit.agents.of(CHANNEL)), Decimal(0))
            funds = await unit.reservations.funds(Account(channel=CHANNEL))
        known = self.model.calls * (REPLY_USAGE.prompt + REPLY_USAGE.completion) * PRICE_PER_TOKEN
        found = []
        if not budget.spent - budget.estimated <= known <= budget.spent:
            found.append(f"{budget} was charged for {self.model.calls} calls of ${known}")
        if charged not in (0, budget.spent):
            found.append(f"the agent was charged ${charged}, its channel ${budget.spent}")
        if funds.reserved_of_channel:
            found.append(f"${funds.reserved_of_channel} is still reserved")
        return found

    async def _live(self, core: Core) -> None:
        await core.ledger.charge_left_by_others()
        await asyncio.gather(work(core.engine, core.loop), core.eraser.run())

    async def _run_program(self, argv: Sequence[str], _files: Files) -> ProgramRun:
        self.workspaces.begun.add(argv[-1])
        await take_a_step()
        self.programs[argv[-1]] += 1
        await CLOCK.sleep(PROGRAM_SECONDS)
        return ProgramRun(exit_code=0, output=f"{argv[-1]} is done")

    async def _settle(self, turn: Turn) -> None:
        """Say what is true: whether the command ran can be seen from outside."""
        self.asked.append(turn.id)
        line, text = (str(turn.call.arguments.get(name)) for name in ("command_line", "text"))
        settlement: Any = "it ran" if self.programs[line] or text in self.file("a.txt") else "run again"
        if self.workspaces.begun.isdisjoint((line, text)):
            self.needless.append(turn.id)
        await self.act(
            lambda core: core.service.decisions.settle(
                turn.id, settlement, by_ana(f"settled {turn.id}"), shown=turn.control_hash
            )
        )
