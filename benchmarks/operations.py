"""Operations with 10,000 agents in 200 channels and 30 days of spending: how long the page takes, on both databases."""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from statistics import median
from time import perf_counter

from aiohttp import ClientSession

from agent_core.model.agent import Acting, Agent, AgentStatus, Awaiting, Finished, Paused, Thinking
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import Usage
from agent_core.model.origin import ChannelScope
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade
from agent_core.ports.database import Database
from agent_core.providers.clock import SystemClock
from agent_core.service.reading.operations import Operations
from agent_core.testing.examples import an_agent
from agent_core.testing.language_model import ScriptedModel
from tests.scenario.served import served
from tests.standins.postgres import serving_postgres

RESULTS = Path(__file__).parent / "results"
AGENTS, CHANNELS, DAYS, MODELS, VISITS, BATCH = 10_000, 200, 30, 3, 20, 500
MOST_MS = 300.0
# Agents at work are on Slack, whose surface is not served here, so that nothing advances them.
AT_WORK: tuple[AgentStatus, ...] = (Thinking(), Acting(), Thinking(waits_for=("Bob",)))
AT_REST: tuple[AgentStatus, ...] = (Awaiting(), Paused("The budget is reached."), Finished("Done."))


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RESULTS, prefix="operations-") as folder:
        asyncio.run(measure(Path(folder)))


async def measure(folder: Path) -> None:
    """Print a row for each database."""
    sys.stdout.write(f"{'ms, medians':<12}{'read':>8}{'page':>8}{'another page':>14}\n")
    await measure_on(folder, "SQLite", f"sqlite:///{folder / 'filled.db'}")
    with serving_postgres() as server:
        await measure_on(folder, "PostgreSQL", server.url)


async def measure_on(folder: Path, name: str, url: str) -> None:
    await upgrade(url)
    database = SqlDatabase(url)
    await fill(database, SystemClock().now())
    operations = Operations(database=database, clock=SystemClock(), in_progress=lambda: 0)
    read = [await time_of(operations.report()) for _ in range(VISITS)]
    (home := folder / name).mkdir()
    async with (
        served(ScriptedModel(waits=True), home, open_database=lambda _url: database) as base,
        ClientSession() as session,
    ):
        pages = [median([await time_of(visit(session, f"{base}{path}")) for _ in range(VISITS)]) for path in PATHS]
    found = "met" if pages[0] <= MOST_MS else "NOT MET"
    sys.stdout.write(f"{name:<12}{median(read):>8.0f}{pages[0]:>8.0f}{pages[1]:>14.0f}   of {MOST_MS:.0f} · {found}\n")


PATHS = ("/operations", "/c/web/local/c0")


async def visit(session: ClientSession, address: str) -> None:
    async with session.get(address) as answer:
        assert answer.status == 200, await answer.text()
        await answer.read()


async def time_of(act: Awaitable[object]) -> float:
    """Milliseconds until this is done."""
    begun = perf_counter()
    await act
    return (perf_counter() - begun) * 1_000


async def fill(database: Database, now: datetime) -> None:
    agents = list(make_agents(now))
    for at in range(0, AGENTS, BATCH):
        async with database.begin() as work:
            for agent in agents[at : at + BATCH]:
                work.agents.add(agent)
            await work.commit()
    usage = Usage(prompt=4_000, completion=300, cost=Decimal("0.0123"))
    for day in range(DAYS):
        async with database.begin() as work:
            for channel in range(CHANNELS):
                for model in range(MODELS):
                    work.budgets.add_to_day(channel_of(channel), now - timedelta(days=day), f"model-{model}", usage)
            await work.commit()


def make_agents(now: datetime) -> Iterator[Agent]:
    for number in range(AGENTS):
        channel = channel_of(number % CHANNELS)
        statuses = AT_REST if channel.surface == "web" else (*AT_WORK, *AT_REST)
        yield an_agent(
            id=AgentId(f"agent-{number:05}"),
            name=f"Agent {number}",
            channel=channel,
            status=statuses[number // CHANNELS % len(statuses)],
            goals=("Write a report of what the team did in the week, from its notes. " * 5,),
            since=now - timedelta(minutes=number),
        )


def channel_of(number: int) -> ChannelScope:
    """Every second channel is one of the local workspace."""
    if number % 2:
        return ChannelScope("slack", "T1", f"C{number}")
    return ChannelScope("web", "local", f"c{number}")


if __name__ == "__main__":
    main()
