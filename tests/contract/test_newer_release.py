"""An older release beside a newer one on the same database: it keeps what it does not know."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from operator import methodcaller
from typing import Any

import pytest
from sqlalchemy import Connection, text

from agent_core.errors import UnreadableRecord
from agent_core.model.agent import Acting, Agent, Paused
from agent_core.model.command import CommandCall, Preview, Proposal, Succeeded, Thoughts
from agent_core.model.decision import Approve, ApproveEdited
from agent_core.model.draft import FORM_LIFETIME, AgentDraft, FormDraft
from agent_core.model.model_calls import Usage
from agent_core.model.permissions import Lease
from agent_core.model.question import AskedQuestion, ServerQuestion
from agent_core.ports.database import Database, queue_in_one_unit
from agent_core.testing.examples import ANA, BEN, CHANNEL, NOON, a_turn, an_agent, keep
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from bot.worker import work
from tests.tables import on_database

LEASE = Lease(granted_by=ANA, granted_at=NOON, total=3, left=2, classes=("write",))
ADA = an_agent(lease=LEASE, calls={"chat": Usage(cost=Decimal(1))})
APPROVED = a_turn(ADA).decide(Approve(times=3), by=ANA, at=NOON)
WRITE = reply_text("write_to_file", {"filename": "poem.txt", "text": "Roses are red"})
READ = reply_text("read_file", {"filename": "poem.txt"})
Path = tuple[str | int, ...]


async def run(url: str, act: Callable[[Connection], Any]) -> Any:
    return await on_database(url, act)


async def stored(url: str, table: str) -> Any:
    """The JSON of the only row of a table."""
    return json.loads(await run(url, lambda c: c.execute(text(f"SELECT data FROM {table}")).scalar_one()))


async def add_fields(url: str, table: str, *paths: Path, key: str = "id") -> None:
    """Save a field `mood` in the objects at these paths, as a newer release would do."""

    def act(connection: Connection) -> None:
        for found, data in connection.execute(text(f"SELECT {key}, data FROM {table}")).all():
            whole = json.loads(data)
            for path in paths:
                at_path(whole, path)["mood"] = {"of": list(path)}
            values = {"key": found, "data": json.dumps(whole)}
            connection.execute(text(f"UPDATE {table} SET data = :data WHERE {key} = :key"), values)

    await run(url, act)


async def replace_text(url: str, table: str, before: str, after: str) -> None:
    def act(connection: Connection) -> None:
        statement = f"UPDATE {table} SET data = replace(data, :before, :after)"
        connection.execute(text(statement), {"before": before, "after": after})

    await run(url, act)


def at_path(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


async def change(database: Database, change: Callable[[Agent], Agent]) -> None:
    async with database.begin() as work:
        work.agents.save(change(await work.agents.get(CHANNEL, ADA.id)))
        await work.commit()


@pytest.mark.proves("upgrade:fields")
async def test_fields_of_a_newer_release_survive_each_save_of_an_agent(database: Database, url: str) -> None:
    paths: tuple[Path, ...] = ((), ("budget",), ("status",), ("lease",), ("lease", "granted_by"), ("calls", "chat"))
    await keep(database, ADA)
    await add_fields(url, "agents", *paths)
    for number in (1, 2):
        await change(database, lambda ada: replace(ada, fence=ada.fence + 1, lease=replace(LEASE, left=1)))
        found = await stored(url, "agents")
        assert found["fence"] == number
        assert [path for path in paths if at_path(found, path).get("mood") == {"of": list(path)}] == list(paths)


@pytest.mark.proves("upgrade:fields")
async def test_fields_of_a_newer_release_survive_each_save_of_a_turn(database: Database, url: str) -> None:
    paths: tuple[Path, ...] = (
        (),
        ("usage",),
        ("proposal",),
        ("proposal", "thoughts"),
        ("approvals", 0),
        ("approvals", 0, "by"),
        ("approvals", 0, "decision"),
    )
    await keep(database, ADA, APPROVED)
    await add_fields(url, "turns", *paths)
    for step in (methodcaller("start", NOON), methodcaller("finish", Succeeded("done"), NOON)):
        async with database.begin() as unit:
            unit.turns.save(step(await unit.turns.get(CHANNEL, APPROVED.id)))
            await unit.commit()
    found = await stored(url, "turns")
    assert found["result"]["output"] == "done"
    assert [path for path in paths if at_path(found, path).get("mood") == {"of": list(path)}] == list(paths)


@pytest.mark.proves("upgrade:fields")
async def test_a_form_with_fields_of_a_newer_release_is_found_and_left_as_it_is(database: Database, url: str) -> None:
    form = FormDraft(
        channel=CHANNEL, person=ANA.id, key="k", expires_at=NOON + FORM_LIFETIME, agent_draft=AgentDraft(name="Ada")
    )
    await queue_in_one_unit(database, lambda work: work.form_drafts.put(form))
    await add_fields(url, "form_drafts", (), ("agent_draft",), key="key")
    async with database.begin() as unit:
        assert await unit.form_drafts.get(CHANNEL, ANA.id, "k", NOON) == form
    assert at_path(await stored(url, "form_drafts"), ("agent_draft", "mood")) == {"of": ["agent_draft"]}


async def test_what_takes_the_place_of_another_value_gets_none_of_its_fields(database: Database, url: str) -> None:
    preview = Preview(title="Write", body="", target="poem.txt", basis="1")
    call = CommandCall("write_file", {"path": "poem.txt", "text": "a", "more": "b"})
    turn = a_turn(ADA, proposal=Proposal(thoughts=Thoughts(), call=call, preview=preview))
    edited = turn.decide(ApproveEdited({"path": "poem.txt", "text": "c"}), by=ANA, at=NOON)
    await keep(database, ADA, edited)
    await add_fields(url, "agents", ("status",), ("lease",))
    await add_fields(url, "turns", ("proposal", "preview"), ("approvals", 0))
    other = replace(LEASE, granted_by=BEN, granted_at=NOON.replace(hour=13))
    await change(database, lambda ada: replace(ada, status=Paused("why"), lease=other))
    async with database.begin() as work:
        shown = (await work.turns.get(CHANNEL, turn.id)).show_again(replace(preview, basis="2"), "changed", NOON)
        work.turns.save(shown.decide(Approve(), by=BEN, at=NOON.replace(hour=14)))
        await work.commit()
    agent, found = await stored(url, "agents"), await stored(url, "turns")
    places = (agent["status"], agent["lease"], found["proposal"]["preview"], found["approvals"][0])
    assert not [each for each in places if "mood" in each]
    assert found["proposal"]["call"]["arguments"] == {"path": "poem.txt", "text": "c"}


@pytest.mark.slow
@pytest.mark.proves("upgrade:fields")
async def test_an_agent_with_unknown_fields_works_as_any_other(database: Database, url: str) -> None:
    stage = Stage(database=database, model=ScriptedModel(WRITE, READ))
    agent = await stage.create()
    await add_fields(url, "agents", (), ("budget",))
    await add_fields(url, "turns", (), ("proposal", "call"))
    await stage.decide(agent, Approve())
    agent = await stage.wait_until_settled(agent)
    assert (agent.turns, agent.status.kind) == (2, "awaiting")
    first = await run(url, lambda c: c.execute(text("SELECT data FROM turns WHERE number = 1")).scalar_one())
    turn, saved = json.loads(first), await stored(url, "agents")
    assert (turn["state"], turn["mood"], turn["proposal"]["call"]["mood"]) == (
        "done",
        {"of": []},
        {"of": ["proposal", "call"]},
    )
    assert (saved["mood"], saved["budget"]["mood"]) == ({"of": []}, {"of": ["budget"]})


@pytest.mark.proves("upgrade:unknown")
@pytest.mark.parametrize("table", ["agents", "turns"])
async def test_a_record_in_an_unknown_state_is_left_as_it_is_and_others_work(
    database: Database, url: str, table: str
) -> None:
    stage = Stage(database=database, model=ScriptedModel(*[WRITE] * 4))
    agent = await stage.create()
    await stage.decide(agent, Approve())
    other = await stage.service.lifecycle.create(AgentDraft(name="Other", goals=("Write",)), stage.origin())
    before, after = {"agents": ('"acting"', '"dozing"'), "turns": ('"approve"', '"delegate"')}[table]
    await replace_text(url, table, before, after)
    known = await stored_of(url, table, agent)
    with pytest.raises(UnreadableRecord, match="saved by a newer release of Signoff"):
        await stage.loop.advance(agent.id)
    engine = asyncio.create_task(work(stage.engine, stage.loop))
    await stage.shown.until(lambda shown: any(turn.agent_id == other.id for turn in shown.cards.values()))
    engine.cancel()
    await asyncio.gather(engine, return_exceptions=True)
    async with database.begin() as unit:
        asking = [each.name for each in await unit.agents.list_awaiting_people([agent.channel], 9)]
    assert "Other" in asking
    assert await stored_of(url, table, agent) == known


async def stored_of(url: str, table: str, agent: Agent) -> str:
    """The JSON of the agent, or of its only turn."""
    column = "id" if table == "agents" else "agent_id"
    statement = text(f"SELECT data FROM {table} WHERE {column} = :agent")
    return str(await run(url, lambda c: c.execute(statement, {"agent": agent.id}).scalar_one()))


@pytest.mark.proves("upgrade:fields")
async def test_a_question_that_an_older_release_kept_is_not_asked_again(database: Database, url: str) -> None:
    """The older release ran the turn again and finished it, and knew neither `asked` nor `asks`."""
    asked = AskedQuestion(id="0" * 32, server="tea", place="tea", question=ServerQuestion(message="?"), at=NOON)
    running = APPROVED.start(NOON).ask(asked)
    await keep(database, replace(ADA, status=Acting(asks=True)), running)
    await replace_text(url, "turns", f'"started_at":"{NOON:%Y-%m-%dT%H:%M:%SZ}"', '"started_at":"2027-01-01T00:00:00Z"')
    async with database.begin() as unit:
        again = await unit.turns.get(CHANNEL, running.id)
    assert again.asked == asked
    assert again.started_at != running.started_at
    assert again.open_question is None
