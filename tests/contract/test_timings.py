"""Times of the newest turns of a channel or an agent, on every database."""

from dataclasses import replace
from datetime import timedelta

from sqlalchemy import Connection, text

from agent_core.model.command import CommandCall, Succeeded
from agent_core.model.decision import Approve
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.origin import ChannelScope
from agent_core.model.records.timing import Timing
from agent_core.persistence.connections import transaction
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.database import Database
from agent_core.testing.examples import ANA, CHANNEL, NOON, a_turn, an_agent, keep
from tests.tables import on_database

ADA = an_agent()
BOB = an_agent(id=AgentId("agent-bob"), name="Bob")
EVA = an_agent(id=AgentId("agent-eva"), channel=ChannelScope("slack", "T1", "C1"))
MINUTE = timedelta(minutes=1)
STRANGE = "\x00 \ud800 \\u0000"
DONE = (
    a_turn(ADA)
    .decide(Approve(), by=ANA, at=NOON + MINUTE)
    .start(NOON + 2 * MINUTE)
    .finish(Succeeded(STRANGE), NOON + 3 * MINUTE)
)
FIRST = replace(DONE, id=TurnId("t-1"))
SECOND = a_turn(BOB, id=TurnId("t-2"))
THIRD = a_turn(ADA, id=TurnId("t-3"), number=2)
ELSEWHERE = a_turn(EVA, id=TurnId("t-4"))


async def timings(database: Database, last: int, agent_id: AgentId | None = None) -> tuple[Timing, ...]:
    async with database.begin() as work:
        return await work.turns.list_timings(CHANNEL, last=last, agent_id=agent_id)


def melt(connection: Connection) -> None:
    with transaction(connection):
        connection.execute(text("UPDATE turns SET data = replace(data, '\"done\"', '\"melted\"')"))


async def test_the_newest_turns_of_a_channel_are_listed_with_their_times_and_no_others(database: Database) -> None:
    await keep(database, ADA, BOB, EVA, FIRST, SECOND, THIRD, ELSEWHERE)
    assert await timings(database, 9) == (Timing.of(FIRST), Timing.of(SECOND), Timing.of(THIRD))
    assert await timings(database, 2) == (Timing.of(SECOND), Timing.of(THIRD))
    first = (await timings(database, 9))[0]
    assert (first.decided_at, first.started_at, first.ended_at) == tuple(NOON + n * MINUTE for n in (1, 2, 3))


async def test_the_newest_turns_of_an_agent_are_found_in_its_own_channel_alone(database: Database) -> None:
    await keep(database, ADA, BOB, EVA, FIRST, SECOND, THIRD, ELSEWHERE)
    assert await timings(database, 9, ADA.id) == (Timing.of(FIRST), Timing.of(THIRD))
    assert await timings(database, 1, ADA.id) == (Timing.of(THIRD),)
    assert await timings(database, 9, EVA.id) == ()


async def test_what_is_strange_for_a_database_hinders_no_timing(database: Database) -> None:
    nested: object = STRANGE
    for _ in range(300):
        nested = [nested]
    proposal = replace(FIRST.proposal, call=CommandCall("write_file", {"nested": nested, "number": float("nan")}))
    await keep(database, ADA, replace(FIRST, proposal=proposal))
    assert await timings(database, 9) == (replace(Timing.of(FIRST), about=""),)


async def test_a_turn_in_a_form_of_a_newer_release_is_left_out(sqlite_url: str) -> None:
    database = SqlDatabase(sqlite_url)
    await keep(database, ADA, BOB, FIRST, SECOND)
    await on_database(sqlite_url, melt)
    assert await timings(database, 9) == (Timing.of(SECOND),)
    await database.close()
