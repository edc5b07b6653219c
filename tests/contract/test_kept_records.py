"""A later unit of work takes over what an earlier one read or saved, on every database."""

from dataclasses import replace

import pytest

from agent_core.errors import Conflict, NotFound
from agent_core.model.channels import ChannelScope
from agent_core.model.decision import Approve
from agent_core.ports.database import Database
from agent_core.testing.examples import ANA, CHANNEL, NOON, a_turn, an_agent, keep

ADA = an_agent()
TURN = a_turn(ADA)
ELSEWHERE = ChannelScope("web", "local", "random")


@pytest.mark.parametrize("how", ["added", "read", "saved", "saved and shown", "shown"])
async def test_what_is_kept_is_what_a_later_unit_would_read(database: Database, how: str) -> None:
    if how != "added":
        await keep(database, ADA, TURN)
    async with database.begin() as work:
        if how == "added":
            work.agents.add(ADA)
            work.turns.add(TURN)
        agent, turn = await work.agents.locate(ADA.id), await work.turns.get(CHANNEL, TURN.id)
        if "saved" in how:
            turn = turn.decide(Approve(), by=ANA, at=NOON)
            work.agents.save(replace(agent, fence=7))
            work.turns.save(turn)
        if "shown" in how:
            work.turns.mark_shown(turn, "1719.7", NOON)
        agents, turns = work.agents.keep(ADA.id), work.turns.keep(ADA.id)
        await work.commit()
    async with database.begin() as later:
        assert agents[ADA.id].record == await later.agents.locate(ADA.id)
        assert turns[TURN.id].record == await later.turns.get(CHANNEL, TURN.id)
        assert (agents[ADA.id].revision, turns[TURN.id].revision) == (
            later.agents.keep(ADA.id)[ADA.id].revision,
            later.turns.keep(ADA.id)[TURN.id].revision,
        )


async def test_what_was_taken_over_is_saved_as_if_it_had_been_read(database: Database) -> None:
    await keep(database, ADA, TURN)
    async with database.begin() as work:
        await work.agents.locate(ADA.id)
        await work.turns.get(CHANNEL, TURN.id)
        agents, turns = work.agents.keep(ADA.id), work.turns.keep(ADA.id)
    async with database.begin() as later:
        later.agents.reuse(agents)
        later.turns.reuse(turns)
        later.agents.save(replace(await later.agents.get(CHANNEL, ADA.id), fence=3))
        later.turns.save((await later.turns.get(CHANNEL, TURN.id)).decide(Approve(), by=ANA, at=NOON))
        await later.commit()
    async with database.begin() as last:
        assert (await last.agents.locate(ADA.id)).fence == 3
        assert (await last.turns.get(CHANNEL, TURN.id)).state == "approved"


@pytest.mark.parametrize("changed", ["agent", "turn", "removed"])
async def test_saving_what_was_changed_since_it_was_kept_conflicts(database: Database, changed: str) -> None:
    await keep(database, ADA, TURN)
    async with database.begin() as work:
        agent, turn = await work.agents.locate(ADA.id), await work.turns.get(CHANNEL, TURN.id)
        agents, turns = work.agents.keep(ADA.id), work.turns.keep(ADA.id)
        match changed:
            case "agent":
                work.agents.save(replace(agent, fence=5))
            case "turn":
                work.turns.save(turn.decide(Approve(), by=ANA, at=NOON))
            case _:
                work.agents.remove(agent)
        await work.commit()
    async with database.begin() as later:
        later.agents.reuse(agents)
        later.turns.reuse(turns)
        later.agents.save(replace(await later.agents.locate(ADA.id), fence=9))
        later.turns.save((await later.turns.get(CHANNEL, TURN.id)).decide(Approve(), by=ANA, at=NOON))
        with pytest.raises(Conflict):
            await later.commit()


async def test_what_was_taken_over_is_sealed_from_other_channels(database: Database) -> None:
    await keep(database, ADA, TURN)
    async with database.begin() as work:
        await work.agents.locate(ADA.id)
        await work.turns.get(CHANNEL, TURN.id)
        agents, turns = work.agents.keep(ADA.id), work.turns.keep(ADA.id)
    async with database.begin() as later:
        later.agents.reuse(agents)
        later.turns.reuse(turns)
        with pytest.raises(NotFound):
            await later.agents.get(ELSEWHERE, ADA.id)
        with pytest.raises(NotFound):
            await later.turns.get(ELSEWHERE, TURN.id)
