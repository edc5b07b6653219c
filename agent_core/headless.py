"""Running an agent without a chat platform: a function makes the decisions that people make elsewhere."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from agent_core.assembly import Core
from agent_core.model.actors import Actor, Origin
from agent_core.model.agent import Agent, Awaiting
from agent_core.model.channels import ChannelScope, SurfaceName, ThreadRef
from agent_core.model.decision import Decision
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import AgentId
from agent_core.model.note import Notice
from agent_core.model.turn import Turn

PERSON = Actor(id="host", display="host", workspace="local")
CHANNEL = ChannelScope("web", "local", "headless")

Decide: TypeAlias = Callable[[Agent, Turn], Awaitable[Decision]]


class HeadlessSurface:
    """A `ChatSurface` that shows nothing: proposals go to the `Decide` function, and results are in the database."""

    name: SurfaceName = "web"

    async def open_thread(self, agent: Agent) -> ThreadRef:
        """Name a thread for the agent's records."""
        return ThreadRef(agent.channel, agent.id)

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        """Show nothing; the address is the turn's id."""
        return turn.id

    async def notice(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        """Show nothing: `core.views.thread` has the notices."""

    async def status(self, agent: Agent) -> None:
        """Show nothing: `core.views.agent` has the status."""

    async def announce_lost_thread(self, agent: Agent, reason: str) -> None:
        """Do nothing: such a thread cannot be lost."""

    async def upload(self, agent: Agent, filename: str, data: bytes) -> None:
        """Do nothing: the file is in the agent's workspace."""

    async def actor(self, channel: ChannelScope, person: Actor) -> Actor:
        """The person, as the host names them."""
        return person


async def run_agent(
    core: Core, draft: AgentDraft, decide: Decide, *, person: Actor = PERSON, channel: ChannelScope = CHANNEL
) -> Agent:
    """Create an agent and run it until it finishes, pauses or is stopped; return it as it is then.

    `decide` is asked for each proposal of the agent and of its helpers, and the decision is recorded as `person`'s. An
    approval counts for exactly the turn that `decide` was given. Raise InvalidInput for a draft with faults.
    """
    origin, advanced = Origin(by=person, channel=channel), asyncio.Event()

    async def advance(agent_id: AgentId) -> None:
        await core.loop.advance(agent_id)
        advanced.set()

    agent = await core.service.create(draft, origin)
    engine = asyncio.create_task(core.engine.run(advance))
    try:
        while not agent.is_at_rest:
            await _wait(advanced, engine)
            await _decide_all(core, agent, decide, origin)
            agent = await core.views.agent(channel, agent.id)
    finally:
        engine.cancel()
        await asyncio.gather(engine, return_exceptions=True)
    return agent


async def _wait(advanced: asyncio.Event, engine: asyncio.Task[None]) -> None:
    """Wait until an agent has been advanced; raise what ended the engine, if something did."""
    waiting = asyncio.create_task(advanced.wait())
    await asyncio.wait((waiting, engine), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    advanced.clear()
    if engine.done():
        await engine


async def _decide_all(core: Core, agent: Agent, decide: Decide, origin: Origin) -> None:
    helpers = await core.views.family(origin.channel, agent.id)
    for each in (await core.views.agent(origin.channel, agent.id), *helpers):
        turn = await core.views.newest_turn(origin.channel, each.id)
        if isinstance(each.status, Awaiting) and turn and turn.state == "proposed":
            decision = await decide(each, turn)
            await core.service.decide(turn.id, decision, origin, shown=turn.control_hash)
