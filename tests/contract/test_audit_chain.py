"""The decision log is a hash chain: every change in it is found, however many write, and what is deleted is told."""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import rfc8785
import sqlalchemy as sa
from sqlalchemy import Connection, text

from agent_core.errors import AlreadyDecided, ChangedSinceShown, NotAllowed, UnreadableRecord
from agent_core.model.agent import Agent
from agent_core.model.decision import Approve
from agent_core.model.ids import new_id
from agent_core.model.origin import ChannelScope
from agent_core.model.records.audit import NO_AGENT, AuditEntry
from agent_core.persistence import schema
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.decision_log.chain import NO_HASH, digest, seal
from agent_core.persistence.decision_log.checking import ChannelReport, Head, check_log, export_log, read_heads
from agent_core.persistence.json_codec import encode
from agent_core.persistence.tables import UtcDateTime
from agent_core.ports.database import UnitOfWork, queue_in_one_unit
from agent_core.testing.examples import ANA, BEN, CHANNEL, NOON, an_agent
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from tests.tables import make_tables, on_database

HERE, THERE = CHANNEL.key, "web/local/other"
ADA = an_agent(name="Adé")
OTHER = replace(ADA, channel=ChannelScope("web", "local", "other"))
TEXT, STRANGE = "xyzzy-marker", 'é 語 🦆 \\ " \x00 \ud83d'
Tamper = Callable[[Connection], object]


def entry(number: int, agent: Agent = ADA, **changes: Any) -> AuditEntry:
    at = NOON + timedelta(minutes=number)
    return replace(AuditEntry.on(agent, "approve", by=ANA, at=at, detail=f"{TEXT} {number}"), **changes)


async def filled(url: str, number: int = 5) -> str:
    """A database with a chain of so many records, and another channel's of as many."""
    await make_tables(url)
    await on_database(url, lambda connection: [connection.exec_driver_sql(f"DELETE FROM {t}") for t in TABLES])
    database = SqlDatabase(url)
    async with database.begin() as work:
        for each in range(1, number + 1):
            work.audit.append(entry(each))
            work.audit.append(entry(each, OTHER))
        await work.commit()
    await database.close()
    return url


TABLES = ("agents", "audit", "audit_heads")


async def found(url: str, *kept: Head) -> ChannelReport:
    """What a check says of the first channel."""
    return next(each for each in await check_log(url, {HERE: kept} if kept else {}) if each.channel == HERE)


def run(statement: str, **values: object) -> Tamper:
    return lambda connection: connection.execute(text(statement), values)


def column(name: str, value: object) -> Tamper:
    return run(f"UPDATE audit SET {name} = :value WHERE channel = '{HERE}' AND seq = 3", value=value)


def content(old: str, new: str) -> Tamper:
    """Another content of the third record."""
    return run(
        f"UPDATE audit SET data = replace(data, :old, :new) WHERE channel = '{HERE}' AND seq = 3", old=old, new=new
    )


def with_hash(old: str, new: str) -> Tamper:
    """Another content of the third record, with the hash that fits."""

    def act(connection: Connection) -> None:
        at = f"WHERE channel = '{HERE}' AND seq = 3"
        data = connection.execute(text(f"SELECT data FROM audit {at}")).scalar_one().replace(old, new)
        statement = text(f"UPDATE audit SET data = :data, hash = :hash {at}")
        connection.execute(statement, {"data": data, "hash": digest(data)})

    return act


def garble(name: str) -> Tamper:
    """No UTF-8 in a column of the third record."""
    return run(f"UPDATE audit SET {name} = CAST(X'FF' AS TEXT) WHERE channel = '{HERE}' AND seq = 3")


def remove(*numbers: int) -> Tamper:
    return run(f"DELETE FROM audit WHERE channel = '{HERE}' AND seq IN ({', '.join(map(str, numbers))})")


def swap(connection: Connection) -> None:
    """Two records change places."""
    for old, new in ((2, 0), (3, 2), (0, 3)):
        run(f"UPDATE audit SET seq = {new} WHERE channel = '{HERE}' AND seq = {old}")(connection)


def swap_texts(connection: Connection) -> None:
    rows = connection.execute(text(f"SELECT id, texts FROM audit WHERE channel = '{HERE}' AND seq IN (2, 3)")).all()
    for (one, _), (_, texts) in zip(rows, reversed(rows), strict=True):
        run("UPDATE audit SET texts = :texts WHERE id = :one", texts=texts, one=one)(connection)


def insert_row(connection: Connection, record: Mapping[str, Any]) -> None:
    names = ", ".join(record)
    values = ", ".join(f":{name}" for name in record)
    stored = record["at"].replace(tzinfo=None).isoformat(" ", "microseconds")
    at = {"at": stored if connection.dialect.name == "sqlite" else record["at"]}
    connection.execute(text(f"INSERT INTO audit ({names}) VALUES ({values})"), {**record, **at})


def insert(connection: Connection) -> None:
    """A record between two others, whose numbers move up."""
    for number in (5, 4, 3):
        run(f"UPDATE audit SET seq = {number + 1} WHERE channel = '{HERE}' AND seq = {number}")(connection)
    insert_row(connection, seal(entry(9), 3, "f" * 64))


def append(connection: Connection) -> None:
    """A record at the end, which follows the last one, but not in the head."""
    last = connection.execute(text(f"SELECT hash FROM audit_heads WHERE channel = '{HERE}'")).scalar_one()
    insert_row(connection, seal(entry(9), 6, last))


def insert_outside(connection: Connection, number: int = 9) -> None:
    """An entry as an older release wrote them, in the midst of the chain."""
    made = entry(number)
    insert_row(connection, {**seal(made, 1, NO_HASH), "seq": None, "hash": None, "texts": None, "data": encode(made)})


def put_back(connection: Connection) -> None:
    """The first two records become entries of an older release with other words, as if the retention had cut them."""
    first = f"first_seq = 3, first_previous = (SELECT hash FROM audit WHERE channel = '{HERE}' AND seq = 2)"
    run(f"UPDATE audit_heads SET {first} WHERE channel = '{HERE}'")(connection)
    words = "seq = NULL, hash = NULL, texts = NULL, data = replace(data, 'u-ana', 'u-ben')"
    run(f"UPDATE audit SET {words} WHERE channel = '{HERE}' AND seq < 3")(connection)


def graft(connection: Connection) -> None:
    """Another channel's chain in place of this one."""
    for table in TABLES:
        run(f"DELETE FROM {table} WHERE channel = '{HERE}'")(connection)
        run(f"UPDATE {table} SET channel = '{HERE}' WHERE channel = '{THERE}'")(connection)


def cut(*, with_head: bool) -> Tamper:
    """The last two records are gone; a thief who is careful writes the head too."""

    def act(connection: Connection) -> None:
        remove(4, 5)(connection)
        last = f"SELECT hash FROM audit WHERE channel = '{HERE}' AND seq = 3"
        if with_head:
            run(f"UPDATE audit_heads SET seq = 3, hash = ({last}) WHERE channel = '{HERE}'")(connection)

    return act


def anew(connection: Connection) -> None:
    """A whole chain with other texts."""
    remove(1, 2, 3, 4, 5)(connection)
    last = NO_HASH
    for number in range(1, 6):
        record = seal(entry(number, detail="forged"), number, last)
        insert_row(connection, record)
        last = record["hash"]
    run(f"UPDATE audit_heads SET hash = '{last}' WHERE channel = '{HERE}'")(connection)


NOT_FOLLOWING = "does not follow the record before"
TAMPERINGS: Mapping[str, tuple[Tamper, str]] = {
    "column id": (column("id", "other"), "Record 3 (other): a column differs"),
    "column channel": (column("channel", "web/local/none"), "Record 3 is missing."),
    "column agent": (column("agent_id", "other"), "a column differs"),
    "column at": (column("at", NOON.replace(tzinfo=None)), "a column differs"),
    "column seq": (column("seq", 9), "Record 3 is missing."),
    "column listed": (column("is_listed", False), "a column differs"),
    "column hash": (column("hash", "0" * 64), "its content or its hash was changed"),
    "column data": (column("data", "{}"), "its content or its hash was changed"),
    "column texts": (column("texts", "{}"), "its texts were changed"),
    "no hash": (column("hash", None), "its content or its hash was changed"),
    "content: a letter of a name": (content('"act"', '"acT"'), "its content or its hash was changed"),
    "content: a letter of a value": (content("approve", "approVe"), "its content or its hash was changed"),
    "content: a digit": (content('"turn_number":0', '"turn_number":1'), "its content or its hash was changed"),
    "content: the time": (content("12:03", "12:04"), "its content or its hash was changed"),
    "content: a mark": (content('"risks":[]', '"risks":{}'), "its content or its hash was changed"),
    "content: a blank": (content('","', '", "'), "its content or its hash was changed"),
    "content: a letter beyond ASCII": (content("é", "e"), "its content or its hash was changed"),
    "content: no JSON": (content("}", ""), "its content is not a record"),
    "content: who, with the hash": (with_hash("u-ana", "u-ben"), f"Record 4 (%s): it {NOT_FOLLOWING}"),
    "content: of another place, with the hash": (with_hash('"seq":3', '"seq":2'), "a column differs"),
    "texts: a letter": (
        run(f"UPDATE audit SET texts = replace(texts, 'marker', 'mArker') WHERE channel = '{HERE}' AND seq = 3"),
        "Record 3 (%s): its texts were changed",
    ),
    "texts: none": (column("texts", None), "Record 3 (%s): its texts are gone, and no later record"),
    "texts: of another": (swap_texts, "Record 3 (%s): its texts were changed"),
    "the first removed": (remove(1), "Record 1 is missing."),
    "one removed": (remove(3), "Record 3 is missing."),
    "two removed": (remove(2, 3), "Records 2 to 3 are missing."),
    "the last removed": (remove(5), "Record 5 is missing."),
    "all removed": (remove(1, 2, 3, 4, 5), "Records 1 to 5 are missing."),
    "two swapped": (swap, NOT_FOLLOWING),
    "one inserted": (insert, NOT_FOLLOWING),
    "one appended": (append, "The chain's head is 5:"),
    "one inserted outside": (insert_outside, "An entry outside the chain is newer than the chain"),
    "another channel's chain": (graft, "a column differs"),
    "the end cut": (cut(with_head=False), "Records 4 to 5 are missing."),
    "the head's hash": (run("UPDATE audit_heads SET hash = 'x'"), "The chain's head is 5:x"),
    "the head's number": (run("UPDATE audit_heads SET seq = 6"), "Record 6 is missing."),
    "the beginning": (run("UPDATE audit_heads SET first_seq = 2"), "Record 1 is before the beginning"),
    "the beginning put back outside": (put_back, "Entries outside the chain are older than a beginning that was cut"),
    "what is before the beginning": (
        run("UPDATE audit_heads SET first_previous = 'x'"),
        "The chain does not begin with its first record.",
    ),
    "no head": (run("DELETE FROM audit_heads"), "The chain's head is missing."),
}


@pytest.mark.proves("evidence:tampering")
@pytest.mark.parametrize("name", TAMPERINGS)
async def test_every_change_in_the_log_is_found(url: str, name: str) -> None:
    tamper, sentence = TAMPERINGS[name]
    await filled(url)
    assert (await found(url)).faults == []
    await on_database(url, tamper)
    faults = (await found(url)).faults
    wanted = sentence.partition("%s")
    assert [fault for fault in faults if wanted[0] in fault and wanted[2] in fault], faults


@pytest.mark.proves("evidence:tampering")
@pytest.mark.parametrize(
    ("name", "value"),
    [("is_listed", 2), ("at", "2026-03-14 01:03:00.000000-11:00"), ("agent_id", r"\0061gent-ada")],  # \0061 is "a"
)
async def test_a_row_that_queries_no_longer_find_is_a_fault(sqlite_url: str, name: str, value: object) -> None:
    await on_database(await filled(sqlite_url), column(name, value))
    (fault,) = (await found(sqlite_url)).faults
    assert "a column differs from its content" in fault


DEEP = "[" * 200_000


@pytest.mark.parametrize(
    ("tamper", "sentence", "is_exported"),
    [
        (column("at", "noon"), "a column differs from its content", True),
        (column("seq", "x"), "Record x (", True),
        (column("data", b"{}"), "Record 3 (%s): its content is not a record", False),
        (column("data", DEEP), "Record 3 (%s): its content is not a record", False),
        (column("texts", DEEP), "Record 3 (%s): its texts were changed", False),
        (garble("data"), "Record 3 (%s): its content is not a record", False),
        (garble("channel"), "Record 3 is missing", True),
        (run("UPDATE audit_heads SET seq = 'x' WHERE channel = :c", c=HERE), "The chain's head cannot be read", True),
    ],
)
async def test_garbage_is_a_fault_of_its_record_and_the_other_channels_are_checked(
    sqlite_url: str, tamper: Tamper, sentence: str, is_exported: bool
) -> None:
    await on_database(await filled(sqlite_url), tamper)
    faults = {each.channel: each.faults for each in await check_log(sqlite_url, {})}
    wanted = sentence.partition("%s")
    assert any(wanted[0] in fault and wanted[2] in fault for fault in faults[HERE])
    assert faults[THERE] == []
    with nullcontext() if is_exported else pytest.raises(UnreadableRecord, match=f"record 3 of {HERE}"):
        await export_log(sqlite_url, [], lambda records: deque(each.entry for each in records).clear())


@pytest.mark.proves("evidence:deleted")
async def test_texts_may_be_gone_only_if_a_later_record_says_that_their_agent_was_deleted(url: str) -> None:
    database = SqlDatabase(await filled(url, 0))
    of_channel = (entry(3, agent_id=NO_AGENT), entry(4, agent_id=NO_AGENT, act="deleted"))
    entries = (entry(1), entry(2, act="deleted"), *of_channel, entry(5))
    await queue_in_one_unit(database, partial(append_all, entries=entries))
    await on_database(url, run("UPDATE audit SET texts = NULL"))
    report = await found(url)
    assert report.blanked == 5
    assert sorted(fault[:8] for fault in report.faults) == ["Record 2", "Record 3", "Record 4", "Record 5"]
    await database.close()


@pytest.mark.proves("evidence:heads")
@pytest.mark.parametrize(("tamper", "sentence"), [(cut(with_head=True), "the end was cut off"), (anew, "written anew")])
async def test_a_head_that_was_kept_tells_of_a_cut_end_and_of_a_new_chain(
    url: str, tamper: Tamper, sentence: str
) -> None:
    (head,) = (await read_heads(await filled(url)))[HERE]
    assert (await found(url, head)).faults == []
    await on_database(url, tamper)
    assert (await found(url)).faults == []
    (fault,) = (await found(url, head)).faults
    assert sentence in fault
    (missing,) = [each.faults for each in await check_log(url, {"web/local/gone": [head]}) if "gone" in each.channel]
    assert "the end was cut off" in missing[0]


async def test_a_record_is_canonical_json_and_its_hash_can_be_worked_out_by_hand(sqlite_url: str) -> None:
    records: list[Any] = []
    await export_log(await filled(sqlite_url), [HERE], records.extend)
    previous = NO_HASH
    for number, record in enumerate(records, start=1):
        data = json.loads(record.data)
        assert rfc8785.dumps(data).decode() == record.data
        assert (data["seq"], data["previous"], digest(record.data)) == (number, previous, record.hash)
        assert data["texts_digest"] == digest(record.texts)
        assert TEXT not in record.data
        previous = record.hash
    assert [each.entry.detail for each in records] == [f"{TEXT} {number}" for number in range(1, 6)]
    assert len({json.loads(each.texts)["salt"] for each in records}) == 5


async def test_whatever_a_text_holds_is_read_again(url: str) -> None:
    database = SqlDatabase(await filled(url, 0))
    strange = entry(1, detail=STRANGE, target=STRANGE, agent_name=STRANGE)
    await queue_in_one_unit(database, lambda work: work.audit.append(strange))
    async with database.begin() as work:
        assert await work.audit.in_channel(CHANNEL) == (strange,)
    assert (await found(url)).faults == []
    await database.close()


def append_all(work: UnitOfWork, entries: Sequence[AuditEntry]) -> None:
    for each in entries:
        work.audit.append(each)


@pytest.mark.proves("evidence:order")
async def test_writers_at_once_leave_no_gap(url: str) -> None:
    await filled(url, 0)
    databases = [SqlDatabase(url) for _ in range(4 if url.startswith("postgres") else 2)]

    async def write(number: int) -> None:
        pair = [(entry(number), entry(number, OTHER)), (entry(number, OTHER), entry(number))][number % 2]
        await queue_in_one_unit(databases[number % len(databases)], partial(append_all, entries=pair))

    await asyncio.gather(*(write(number) for number in range(60)))
    reports = await check_log(url, {})
    assert [(each.channel, each.records, each.faults) for each in reports] == [(HERE, 60, []), (THERE, 60, [])]
    await asyncio.gather(*(database.close() for database in databases))


@pytest.mark.proves("evidence:retention")
async def test_the_retention_deletes_only_the_beginning_of_a_chain(url: str) -> None:
    database = SqlDatabase(await filled(url))
    heads = await read_heads(url)
    clock_went_back = entry(0, id=new_id(NOON + timedelta(minutes=9)))
    await queue_in_one_unit(database, lambda work: work.audit.append(clock_went_back))
    deleted = []
    for _ in range(3):
        async with database.begin() as work:
            deleted.append(await work.audit.expire(NOON + timedelta(minutes=3), most=9))
            await work.commit()
    assert deleted == [2, 2, 0]
    report = await found(url, *heads[HERE], (2, NO_HASH), (1, NO_HASH))
    assert (report.records, report.first, report.uncompared) == (4, 3, 1)
    assert report.faults == ["Record 2 is not the one of a head that was kept: the chain was written anew."]
    for _ in (HERE, THERE):
        async with database.begin() as work:
            deleted.append(await work.audit.expire(NOON + timedelta(days=1), most=9))
            await work.commit()
    assert sorted(deleted[3:]) == [3, 4]
    await queue_in_one_unit(database, lambda work: work.audit.append(entry(10)))
    report = await found(url)
    assert (report.records, report.first, report.head[0], report.faults) == (1, 7, 7, [])
    await database.close()


@pytest.mark.proves("evidence:retention")
async def test_the_retention_deletes_entries_outside_a_chain_before_it_cuts_the_chain(url: str) -> None:
    database = SqlDatabase(await filled(url))
    deleted: list[int] = []
    for number in (-3, -2):
        await on_database(url, partial(insert_outside, number=number))
    while not deleted or deleted[-1]:
        async with database.begin() as work:
            deleted.append(await work.audit.expire(NOON + timedelta(minutes=4), most=1))
            await work.commit()
        assert [each.faults for each in await check_log(url, {})] == [[], []]
    report = await found(url)
    assert (sum(deleted), report.first, report.outside) == (8, 4, 0)
    await database.close()


@pytest.mark.proves("evidence:deleted")
async def test_the_deletion_of_an_agent_leaves_hashes_and_no_text(url: str) -> None:
    write = reply_text("write_to_file", {"filename": f"{TEXT}.txt", "text": TEXT}, text=TEXT)
    await filled(url, 0)
    stage = Stage(database=SqlDatabase(url), model=ScriptedModel(write, write))
    agent = await stage.create(TEXT)
    old = AuditEntry.on(agent, "old", by=ANA, at=agent.created_at - timedelta(days=1), detail=TEXT)
    outside = {"seq": None, "hash": None, "texts": None, "data": encode(old)}
    await on_database(url, lambda connection: insert_row(connection, {**seal(old, 1, NO_HASH), **outside}))
    await stage.decide(agent, Approve())
    agent = await stage.wait_until_settled(agent)
    assert TEXT in await on_database(url, rows)
    await stage.service.lifecycle.delete(agent.id, stage.origin())
    assert TEXT not in await on_database(url, rows)
    report = await found(url)
    assert (report.faults, report.outside, report.blanked) == ([], 1, report.records - 1)
    async with stage.database.begin() as work:
        first, *_, last = await work.audit.in_channel(CHANNEL)
    assert (first.act, first.by, first.is_blanked, last.act, last.is_blanked) == ("old", ANA, True, "deleted", False)
    await stage.database.close()  # type: ignore[attr-defined]


def rows(connection: Connection) -> str:
    return str(connection.execute(text("SELECT * FROM audit")).all())


@pytest.mark.proves("evidence:kinds")
async def test_proposals_showings_decisions_refusals_and_runs_are_records(url: str) -> None:
    write = reply_text("write_to_file", {"filename": "a.txt", "text": "one"})
    await filled(url, 0)
    stage = Stage(database=SqlDatabase(url), model=ScriptedModel(write, reply_text("task_complete", {"reason": "x"})))
    agent = await stage.create()
    turn = await stage.turn(agent)
    guest = replace(BEN, kind="guest")
    decide = stage.service.decisions.decide
    for by, delivery, shown, refusal in (
        (guest, "one", turn.control_hash, NotAllowed),
        (guest, "one", turn.control_hash, NotAllowed),
        (ANA, "two", "of another card", ChangedSinceShown),
    ):
        with pytest.raises(refusal):
            await decide(turn.id, Approve(), replace(stage.origin(by), delivery=delivery), shown=shown)
    await stage.decide(agent, Approve())
    with pytest.raises(AlreadyDecided):
        await decide(turn.id, Approve(), stage.origin(), shown=turn.control_hash)
    await stage.wait_until_settled(agent)
    records: list[Any] = []
    await export_log(url, [], lambda exported: records.extend(each.entry for each in exported))
    of_turn = [each for each in records if each.turn_number == 1]
    acts = ["proposed", "shown", "refused", "refused", "approve", "ran", "ended"]
    assert [each.act for each in of_turn] == acts
    assert {each.shown_hash for each in of_turn} == {turn.shown_hash}
    assert of_turn[2].detail.startswith("approve: you may not approve here")
    async with stage.database.begin() as work:
        listed = [each.act for each in await work.audit.in_channel(CHANNEL) if each.turn_number == 1]
    assert listed == ["approve", "ran", "ended"]
    await stage.database.close()  # type: ignore[attr-defined]


AUDIT_OF_0016 = sa.table("audit", *map(sa.column, ("id", "channel", "agent_id", "data")), sa.column("at", UtcDateTime))


@pytest.mark.slow
async def test_entries_of_an_older_release_are_read_and_stay_outside_the_chain(url: str) -> None:
    if url.startswith("postgres"):
        await on_database(url, lambda connection: connection.exec_driver_sql("DROP SCHEMA public CASCADE"))
        await on_database(url, lambda connection: connection.exec_driver_sql("CREATE SCHEMA public"))
    await schema.migrate(url, "0016")
    newest = entry(2)
    row = {"id": newest.id, "channel": HERE, "agent_id": newest.agent_id, "at": newest.at, "data": encode(newest)}
    await on_database(url, lambda connection: connection.execute(sa.insert(AUDIT_OF_0016), row))
    await schema.upgrade(url)
    database = SqlDatabase(url)
    await queue_in_one_unit(database, lambda work: work.audit.append(entry(3)))
    async with database.begin() as work:
        assert (await work.audit.in_channel(CHANNEL))[0] == newest
    report = await found(url)
    assert (report.records, report.outside, report.faults) == (1, 1, [])
    await database.close()
