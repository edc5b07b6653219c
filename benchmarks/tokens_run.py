"""A whole Signoff, wired as it ships, carrying one agent through a script."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from adapters.web.surface import WebSurface
from agent_core.model.agent import Agent, Awaiting
from agent_core.model.command import RISK_CLASSES
from agent_core.model.decision import Approve, Policy
from agent_core.model.draft import AgentDraft
from agent_core.model.origin import Actor, ChannelScope, Origin
from benchmarks.tokens_figures import Call
from benchmarks.tokens_script import ReplayScript
from benchmarks.tokens_stub import Stub, stub
from bot.bootstrap import Signoff, assemble
from bot.settings import load
from bot.worker import work

ADA = Actor(id="ada", display="ada", workspace="local")
CHANNEL = ChannelScope("web", "local", "general")
DRAFT = AgentDraft(
    name="Market-GPT",
    role="an assistant that studies markets and writes down what it finds",
    goals=("Study the market for the product", "Keep notes in files", "Finish with a report"),
    policy=Policy(free=RISK_CLASSES),
)
LONGEST = 600.0


async def record_calls(script: ReplayScript, turns: int) -> Sequence[Call]:
    """Every request of the run."""
    async with start_signoff(script, turns) as (signoff, endpoint):
        agent = await run_agent(signoff, DRAFT)
        if agent.status.kind != "finished" or agent.turns != turns:
            raise SystemExit(f"The run ended at turn {agent.turns}, {agent.status}.")
        return endpoint.calls


@asynccontextmanager
async def start_signoff(script: ReplayScript, turns: int, **settings: str) -> AsyncIterator[tuple[Signoff, Stub]]:
    """Signoff as it ships, on a data folder of its own, with the stub for its endpoint."""
    with tempfile.TemporaryDirectory() as folder:
        async with stub(script, turns) as endpoint:
            given = {
                "SIGNOFF_HOME": folder,
                "OPENAI_BASE_URL": f"{endpoint.url}/v1",
                "SMART_MODEL": "gpt-4",
                "EMBEDDING_MODEL": "text-embedding-3-small",
                "GOOGLE_SEARCH_URL": f"{endpoint.url}/customsearch/v1",
                **settings,
            }
            async with assemble(load(given, None), WebSurface()) as signoff:
                await signoff.models.prepare()
                yield signoff, endpoint


async def run_agent(
    signoff: Signoff,
    draft: AgentDraft,
    *,
    lease: int = 0,
    prepare: Callable[[Agent], Awaitable[None]] | None = None,
) -> Agent:
    """An agent from its making until it rests or asks; with a lease, its first proposal is approved so many times.

    `prepare` is done before it begins to think.
    """
    origin = Origin(by=ADA, channel=CHANNEL)
    agent = await signoff.core.service.lifecycle.create(draft, origin)
    if prepare:
        await prepare(agent)
    engine = asyncio.create_task(work(signoff.core.engine, signoff.core.loop))
    try:
        async with asyncio.timeout(LONGEST):
            agent = await _wait_until_rested(signoff, agent)
            if lease and (turn := await signoff.core.views.newest_turn(CHANNEL, agent.id)):
                await signoff.core.service.decisions.decide(turn.id, Approve(lease), origin, shown=turn.control_hash)
                agent = await _wait_until_rested(signoff, agent)
    finally:
        engine.cancel()
        await asyncio.gather(engine, return_exceptions=True)
    return agent


async def _wait_until_rested(signoff: Signoff, agent: Agent) -> Agent:
    while True:
        agent = await signoff.core.views.agent(CHANNEL, agent.id)
        if agent.is_at_rest or isinstance(agent.status, Awaiting):
            return agent
        await signoff.core.clock.sleep(0.1)
