"""One run: processes that come and go, agents that work, and people who click, write, stop and resume."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from itertools import count
from typing import Literal, TypeVar

from adapters.typed.policies import needing
from adapters.web.surface import Hub
from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.engines.local import LocalEngine
from agent_core.errors import AlreadyDecided, ChangedSinceShown, DatabaseAway, NotPossible, PersonError
from agent_core.loop.command_runner import Extensions
from agent_core.model.agent import Agent, Finished
from agent_core.model.decision import Approve, Decision, Reject
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.model_calls import FREE, Budget
from agent_core.model.note import Note
from agent_core.model.origin import Actor, Origin
from agent_core.model.records.reservation import Account
from agent_core.model.turn import Turn
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import ANA, BEN, CHANNEL
from agent_core.testing.files import InMemoryWorkspaces
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import Commands
from bot.worker import until_one_ends, work
from tests.simulation.chat import Pages, PageSurface, ProcessSurface, SlowChat
from tests.simulation.job_queue import JobQueue
from tests.simulation.scheduler import CLOCK, Chance, Process
from tests.simulation.wire import Faults, Wire
from tests.simulation.world import ManyStories, YieldingDatabase, slow_hook

T = TypeVar("T")
End = Literal["killed", "drained", "suspended"]
Kind = Literal["worker", "web"]
STORM_SECONDS, CALM_SECONDS, GRACE_SECONDS, SETTLING_SECONDS = 90.0, 300.0, 20.0, 60.0
CALM_SPELL_SECONDS, SUSPENDED_SECONDS = 5.0, 12.0
COMMANDS = Commands.of(*[each for each in FILE_COMMANDS if each.spec.name == "append_to_file"], *FINISH_COMMANDS)
PERSON_SECONDS, STOP_SECONDS = 1.5, 1.0
MANY_TURNS = 10_000
AFTER_SECONDS = 5.0  # the storm goes on after the last agent has ended


@dataclass(frozen=True, slots=True)
class Program:
    """A process with its core."""

    kind: Kind
    process: Process
    stage: Stage
    surface: ProcessSurface


@dataclass(slots=True)
class Town:
    """Everything of one run. `ends`: how its processes end, or what happens to them.

    `workers`, `webs`: how many processes advance agents, and how many only serve people; without these, workers do.
    `on_page`: people see what is saved, not what the chat was sent. `sets_policies`: they change the channel's policy.
    `written`: what people wrote and Signoff confirmed. `clicks`: turns whose decision was confirmed.
    `allowed`: how many commands of each agent people allowed at most. `turns`, `notes`: all there are at the end.
    `too_late`: commands that went on after Stop. `is_late`: whether commits may take effect late.
    """

    chance: Chance
    faults: Faults
    ends: tuple[End, ...]
    workers: int
    webs: int
    agents: int
    steps: int
    on_page: bool = False
    sets_policies: bool = False
    written: list[tuple[AgentId, str]] = field(default_factory=list)
    clicks: list[TurnId] = field(default_factory=list)
    allowed: Counter[AgentId] = field(default_factory=Counter)
    turns: dict[TurnId, Turn] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    processes: list[Program] = field(default_factory=list)
    is_stormy: bool = True
    is_late: bool = field(init=False)
    deliveries: "count[int]" = field(default_factory=count)
    too_late: list[str] = field(default_factory=list)
    database: YieldingDatabase = field(init=False)
    chat: SlowChat = field(init=False)
    pages: Pages = field(init=False)
    model: ManyStories = field(init=False)
    budget: Budget = field(init=False)
    charged: Decimal = FREE
    reserved: Decimal = FREE
    wire: Wire = field(init=False)
    queue: JobQueue = field(init=False)
    workspaces: InMemoryWorkspaces = field(default_factory=InMemoryWorkspaces)

    def __post_init__(self) -> None:
        self.is_late = self.faults.late > 0
        self.database = YieldingDatabase(self.chance, self.faults)
        self.chat = SlowChat(chance=self.chance, weather=self.faults)
        self.model = ManyStories(self.chance, self.faults, self.chat.doings, self.steps)
        self.wire = Wire(self.chance, self.faults)
        self.queue = JobQueue(self.chance, self.faults)
        self.pages = Pages(self.wire)

    @property
    def is_shared(self) -> bool:
        return self.workers + self.webs > 1

    async def live(self) -> None:
        """Run a storm of faults, and then a calm in which everything has to come to its end."""
        for _ in range(self.workers):
            self.start("worker")
        for _ in range(self.webs):
            self.start("web")
        agents = [await self._create(f"Agent {number}") for number in range(self.agents)]
        people = [asyncio.create_task(self._person(agent, by)) for agent in agents for by in (ANA, BEN)]
        await self._storm(people)
        self.is_stormy = False
        self.faults.calm_down()
        async with asyncio.timeout(CALM_SECONDS):
            await asyncio.gather(*people)
        await self._count_money()
        # Until dead workers are found, what they reserved is charged, and all is shown.
        for _ in range(int(SETTLING_SECONDS)):
            if not self.reserved and self._is_shown:
                break
            await CLOCK.sleep(1.0)
            await self._count_money()
        last = self.living[0].stage
        for program in self.living:
            await self.end(program, "drained")
        await last.ledger.charge_left_by_others()  # as the next start, or an hour, would: of processes that ended
        await self._count_money()
        async with TemporaryDatabase.begin(self.database) as work:
            for agent in await work.agents.of(CHANNEL):
                self.turns.update({turn.id: turn for turn in await work.turns.of(agent, last=MANY_TURNS)})
                self.notes += await work.notes.of(agent)

    @property
    def _is_shown(self) -> bool:
        """Whether each status is what is saved, where that matters."""
        matters = not self.on_page and "suspended" not in self.ends
        shown = self.chat.statuses.items()
        return not matters or all(kind == self.database.peek(agent_id).status.kind for agent_id, kind in shown)

    async def _count_money(self) -> None:
        async with TemporaryDatabase.begin(self.database) as work:
            self.budget = await work.budgets.of(CHANNEL)
            self.charged = sum((agent.budget.spent for agent in await work.agents.of(CHANNEL)), FREE)
            self.reserved = (await work.reservations.funds(Account(channel=CHANNEL))).reserved_of_channel

    @property
    def living(self) -> list[Program]:
        return [each for each in self.processes if not each.process.is_dead]

    def start(self, kind: Kind) -> None:
        """Start a process."""
        process = Process(f"{kind} {len(self.processes) + 1}")
        end, hub = self.wire.join(process), Hub()
        hub.join(end)
        if kind == "web":
            self.pages.open(end, hub)
        surface = (PageSurface if self.on_page else ProcessSurface)(self.chat, hub, self.pages)
        stage = Stage(
            model=self.model,
            database=self.database,
            surface=surface,
            workspaces=self.workspaces,
            clock=CLOCK,
            commands=COMMANDS,
            extensions=Extensions(hooks=(slow_hook(self.chance, self.chat.doings),)),
            engine=partial(self.queue.join, process) if self.is_shared else LocalEngine,
        )
        self.processes.append(Program(kind, process, stage, surface))
        process.start(self._work(stage) if kind == "worker" else stage.engine.stand_by())

    async def _work(self, stage: Stage) -> None:
        """Advance agents. An engine that is alone first charges what processes before it had reserved."""
        while not self.is_shared:
            with suppress(DatabaseAway):
                await stage.ledger.charge_left_by_others()
                break
        await until_one_ends(work(stage.engine, stage.loop), stage.ledger.run())

    async def end(self, program: Program, how: End) -> None:
        """End a process, as a power cut does or as SIGTERM does, or suspend it for a while."""
        if how == "suspended":
            program.process.suspend()
            await CLOCK.sleep(self.chance.random.random() * SUSPENDED_SECONDS)
            program.process.go_on()
            return
        if how == "drained":
            with suppress(ConnectionError, DatabaseAway):
                await program.process.answer(program.stage.drain(GRACE_SECONDS))
        program.process.kill()

    async def _storm(self, people: Sequence["asyncio.Task[None]"]) -> None:
        """Let processes end and begin, until everyone is done and for a while after that."""
        loop, ends = asyncio.get_running_loop(), STORM_SECONDS
        while loop.time() < ends:
            await CLOCK.sleep(self.chance.random.random() * CALM_SPELL_SECONDS)
            if all(each.done() for each in people):
                ends = min(ends, loop.time() + AFTER_SECONDS)
            if self.ends:
                program = self._choose_victim()
                await self.end(program, self.chance.random.choice(self.ends))
                await self.chance.pause(2.0)
                if program.process.is_dead:
                    self.start(program.kind)

    def _choose_victim(self) -> Program:
        """One of the processes; more often one that is in the middle of something, as its end shows more."""
        busy = [each for each in self.living if self.chat.doings.is_busy(each.process)]
        return self.chance.random.choice(busy if busy and self.chance.happens(0.7) else self.living)

    async def _create(self, name: str) -> Agent:
        return await self._insist(
            lambda stage: stage.service.lifecycle.create(
                AgentDraft(name=name, goals=("Write words",)), stage.origin(delivery=name)
            )
        )

    async def _person(self, agent: Agent, by: Actor) -> None:
        """Answer what the agent asks until it is done; in the storm, write, reject, stop and resume as well."""
        while not isinstance((there := self.database.peek(agent.id)).status, Finished):
            await CLOCK.sleep(self.chance.random.random() * PERSON_SECONDS)
            turn = next((card for card in self._cards(agent) if card.is_open), None)
            if turn and turn.state == "interrupted":
                self.asked.append(turn.id)
            with suppress(PersonError, ConnectionError, DatabaseAway):
                if self.is_stormy and self.chance.happens(0.25):
                    await self._write(agent, by)
                elif self.is_stormy and self.sets_policies and self.chance.happens(0.2):
                    await self._set_policy(by)
                elif self.is_stormy and self.chance.happens(0.2 if self.chat.doings.list_commands(agent.id) else 0.04):
                    await self._stop(agent, by)
                elif there.is_at_rest:
                    await self._ask_often(lambda stage, origin: stage.service.lifecycle.resume(agent.id, origin), by)
                elif turn:
                    await self._answer(turn, by)

    async def _set_policy(self, by: Actor) -> None:
        """Have two people approve what agents write from now on, or one."""
        change = needing(self.chance.random.choice(("one", "two", "agents")), ("write",))
        await self._ask_often(lambda stage, origin: stage.agent_settings.set_channel_policy(change, origin), by)

    async def _stop(self, agent: Agent, by: Actor) -> None:
        """Stop the agent. A command that was running, in whatever process, has to end soon."""
        running = self.chat.doings.list_commands(agent.id)
        await self._ask_often(lambda stage, origin: stage.service.lifecycle.stop(agent.id, origin), by)
        if running and not (self.faults.away or self.faults.lost):
            await CLOCK.sleep(STOP_SECONDS)
            left = [each for each in self.chat.doings.list_commands(agent.id) if each in running]
            self.too_late += [f"{agent.id}: after Stop, {each.what} in {each.process.name}" for each in left]

    async def _answer(self, turn: Turn, by: Actor) -> None:
        """Click on a card. If it is outdated, it is drawn again, as the chat platforms do."""
        try:
            await self._click(turn, by)
        except (AlreadyDecided, ChangedSinceShown, NotPossible):
            await self._redraw(turn.id)
            raise

    async def _redraw(self, turn_id: TurnId) -> None:
        """As `redraw_if_outdated` of the chat platforms does. If its process ends meanwhile, somebody clicks again."""
        drawn = None
        _, turn = await self._insist(lambda stage: stage.views.turn(CHANNEL, turn_id))
        while turn != drawn:
            self.chat.cards[turn_id] = drawn = turn
            _, turn = await self._insist(lambda stage: stage.views.turn(CHANNEL, turn_id))

    async def _click(self, turn: Turn, by: Actor) -> None:
        if turn.state == "interrupted":
            await self._ask_often(
                lambda stage, origin: stage.service.decisions.settle(turn.id, "skip", origin, shown=turn.control_hash),
                by,
            )
            return
        decision: Decision = Reject("Not now.") if self.is_stormy and self.chance.happens(0.15) else Approve()
        if self.chance.happens(0.2) and isinstance(decision, Approve):
            decision = Approve(2)
        self.allowed[turn.agent_id] += decision.times if isinstance(decision, Approve) else 0
        await self._ask_often(
            lambda stage, origin: stage.service.decisions.decide(turn.id, decision, origin, shown=turn.control_hash), by
        )
        self.clicks.append(turn.id)

    async def _write(self, agent: Agent, by: Actor) -> None:
        note = f"note-{len(self.written)}-{by.id}-{self.chance.random.randrange(10**9)}"
        outcomes = await self._ask_often(
            lambda stage, origin: stage.service.decisions.reply(agent.id, note, origin, meaning="feedback"), by
        )
        # Who writes to a finished agent is told to resume it.
        if not any(isinstance(each.agent.status, Finished) for each in outcomes):
            self.written.append((agent.id, note))

    def _cards(self, agent: Agent) -> list[Turn]:
        if self.on_page:
            return self.database.peek_turns(agent.id)
        return [card for card in self.chat.cards.values() if card.agent_id == agent.id]

    async def _ask_often(self, request: Callable[[Stage, Origin], Awaitable[T]], by: Actor) -> list[T]:
        """Deliver what a person does, with the platform's id of it: now and then twice, or to two processes at once."""
        delivery = f"delivery {next(self.deliveries)}"

        async def deliver(stage: Stage) -> T:
            return await request(stage, stage.origin(by, delivery))

        if not self.chance.happens(0.2):
            return [await self._ask(deliver)]
        if self.chance.happens(0.5):
            return [await self._ask(deliver), await self._ask(deliver)]
        answers = await asyncio.gather(self._ask(deliver), self._ask(deliver), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return [answer for answer in answers if not isinstance(answer, BaseException)]

    async def _ask(self, request: Callable[[Stage], Awaitable[T]]) -> T:
        """Ask one of the processes that serve people, once."""
        serving = [each for each in self.living if each.kind == "web" or not self.webs]
        if not serving:
            raise ConnectionError
        program = self.chance.random.choice(serving) if self.is_shared else serving[0]

        async def answer() -> T:
            return await request(program.stage)

        return await program.process.answer(answer())

    async def _insist(self, request: Callable[[Stage], Awaitable[T]]) -> T:
        """Ask until there is an answer."""
        while True:
            try:
                return await self._ask(request)
            except (ConnectionError, DatabaseAway):
                await CLOCK.sleep(0.5)
