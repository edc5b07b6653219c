"""One run: processes that come and go, agents that work, and people who click, write, stop and resume."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from agent_core.errors import DatabaseAway, PersonError
from agent_core.model.actors import Actor
from agent_core.model.agent import Agent, Finished, Paused
from agent_core.model.decision import Approve, Decision, Reject
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import AgentId
from agent_core.model.turn import Turn
from agent_core.testing.examples import ANA, BEN, CHANNEL
from agent_core.testing.files import InMemoryWorkspaces
from agent_core.testing.stage import Stage
from bot.worker import work
from tests.simulation.scheduler import CLOCK, Chance, Process
from tests.simulation.world import Faults, ManyStories, SlowSurface, YieldingDatabase, slow_hook

T = TypeVar("T")
End = Literal["killed", "drained"]
STORM_SECONDS, CALM_SECONDS, GRACE_SECONDS = 90.0, 3_000.0, 20.0


@dataclass(slots=True)
class Town:
    """Everything of one run. `ends`: how its processes end.

    `written`: what people wrote and Signoff confirmed. `clicks`: decisions that were confirmed.
    """

    chance: Chance
    faults: Faults
    ends: tuple[End, ...]
    agents: int = 3
    steps: int = 4
    effects: Counter[str] = field(default_factory=Counter)
    written: list[tuple[AgentId, str]] = field(default_factory=list)
    clicks: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    processes: list[tuple[Process, Stage]] = field(default_factory=list)
    is_stormy: bool = True
    database: YieldingDatabase = field(init=False)
    surface: SlowSurface = field(init=False)
    model: ManyStories = field(init=False)
    workspaces: InMemoryWorkspaces = field(default_factory=InMemoryWorkspaces)

    def __post_init__(self) -> None:
        self.database = YieldingDatabase(self.chance, self.faults)
        self.surface = SlowSurface(chance=self.chance, weather=self.faults)
        self.model = ManyStories(self.chance, self.faults, self.steps)

    async def live(self) -> None:
        """Run a storm of faults, and then a calm in which everything has to come to its end."""
        self.start()
        agents = [await self._create(f"Agent {number}") for number in range(self.agents)]
        people = [asyncio.create_task(self._person(agent, by)) for agent in agents for by in (ANA, BEN)]
        await self._storm()
        self.is_stormy = False
        self.faults.calm_down()
        async with asyncio.timeout(CALM_SECONDS):
            await asyncio.gather(*people)
        await self.end("drained")

    def start(self) -> None:
        """Start a process with an engine."""
        process = Process(f"process {len(self.processes) + 1}")
        stage = Stage(
            model=self.model,
            database=self.database,
            surface=self.surface,
            workspaces=self.workspaces,
            clock=CLOCK,
            hooks=(slow_hook(self.chance, self.effects),),
        )
        self.processes.append((process, stage))
        process.start(work(stage.engine, stage.loop))

    async def end(self, how: End) -> None:
        """End the newest process, as a power cut does or as SIGTERM does."""
        process, stage = self.processes[-1]
        if how == "drained":
            with suppress(ConnectionError):
                await process.answer(stage.drain(GRACE_SECONDS))
        process.kill()

    async def _storm(self) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < STORM_SECONDS:
            await CLOCK.sleep(self.chance.random.random() * 12)
            if self.ends:
                await self.end(self.chance.random.choice(self.ends))
                await self.chance.pause(2.0)
                self.start()

    async def _create(self, name: str) -> Agent:
        return await self._insist(
            lambda stage: stage.service.create(
                AgentDraft(name=name, goals=("Write words",)), stage.origin(delivery=name)
            )
        )

    async def _person(self, agent: Agent, by: Actor) -> None:
        """Answer what the agent asks until it is done; in the storm, write, reject, stop and resume as well."""
        while not isinstance((there := await self._look(agent)).status, Finished):
            await CLOCK.sleep(self.chance.random.random() * 4)
            turn = next((card for card in self._cards(agent) if card.is_open), None)
            if turn and turn.state == "interrupted":
                self.asked.append(turn.id)
            with suppress(PersonError, ConnectionError, DatabaseAway):
                if self.is_stormy and self.chance.happens(0.25):
                    await self._write(agent, by)
                elif self.is_stormy and self.chance.happens(0.04):
                    await self._ask(lambda stage: stage.service.stop(agent.id, stage.origin(by)))
                elif there.is_at_rest:
                    await self._ask(lambda stage: stage.service.resume(agent.id, stage.origin(by)))
                elif turn:
                    await self._answer(turn, by)

    async def _answer(self, turn: Turn, by: Actor) -> None:
        if turn.state == "interrupted":
            await self._ask(
                lambda stage: stage.service.settle(turn.id, "skip", stage.origin(by), shown=turn.control_hash)
            )
            return
        decision: Decision = Reject("Not now.") if self.is_stormy and self.chance.happens(0.15) else Approve()
        if self.chance.happens(0.2) and isinstance(decision, Approve):
            decision = Approve(3)
        for _ in range(2 if self.chance.happens(0.2) else 1):  # the platform delivers some clicks twice
            await self._ask(
                lambda stage: stage.service.decide(
                    turn.id, decision, stage.origin(by, f"{turn.id} {by.id}"), shown=turn.control_hash
                )
            )
        self.clicks.append(turn.id)

    async def _write(self, agent: Agent, by: Actor) -> None:
        note = f"note-{len(self.written)}-{by.id}-{self.chance.random.randrange(10**9)}"
        outcome = await self._ask(lambda stage: stage.service.reply(agent.id, note, stage.origin(by)))
        if not isinstance(outcome.agent.status, Finished):  # who writes to a finished agent is told to resume it
            self.written.append((agent.id, note))

    async def _look(self, agent: Agent) -> Agent:
        return await self._insist(lambda stage: stage.views.agent(CHANNEL, agent.id))

    def _cards(self, agent: Agent) -> list[Turn]:
        return [card for card in self.surface.cards.values() if card.agent_id == agent.id]

    async def _ask(self, request: Callable[[Stage], Awaitable[T]]) -> T:
        """Ask the newest process once."""
        process, stage = self.processes[-1]
        if process.is_dead:
            raise ConnectionError(process.name)

        async def answer() -> T:
            return await request(stage)

        return await process.answer(answer())

    async def _insist(self, request: Callable[[Stage], Awaitable[T]]) -> T:
        """Ask until there is an answer."""
        while True:
            try:
                return await self._ask(request)
            except (ConnectionError, DatabaseAway):
                await CLOCK.sleep(0.5)

    def complaints(self) -> list[str]:
        """What went wrong, as people would see it: in the files, the chat, and what the model was told."""
        found = []
        for agent_id, files in self.workspaces.by_agent.items():
            words = Counter(files.contents["a.txt"][0].decode().split()) if "a.txt" in files.contents else Counter()
            found += [f"{agent_id}: {word} was written {count} times" for word, count in words.items() if count > 1]
        for agent_id, note in self.written:
            if not any(note in prompt for prompt in self.model.read.get(agent_id, ())):
                found.append(f"{agent_id}: nobody read {note}")
        for agent in self.surface.agents.values():
            if isinstance(agent.status, Paused) and "went wrong" in agent.status.reason:
                found.append(f"{agent.id}: {agent.status.reason}")
        found += [f"{turn_id}: people were asked what became of it" for turn_id in self.asked]
        if "killed" not in self.ends:
            found += [
                f"{notice} was posted {count} times" for notice, count in self.surface.posted.items() if count > 1
            ]
        return found
