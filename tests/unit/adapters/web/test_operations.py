"""Operations over HTTP: what an operator reads of all channels, and that a stranger reads nothing."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from aiohttp import ClientSession

from adapters.web.pages.operations import BAR_MOST, LEAST, bars_of
from agent_core.model.agent import Acting, Awaiting, Paused, Thinking
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import Usage
from agent_core.model.origin import ChannelScope
from agent_core.model.records.operations import Spent
from agent_core.persistence.database import SqlDatabase
from agent_core.providers.clock import SystemClock
from agent_core.testing.examples import an_agent, keep
from agent_core.testing.language_model import ScriptedModel
from agent_core.text.own_commands import process_text
from tests.scenario.page import text_of
from tests.scenario.served import served
from tests.tables import make_tables

SLACK = ChannelScope("slack", "T1", "finance")
TODAY = date(2026, 3, 14)


@pytest.fixture
async def base(tmp_path: Path) -> AsyncIterator[str]:
    """A page with agents that are stuck, wait and rest, on two surfaces, and with what they spent."""
    url, now = f"sqlite:///{tmp_path / 'signoff.db'}", SystemClock().now()
    await make_tables(url)
    database = SqlDatabase(url)
    old = now - timedelta(hours=5)
    ada = an_agent(name="Ada", status=Awaiting(), since=old)
    others = (
        replace(ada, id=AgentId("bob"), name="Bob <b>", channel=SLACK, status=Acting(), since=now - timedelta(hours=2)),
        replace(ada, id=AgentId("cyd"), name="Cyd", channel=SLACK, status=Thinking(held_up="The endpoint is away.")),
        replace(ada, id=AgentId("dan"), name="Dan", status=Paused("The budget is reached.")),
    )
    await keep(database, ada, *others)
    async with database.begin() as work:
        work.budgets.add_to_day(SLACK, now, "big-model", Usage(prompt=900, completion=100, cost=Decimal("1.5")))
        work.budgets.add_to_day(ada.channel, now - timedelta(days=3), "small", Usage(cost=Decimal("0.5")))
        await work.commit()
    await database.close()
    async with served(ScriptedModel(waits=True), tmp_path) as address:
        yield address


async def read(base: str) -> str:
    async with ClientSession() as session, session.get(f"{base}/operations") as answer:
        assert answer.status == 200
        return await answer.text()


@pytest.mark.proves("watch:operations")
async def test_it_shows_what_is_stuck_what_waits_what_is_paused_and_what_was_spent(base: str) -> None:
    page = await read(base)
    text = " ".join(text_of(page[page.index("<main") :].replace("<", " <")).split())
    for said in (
        "Workers 1",
        process_text(),
        "Oldest proposal 5 h 1 agent waiting",
        "Spend today, in UTC $1.50",
        "Agents: 1 thinking, 1 running a command, 1 in need of approval, 1 paused.",
        "Bob <b> # finance · slack 2 h ago Its command runs.",
        "The endpoint is away.",
        "The budget is reached.",
        "$2.00 in all channels",
        "finance (slack) $1.50",
        "general $0.50",
        "big-model $1.50",
    ):
        assert said in text, (said, text)
    assert page.count("</title></rect>") == 30


@pytest.mark.slow
@pytest.mark.proves("watch:operations")
async def test_what_is_not_listed_of_channels_and_models_is_in_a_row_of_its_own(base: str, tmp_path: Path) -> None:
    database, now = SqlDatabase(f"sqlite:///{tmp_path / 'signoff.db'}"), SystemClock().now()
    async with database.begin() as work:
        for number in range(25):
            channel = ChannelScope("slack", "T1", f"C{number}")
            work.budgets.add_to_day(channel, now, f"model-{number}", Usage(cost=Decimal(number)))
        await work.commit()
    await database.close()
    page = await read(base)
    tables = [
        " ".join(text_of(part.replace("<", " <")).split()) for part in page.partition("</main>")[0].split("<h3>")[1:]
    ]
    for table in tables:  # 24 down to 5 dollars are listed, and 4 + 3 + 2 + 1 + 0 and the 2 from before are not
        assert ("others $12.00" in table, table.count("$")) == (True, 21)


async def test_a_stranger_reads_nothing(tmp_path: Path) -> None:
    async with served(ScriptedModel(), tmp_path, token="a-token-of-the-team") as base, ClientSession() as session:
        answer = await session.get(f"{base}/operations", allow_redirects=False)
        assert (answer.status, answer.headers["Location"]) == (303, "/enter?to=/operations")


def test_the_highest_day_fills_the_drawing_and_the_smallest_is_seen() -> None:
    spent = [Spent("2026-03-14", Decimal(100), 0), Spent("2026-03-01", Decimal("0.01"), 0)]
    bars = bars_of(spent, TODAY, "cost")
    assert len(bars) == 30
    assert (bars[-1].day, bars[-1].height, bars[-1].text) == (TODAY, BAR_MOST, "$100.00")
    assert (bars[-14].day, bars[-14].height) == (date(2026, 3, 1), LEAST)
    assert bars[0].height == 0


def test_where_nothing_was_spent_nothing_is_drawn() -> None:
    assert bars_of([], TODAY, "tokens") == ()
    assert bars_of([Spent("2026-03-14", Decimal(0), 0)], TODAY, "tokens") == ()
