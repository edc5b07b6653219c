"""The queries of every pass of an agent read no whole table, however many agents idle and turns are over."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Engine, event

from agent_core.model.agent import Awaiting
from agent_core.model.ids import MemoryId, ReservationId
from agent_core.model.origin import ThreadRef
from agent_core.model.records.reservation import Account
from agent_core.persistence.connections import FileConnections
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.database import UnitOfWork
from agent_core.testing.examples import CHANNEL, NOON, an_agent, keep

ADA = an_agent()
ELSEWHERE = replace(CHANNEL, channel="elsewhere")
LAST = MemoryId("m-1")
OF_WHAT_IS_LEFT = ("turns_unshown", "notices_untold", "behind")  # what holds nothing of what is over


def trace(engine: Engine) -> list[str]:
    """All statements that SQLite gets from now on, with their values."""
    statements: list[str] = []
    event.listen(engine, "connect", lambda connection, _record: connection.set_trace_callback(statements.append))
    return statements


QUERIES: dict[str, tuple[Callable[[UnitOfWork], Awaitable[object]], list[str]]] = {
    "due": (
        lambda work: work.agents.due(("web", "terminal"), NOON),
        ["agents_awake (surface=? AND status=?)", "turns_unshown", "notices_untold"],
    ),
    "named": (lambda work: work.agents.find_by_name(CHANNEL, "Ada"), ["autoindex_agents_2 (channel=? AND name_key=?)"]),
    "in_thread": (
        lambda work: work.agents.in_thread(ThreadRef(CHANNEL, "1719.0001")),
        ["agents_in_thread (channel=? AND thread=?)"],
    ),
    "owned": (
        lambda work: work.agents.list_by_owner("slack", "T1", "u-ana"),
        ["agents_owned (owner=? AND workspace=?)"],
    ),
    "listening": (
        lambda work: work.agents.list_with_thread("slack", NOON),
        ["agents_awake (surface=? AND status=?)", "agents_resting (surface=? AND since>?)"],
    ),
    "for people": (
        lambda work: work.agents.list_awaiting_people([CHANNEL], 9),
        ["agents_listed (channel=? AND status=?)"],
    ),
    "listed": (lambda work: work.agents.of(CHANNEL), ["agents_listed (channel=?)"]),
    "archived": (lambda work: work.agents.list_archived(CHANNEL, most=9), ["agents_archived (channel=?)"]),
    "archived together": (
        lambda work: work.agents.list_archived_at(CHANNEL, NOON),
        ["agents_archived (channel=? AND archived_at=?"],
    ),
    "turns": (lambda work: work.turns.of(ADA, last=40), ["autoindex_turns_2 (agent_id=?)"]),
    "earlier": (
        lambda work: work.turns.of(ADA, last=40, before=100),
        ["autoindex_turns_2 (agent_id=? AND number<?)"],
    ),
    "timings": (
        lambda work: work.turns.list_timings(CHANNEL, last=40),
        ["turns_in (channel=?)"],
    ),
    "timings of one": (
        lambda work: work.turns.list_timings(CHANNEL, last=40, agent_id=ADA.id),
        ["autoindex_turns_2 (agent_id=?)"],
    ),
    "search": (
        lambda work: work.text_search.turns([CHANNEL], ["a"], before=LAST, most=40),
        ["autoindex_texts_1 (kind=? AND id<?)", "autoindex_turns_1 (id=?)"],
    ),
    "search of all channels": (
        lambda work: work.text_search.turns([CHANNEL, ELSEWHERE], ["a"], before=LAST, most=40),
        ["autoindex_texts_1 (kind=? AND id<?)", "autoindex_turns_1 (id=?)"],
    ),
    "versions of a file": (
        lambda work: work.text_search.turns_changing(replace(ADA, turns=900), "a.md", among=100, most=40),
        ["autoindex_turns_2 (agent_id=? AND number>?)"],
    ),
    "additions of a file": (
        lambda work: work.text_search.notes_adding(ADA, "a.md", most=40),
        ["notes_of (agent_id=?)"],
    ),
    "unshown": (lambda work: work.turns.list_unshown(ADA), ["turns_unshown"]),
    "waiting": (lambda work: work.notes.list_waiting(ADA), ["notes_waiting"]),
    "untold": (lambda work: work.notes.list_unposted(ADA), ["notices_untold"]),
    "newest memories": (
        lambda work: work.memories.of(ADA, most=9),
        ["memories_of (agent_id=? AND channel=?)"],
    ),
    "earlier memories": (
        lambda work: work.memories.of(ADA, most=9, before=LAST),
        ["memories_of (agent_id=? AND channel=? AND id<?)"],
    ),
    "some memories": (lambda work: work.memories.get_many(ADA, [LAST]), ["autoindex_memories_1 (id=?)"]),
    "memories": (
        lambda work: work.memories.count(ADA),
        ["COVERING INDEX memories_of (agent_id=? AND channel=?)"],
    ),
    "unplaced": (
        lambda work: work.memories.list_unindexed(ADA, "here", most=9),
        [
            "COVERING INDEX memories_in (agent_id=? AND channel=? AND place<?)",
            "COVERING INDEX memories_in (agent_id=? AND channel=? AND place>?)",
            "autoindex_memories_1 (id=?)",
        ],
    ),
    "vectors": (
        lambda work: work.memories.vectors(ADA, "here", most=9),
        ["memories_in (agent_id=? AND channel=? AND place=?)"],
    ),
    "later vectors": (
        lambda work: work.memories.vectors(ADA, "here", after=LAST, most=9),
        ["memories_in (agent_id=? AND channel=? AND place=? AND id>?)"],
    ),
    "version": (lambda work: work.memories.version(ADA), ["autoindex_memory_changes_1 (agent_id=?)"]),
    "behind": (
        lambda work: work.memories.list_agents_unindexed("here", most=9),
        ["COVERING INDEX memories_placed (place<?)", "COVERING INDEX memories_placed (place>?)"],
    ),
    "reserved": (
        lambda work: work.reservations.funds(Account.of(ADA)),
        ["reservations_in (channel=?)", "autoindex_budgets_1 (channel=?)", "autoindex_agents_1 (id=?)"],
    ),
    "a reservation": (lambda work: work.reservations.find(ReservationId("a")), ["autoindex_reservations_1 (id=?)"]),
    "reservations of a process": (lambda work: work.reservations.of("a"), ["reservations_of (worker=?)"]),
    "budget": (lambda work: work.budgets.of(CHANNEL), ["autoindex_budgets_1 (channel=?)"]),
}


@pytest.mark.parametrize("name", QUERIES)
async def test_a_query_goes_by_its_index(sqlite_url: str, name: str) -> None:
    query, indexes = QUERIES[name]
    database = SqlDatabase(sqlite_url)
    assert isinstance(database._connections, FileConnections)
    statements = trace(database._connections._engine)
    async with database.begin() as work:
        await query(work)
    asked = statements[-1]
    with database._connections._engine.connect() as connection:
        plan = [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked}")]
    await database.close()
    assert [step for step in plan if step.startswith("SCAN") and not step.endswith(OF_WHAT_IS_LEFT)] == []
    assert [index for index in indexes if index not in "\n".join(plan)] == []


@pytest.mark.proves("archive:scale")
async def test_agents_are_counted_without_reading_one(sqlite_url: str) -> None:
    database = SqlDatabase(sqlite_url)
    assert isinstance(database._connections, FileConnections)
    statements = trace(database._connections._engine)
    async with database.begin() as work:
        await work.agents.census()
    with database._connections._engine.connect() as connection:
        plan = [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statements[-1]}")]
    await database.close()
    scans = [step for step in plan if step.startswith("SCAN")]
    assert scans == [f"SCAN agents USING COVERING INDEX agents_{name}" for name in ("listed", "archived")]


async def test_a_save_of_an_agent_makes_no_temporary_table(sqlite_url: str) -> None:
    database = SqlDatabase(sqlite_url)
    assert isinstance(database._connections, FileConnections)
    statements = trace(database._connections._engine)
    await keep(database, ADA)
    async with database.begin() as work:
        work.agents.save((await work.agents.get(CHANNEL, ADA.id)).become(Awaiting(), NOON + timedelta(hours=1)))
        await work.commit()
    [save] = [each for each in statements if each.startswith("UPDATE agents SET status=")]
    with database._connections._engine.connect() as connection:
        steps = [row.opcode for row in connection.exec_driver_sql(f"EXPLAIN {save}")]
    await database.close()
    assert ("IdxInsert" in steps, "OpenEphemeral" in steps) == (True, False)
