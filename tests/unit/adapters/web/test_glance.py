"""The page Activity over HTTP: what it shows, of which channel, and where it is linked."""

import re
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from agent_core.capabilities.demo.rehearsal import RehearsalModel
from agent_core.model.agent import Agent, Awaiting, Finished
from agent_core.model.command import Succeeded
from agent_core.model.decision import Approve
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.model_calls import Usage
from agent_core.model.origin import ChannelScope
from agent_core.model.turn import Turn
from agent_core.persistence.database import SqlDatabase
from agent_core.testing.examples import ANA, NOON, a_turn, an_agent, keep
from agent_core.testing.language_model import ScriptedModel
from tests.scenario.page import PageChat, text_of
from tests.scenario.served import served
from tests.tables import make_tables

COST = Usage(prompt=900, completion=100, cost=Decimal("0.25"))
ADA = an_agent(name="<b>عادة</b>", status=Awaiting(), turns=2, usage=COST, calls={"chat": COST})
EVA = an_agent(id=AgentId("agent-eva"), channel=ChannelScope("web", "local", "private"), name="Eva")
MINUTE = timedelta(minutes=1)


def done(agent: Agent, number: int) -> Turn:
    """A turn that was proposed at ten past the hour `number` after noon, decided after 7 minutes, and ran for 3."""
    at = NOON + number * timedelta(hours=1) + 10 * MINUTE
    turn = a_turn(agent, id=TurnId(f"t-{agent.id}-{number:04}"), number=number, proposed_at=at, usage=COST)
    approved = turn.decide(Approve(), by=ANA, at=at + 7 * MINUTE)
    return approved.start(at + 8 * MINUTE).finish(Succeeded("done"), at + 11 * MINUTE)


async def kept(folder: Path, *values: Agent | Turn) -> None:
    url = f"sqlite:///{folder / 'signoff.db'}"
    await make_tables(url)
    database = SqlDatabase(url)
    await keep(database, *values)
    await database.close()


def path_of(agent: Agent) -> str:
    return f"/c/{agent.channel.key}/a/{agent.id}"


def rows_of(page: str, table: str) -> list[str]:
    body = page.partition(f'id="{table}"')[2].partition("<tbody>")[2].partition("</tbody>")[0]
    return [" ".join(text_of(row.replace("</t", " </t")).split()) for row in body.split("<tr>")[1:]]


@pytest.mark.slow
@pytest.mark.proves("page:glance")
async def test_an_agents_turns_are_listed_with_their_times(tmp_path: Path) -> None:
    await kept(tmp_path, ADA, done(ADA, 1), a_turn(ADA, id=TurnId("t-9"), number=2, proposed_at=NOON + 90 * MINUTE))
    async with served(ScriptedModel(waits=True), tmp_path) as base, PageChat.opened(base, "ana", path_of(ADA)) as ana:
        page = await ana.page("/glance")
    rows = rows_of(page, "turns-table")
    assert rows[0].startswith("1 ✓ Run write_file poem.txt 14 Mar 2026, 13:10 UTC 1 h 10 min 7 min 3 min")
    assert re.search(r"2 ○ Run write_file poem.txt 14 Mar 2026, 13:30 UTC 9 min .* so far$", rows[1])
    assert 'class="strip"' not in page  # the table shows so few at a glance
    assert "<b>عادة</b>" not in page
    assert "style=" not in page.partition('id="glance"')[2]


@pytest.mark.proves("page:glance")
async def test_medians_and_spending_are_told_for_an_agent_and_its_channel(tmp_path: Path) -> None:
    await kept(tmp_path, ADA, *(done(ADA, number) for number in (1, 2, 3)))
    async with served(ScriptedModel(waits=True), tmp_path) as base, PageChat.opened(base, "ana") as ana:
        for place in (path_of(ADA), f"/c/{ADA.channel.key}"):
            ana.path = place
            page = await ana.page("/glance")
            said = text_of(page)
            assert "7 min median of 3 decisions" in said
            assert "53 min median of 2 decisions" in said
            assert "$0.25 1,000 tokens" in said


@pytest.mark.proves("page:glance-sealed")
async def test_a_glance_shows_nothing_of_another_channel(tmp_path: Path) -> None:
    await kept(tmp_path, ADA, EVA, done(ADA, 1), done(EVA, 1), done(EVA, 2))
    async with served(ScriptedModel(waits=True), tmp_path) as base, PageChat.opened(base, "ana") as ana:
        ana.path = f"/c/{ADA.channel.key}"
        assert "From its only turn." in await ana.page("/glance")
        async with ana.session.get(f"{base}{ana.path}/a/{EVA.id}/glance") as answer:
            assert answer.status == 404


@pytest.mark.slow
async def test_a_long_run_is_told_page_by_page_and_a_strange_number_shows_the_newest(tmp_path: Path) -> None:
    await kept(tmp_path, ADA, *(done(ADA, number) for number in range(1, 61)))
    async with served(ScriptedModel(waits=True), tmp_path) as base, PageChat.opened(base, "ana", path_of(ADA)) as ana:
        newest = await ana.page("/glance")
        earlier = await ana.page("/glance?before=11")
        strange = [await ana.page(f"/glance?before={text}") for text in ("x", "9" * 5000, "²")]
        threads = [await ana.page(f"?before={text}") for text in ("x", "9" * 5000, "²")]
    assert 'href="?before=11"' in newest
    in_strip = re.findall(r'<li><a class="(\w+)" href="[^"]+/t/(t-[^"]+)"', newest)
    assert in_strip == [("good", done(ADA, number).id) for number in range(11, 61)]
    assert (len(rows_of(newest, "turns-table")), len(rows_of(earlier, "turns-table"))) == (50, 10)
    assert [len(rows_of(page, "turns-table")) for page in strange] == [50, 50, 50]
    assert all("turn 60" in page for page in threads)


async def test_there_is_a_glance_before_the_first_turn(tmp_path: Path) -> None:
    await kept(tmp_path, EVA)
    async with served(ScriptedModel(waits=True), tmp_path) as base, PageChat.opened(base, "ana", path_of(EVA)) as ana:
        assert "No turns yet." in await ana.page("/glance")
        ana.path = f"/c/{EVA.channel.key}"
        assert "No turns yet." in await ana.page("/glance")


async def test_the_glance_is_offered_beside_the_thread_on_the_channels_page(tmp_path: Path) -> None:
    await kept(tmp_path, replace(ADA, status=Finished("done")), done(ADA, 1))
    async with served(ScriptedModel(waits=True), tmp_path) as base, PageChat.opened(base, "ana", path_of(ADA)) as ana:
        thread = await ana.page()
        assert f'href="{path_of(ADA)}/glance"' in thread
        ana.path = f"/c/{ADA.channel.key}"
        assert f'href="{ana.path}/glance"' in await ana.page()


async def test_demo_mode_shows_no_tokens(tmp_path: Path) -> None:
    free = replace(COST, cost=Decimal(0))
    await kept(tmp_path, replace(ADA, usage=free, calls={"chat": free}), done(ADA, 1))
    async with served(RehearsalModel(), tmp_path) as base, PageChat.opened(base, "ana", path_of(ADA)) as ana:
        thread, glance = text_of(await ana.page()), text_of(await ana.page("/glance"))
    assert "tokens" not in thread
    assert "By kind of call" not in thread
    assert "In demo mode a script leads the agents: nothing is spent." in glance
    assert "Spend" not in glance
