"""What is left to show and to do, and what takes effect once: on every database."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from agent_core.errors import Conflict
from agent_core.model.agent import Acting, AgentStatus, Awaiting, Finished, Paused, Stopped, Thinking
from agent_core.model.decision import Approve
from agent_core.model.ids import AgentId
from agent_core.model.origin import ChannelScope, SurfaceName
from agent_core.ports.database import Database
from agent_core.testing.examples import ANA, CHANNEL, NOON, a_notice, a_turn, an_agent, keep

ADA = an_agent()
TURN = a_turn(ADA)
IDLE = an_agent(status=Awaiting())
MINUTE = timedelta(minutes=1)


async def due(database: Database, surfaces: Sequence[SurfaceName] = ("web",)) -> tuple[AgentId, ...]:
    async with database.begin() as work:
        return await work.agents.due(surfaces, NOON)


async def mark_shown(database: Database, address: str = "C1/5") -> None:
    async with database.begin() as work:
        work.turns.mark_shown(await work.turns.get(CHANNEL, TURN.id), address, NOON)
        await work.commit()


@pytest.mark.parametrize("status", [Thinking(), Acting()], ids=repr)
async def test_who_thinks_or_acts_is_due(database: Database, status: AgentStatus) -> None:
    await keep(database, replace(ADA, status=status))
    assert await due(database) == (ADA.id,)


@pytest.mark.parametrize("status", [Awaiting(), Paused("rest"), Stopped(ANA), Finished()], ids=repr)
async def test_who_waits_or_rests_is_not_due(database: Database, status: AgentStatus) -> None:
    await keep(database, replace(ADA, status=status))
    assert await due(database) == ()


@pytest.mark.parametrize(("seconds", "is_due"), [(-1, True), (0, True), (1, False)])
async def test_who_waits_for_a_time_is_due_when_it_comes(database: Database, seconds: int, is_due: bool) -> None:
    await keep(database, replace(ADA, wake_at=NOON + timedelta(seconds=seconds)))
    assert await due(database) == ((ADA.id,) if is_due else ())


async def test_who_was_saved_in_another_status_is_no_longer_due(database: Database) -> None:
    await keep(database, ADA)
    async with database.begin() as work:
        work.agents.save((await work.agents.locate(ADA.id)).become(Awaiting(), NOON))
        await work.commit()
    assert await due(database) == ()


async def test_only_agents_of_the_surfaces_asked_for_are_due(database: Database) -> None:
    eva = an_agent(id=AgentId("agent-eva"), channel=ChannelScope("slack", "T1", "C1"))
    await keep(database, ADA, eva, a_turn(ADA), a_turn(eva), a_notice(eva))
    assert await due(database) == (ADA.id,)
    assert await due(database, ("slack", "discord")) == (eva.id,)
    assert await due(database, ("slack", "web")) == (ADA.id, eva.id)
    assert await due(database, ()) == ()


async def test_a_turn_makes_its_agent_due_until_it_is_shown(database: Database) -> None:
    await keep(database, IDLE, TURN)
    assert await due(database) == (ADA.id,)
    await mark_shown(database)
    assert await due(database) == ()


async def test_a_turn_that_moved_on_is_to_be_shown_again(database: Database) -> None:
    await keep(database, IDLE, TURN)
    await mark_shown(database)
    async with database.begin() as work:
        assert await work.turns.list_unshown(ADA) == ()
        work.turns.save((await work.turns.get(CHANNEL, TURN.id)).decide(Approve(), by=ANA, at=NOON))
        await work.commit()
    async with database.begin() as work:
        assert [turn.id for turn in await work.turns.list_unshown(ADA)] == [TURN.id]
    assert await due(database) == (ADA.id,)


async def test_unshown_turns_come_in_order(database: Database) -> None:
    turns = tuple(a_turn(ADA, number=number) for number in range(1, 4))
    await keep(database, ADA, *turns[::-1])
    async with database.begin() as work:
        assert await work.turns.list_unshown(ADA) == turns


async def test_a_card_shown_at_an_older_stage_is_still_out_of_date(database: Database) -> None:
    await keep(database, IDLE, TURN)
    async with database.begin() as showing:
        shown = await showing.turns.get(CHANNEL, TURN.id)
        async with database.begin() as work:
            work.turns.save((await work.turns.get(CHANNEL, TURN.id)).decide(Approve(), by=ANA, at=NOON))
            await work.commit()
        showing.turns.mark_shown(shown, "C1/5", NOON)
        await showing.commit()
    async with database.begin() as work:
        assert [(turn.state, turn.shown_as) for turn in await work.turns.list_unshown(ADA)] == [("approved", "C1/5")]


async def test_showing_never_makes_a_save_conflict_and_survives_it(database: Database) -> None:
    await keep(database, ADA, TURN)
    async with database.begin() as work:
        read = await work.turns.get(CHANNEL, TURN.id)
        await mark_shown(database)
        work.turns.save(replace(read, remark="later"))
        await work.commit()
    async with database.begin() as work:
        assert await work.turns.get(CHANNEL, TURN.id) == replace(
            TURN, remark="later", shown_as="C1/5", shown_at=NOON, shown_hash_on_card=TURN.control_hash
        )


async def test_saving_does_not_move_the_card(database: Database) -> None:
    await keep(database, ADA, TURN)
    await mark_shown(database)
    async with database.begin() as work:
        work.turns.save(replace(await work.turns.get(CHANNEL, TURN.id), shown_as="elsewhere"))
        await work.commit()
    async with database.begin() as work:
        assert (await work.turns.of(ADA, last=1))[0].shown_as == "C1/5"


async def test_a_turn_may_be_marked_in_the_unit_that_adds_it(database: Database) -> None:
    async with database.begin() as work:
        work.agents.add(IDLE)
        work.turns.add(TURN)
        work.turns.mark_shown(TURN, "C1/5", NOON)
        await work.commit()
    assert await due(database) == ()


async def test_a_notice_makes_its_agent_due_until_it_is_told(database: Database) -> None:
    await keep(database, IDLE, a_notice(ADA))
    assert await due(database) == (ADA.id,)
    async with database.begin() as work:
        work.notes.mark_posted(a_notice(ADA))
        await work.commit()
    assert await due(database) == ()


async def test_a_delivery_takes_effect_once(database: Database) -> None:
    async with database.begin() as work:
        assert await work.deliveries.first_time("event-1", NOON)
        assert not await work.deliveries.first_time("event-1", NOON)
        await work.commit()
    async with database.begin() as work:
        assert not await work.deliveries.first_time("event-1", NOON + MINUTE)
        assert await work.deliveries.first_time("event-2", NOON)


async def test_the_second_of_two_overlapping_claims_conflicts(database: Database) -> None:
    async with database.begin() as first, database.begin() as second:
        assert await first.deliveries.first_time("event-1", NOON)
        assert await second.deliveries.first_time("event-1", NOON)
        second.agents.add(ADA)
        await first.commit()
        with pytest.raises(Conflict):
            await second.commit()
    assert await due(database) == ()


async def test_a_preference_is_overwritten(database: Database) -> None:
    for text in ("first", "", "last"):
        async with database.begin() as work:
            work.preferences.put(CHANNEL, "form", "not this")
            work.preferences.put(CHANNEL, "form", text)
            await work.commit()
        async with database.begin() as work:
            assert await work.preferences.get(CHANNEL, "form") == text


async def test_overlapping_preferences_do_not_conflict(database: Database) -> None:
    async with database.begin() as first, database.begin() as second:
        first.preferences.put(CHANNEL, "form", "first")
        second.preferences.put(CHANNEL, "form", "second")
        await first.commit()
        await second.commit()
    async with database.begin() as work:
        assert await work.preferences.get(CHANNEL, "form") == "second"
