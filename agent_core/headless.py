"""Runs an agent in a program: SQLite in a folder, a function decides, an outage of the model ends the run."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeAlias

from agent_core.assembly import Core, CorePorts
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.memory.database_vector_index import DatabaseVectorIndex
from agent_core.capabilities.models.openai_model import OpenAIModel
from agent_core.errors import ModelUnavailable
from agent_core.model.agent import Agent, Awaiting, Thinking
from agent_core.model.decision import Decision
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import Usage
from agent_core.model.note import Notice
from agent_core.model.origin import Actor, ChannelScope, Origin, SurfaceName
from agent_core.model.turn import Turn
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade
from agent_core.ports.clock import Clock
from agent_core.ports.surface import ChatSurface
from agent_core.text.lines import counted

HOST = Origin(by=Actor(id="host", display="host", workspace="local"), channel=ChannelScope("web", "local", "headless"))
MAX_OUTAGE_SECONDS = 600.0

Decide: TypeAlias = Callable[[Agent, Turn], Awaitable[Decision]]
Notify: TypeAlias = Callable[[str], None]


class HeadlessSurface(ChatSurface):
    """A `ChatSurface` that shows nothing: `Decide` gets the proposals, and the database has the results."""

    name: SurfaceName = "web"
    shows_what_is_saved: bool = True

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        """Show nothing; return the turn's id as the card's address."""
        return turn.id

    async def notice(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        """Show nothing: `core.views.thread` has the notices."""

    async def status(self, agent: Agent) -> None:
        """Show nothing: `core.views.agent` has the status."""

    def forget_shown(self, agent: Agent) -> None:
        """Do nothing: this surface remembers nothing that it has shown."""

    async def announce_lost_thread(self, agent: Agent, reason: str) -> None:
        """Do nothing: threads of this surface cannot be lost."""

    async def upload(self, agent: Agent, filename: str, data: bytes) -> None:
        """Do nothing: the file is in the agent's workspace."""


@asynccontextmanager
async def open_core(folder: Path, *, base_url: str, api_key: str = "", model: str = "") -> AsyncIterator[Core]:
    """A core on any OpenAI-compatible endpoint. SQLite and files in `folder` survive a restart.

    `model` "" uses the only model that the endpoint lists.
    """
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    url = f"sqlite:///{folder / 'agents.db'}"
    await upgrade(url)
    database, endpoint = SqlDatabase(url), OpenAIModel(base_url=base_url, api_key=api_key, model=model)
    ports = CorePorts(
        database=database,
        model=endpoint,
        index=DatabaseVectorIndex(database),
        surfaces=(HeadlessSurface(),),
        workspaces=FolderWorkspaces(folder / "workspaces"),
    )
    try:
        yield Core.assemble(ports)
    finally:
        await endpoint.close()
        await database.close()


def summarise_run(agent: Agent) -> str:
    """The agent's status with its reason, its turns, and what was spent in tokens and US dollars."""
    reason = getattr(agent.status, "reason", "")
    tokens = agent.usage.prompt + agent.usage.completion
    spent = f"{counted(agent.turns, 'turn')}, {counted(tokens, 'token')}, ${agent.usage.cost:.4f}"
    return f"{agent.status.kind}: {reason}\n{spent}"


def ignore_notice(_text: str) -> None:
    """Discard a notice."""


async def run_agent(
    core: Core,
    draft: AgentDraft,
    decide: Decide,
    *,
    notify: Notify = ignore_notice,
    max_outage_seconds: float = MAX_OUTAGE_SECONDS,
    origin: Origin = HOST,
) -> Agent:
    """Create an agent and run it until it finishes, pauses or is stopped; return its last state.

    `decide` is asked for each proposal of the agent and of its helpers. The decision is recorded under the person in
    `origin`. An approval counts only for the turn that `decide` was given. `notify` gets a sentence each time that the
    model could not be reached, with the time of the next try.

    Raise InvalidInput for a draft with faults. Raise ModelUnavailable, with the agent paused, when the model could not
    be reached for `max_outage_seconds`.
    """
    outage = _Outage(clock=core.clock, notify=notify, max_seconds=max_outage_seconds)
    agent = await core.service.lifecycle.create(draft, origin)
    async with _run_engine(core) as wait:
        while not agent.is_at_rest:
            await wait(outage)
            agents = await _list_family(core, agent)
            outage.observe(agents)
            if outage.seconds_left <= 0:
                for each in agents:
                    await core.loop.pause(each.id, outage.reason)
                raise ModelUnavailable(outage.reason)
            await _decide_all(core, agents, decide, origin)
            agent = await core.views.agent(origin.channel, agent.id)
    return agent


@dataclass(slots=True, kw_only=True)
class _Outage:
    """The current outage of the model; `since` is None while the model can be reached.

    `announced`: the agent and the time of the next try, for each try that was announced.
    `usage`: the agents' usage when they last waited for the model. If it has grown since, a new outage has begun.
    """

    clock: Clock
    notify: Notify
    max_seconds: float
    since: datetime | None = None
    why: str = ""
    announced: set[tuple[AgentId, datetime | None]] = field(default_factory=set)
    usage: Usage = Usage()

    def observe(self, agents: Sequence[Agent]) -> None:
        """Announce each failed try once; the outage is over when no agent waits for the model."""
        waiting = [(each, each.status) for each in agents if isinstance(each.status, Thinking) and each.status.held_up]
        if not waiting:
            self.since = None
            self.announced.clear()
            return
        usage = sum((each.usage for each in agents), Usage())
        self.since = self.since if self.since and usage == self.usage else self.clock.now()
        self.usage = usage
        for agent, status in waiting:
            self.why = status.held_up
            if (agent.id, agent.wake_at) not in self.announced:
                self.announced.add((agent.id, agent.wake_at))
                self.notify(f"{agent.name} cannot reach the model: {self.why} Next try: {agent.wake_at:%H:%M:%S} UTC.")

    @property
    def seconds_left(self) -> float:
        """Seconds until the run is given up: `max_seconds` while the model can be reached."""
        passed = self.clock.now() - self.since if self.since else timedelta()
        return self.max_seconds - passed.total_seconds()

    @property
    def reason(self) -> str:
        return f"The model could not be reached for {self.max_seconds:,.0f} seconds. {self.why}"


@asynccontextmanager
async def _run_engine(core: Core) -> AsyncIterator[Callable[[_Outage], Awaitable[None]]]:
    """Run the engine inside the block, and yield a function that waits for its next step.

    That function returns when an agent has been advanced or the outage is too long; it raises the engine's error.
    """
    advanced = asyncio.Event()

    async def advance(agent_id: AgentId) -> None:
        await core.loop.advance(agent_id)
        advanced.set()

    async def wait(outage: _Outage) -> None:
        waiting: list[asyncio.Task[object]] = [asyncio.create_task(advanced.wait())]
        if outage.since:
            waiting.append(asyncio.create_task(core.clock.sleep(outage.seconds_left)))
        await asyncio.wait((*waiting, engine), return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        advanced.clear()
        if engine.done():
            await engine

    await core.ledger.charge_left_by_others()
    engine = asyncio.create_task(core.engine.run(advance))
    try:
        yield wait
    finally:
        engine.cancel()
        await asyncio.gather(engine, return_exceptions=True)


async def _list_family(core: Core, agent: Agent) -> tuple[Agent, ...]:
    """Load the agent as it is now, and its helpers."""
    present = await core.views.agent(agent.channel, agent.id)
    return present, *await core.views.family(agent.channel, agent.id)


async def _decide_all(core: Core, agents: Sequence[Agent], decide: Decide, origin: Origin) -> None:
    for each in agents:
        turn = await core.views.newest_turn(origin.channel, each.id)
        if isinstance(each.status, Awaiting) and turn and turn.state == "proposed":
            decision = await decide(each, turn)
            await core.service.decisions.decide(turn.id, decision, origin, shown=turn.control_hash)
