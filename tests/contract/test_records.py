"""What every repository keeps, on every database."""

from dataclasses import replace
from datetime import UTC, timedelta
from decimal import Decimal

import pytest

from agent_core.errors import Conflict, NotFound
from agent_core.model.agent import Acting, Agent, AgentStatus, Awaiting, Finished, Headcount, Paused, Stopped, Thinking
from agent_core.model.command import CommandCall, Failed, Interrupted, Preview, Proposal, Result, Succeeded, Thoughts
from agent_core.model.decision import Approve, ApproveEdited, Decision, Policy, Reject
from agent_core.model.ids import AgentId, NoteId, NoticeId, TurnId
from agent_core.model.model_calls import Budget, Usage
from agent_core.model.origin import ChannelScope, ThreadRef
from agent_core.model.permissions import Lease
from agent_core.model.turn import Turn
from agent_core.ports.database import Database
from agent_core.testing.examples import ANA, BEN, CHANNEL, NOON, a_note, a_notice, a_turn, an_agent, an_entry, keep
from tests.standins.everyone import everyone

ADA = an_agent()
TURN = a_turn(ADA)
BOB = an_agent(id=AgentId("agent-bob"), name="Bob")
ELSEWHERE = ChannelScope("slack", "T1", "C1")
EVA = an_agent(id=AgentId("agent-eva"), channel=ELSEWHERE, name="ADA")
STRANGE = "🦆 \u202eأبجد\u202c 语言 e\u0301 \x00 \x1b[0m \ud800 \udfff \\u0000 \\0000 'quoted' \u2028"
MINUTE = timedelta(minutes=1)


async def same(database: Database, agent: Agent) -> Agent:
    await keep(database, agent)
    async with database.begin() as work:
        return await work.agents.get(agent.channel, agent.id)


async def same_turn(database: Database, turn: Turn) -> Turn:
    await keep(database, ADA, turn)
    async with database.begin() as work:
        return await work.turns.get(turn.channel, turn.id)


STATUSES = [
    Thinking(),
    Thinking(held_up="no answer", tries=3),
    Thinking(activity="for 12 s · about 840 tokens"),
    Awaiting(),
    Acting(),
    Paused("Raise the budget."),
    Stopped(BEN),
    Finished("done"),
]


@pytest.mark.parametrize("status", STATUSES, ids=repr)
async def test_an_agent_comes_back_in_every_status(database: Database, status: AgentStatus) -> None:
    agent = replace(ADA, status=status)
    assert await same(database, agent) == agent


async def test_everything_of_an_agent_comes_back(database: Database) -> None:
    agent = an_agent(
        thread=ThreadRef(CHANNEL, "1719.0001"),
        goals=("one", "two"),
        model="gpt-4o",
        budget=Budget(limit=Decimal("2.50"), spent=Decimal("0.000015")),
        usage=Usage(prompt=9, cached=8, completion=7, cost=Decimal("1E-7")),
        policy=Policy(approvers="owner", free=("read", "network"), verbosity="brief"),
        lease=Lease(granted_by=BEN, granted_at=NOON, total=5, left=2, classes=("write",)),
        turns=4,
        unusable=1,
        complaint="no command",
        fence=12,
        wake_at=NOON + MINUTE,
        parent=AgentId("agent-zoe"),
    )
    assert await same(database, agent) == agent


@pytest.mark.parametrize("state", ["proposed", "approved", "running", "interrupted", "done", "rejected", "withdrawn"])
async def test_a_turn_comes_back_in_every_state(database: Database, state: str) -> None:
    turn = a_turn(ADA, state=state, started_at=NOON, ended_at=NOON + MINUTE, ended_by=BEN, remark="changed")
    assert await same_turn(database, turn) == turn


@pytest.mark.parametrize("decision", [Approve(), Approve(5), ApproveEdited({"path": "b"}), Reject("no")])
async def test_a_turn_comes_back_with_every_decision(database: Database, decision: Decision) -> None:
    turn = TURN.decide(decision, by=ANA, at=NOON)
    assert await same_turn(database, turn) == turn


@pytest.mark.parametrize("result", [Succeeded("out"), Failed("no such file"), Interrupted(), Interrupted(BEN)])
async def test_a_turn_comes_back_with_every_result(database: Database, result: Result) -> None:
    turn = TURN.finish(result, NOON)
    assert await same_turn(database, turn) == turn


async def test_whatever_a_model_writes_comes_back(database: Database) -> None:
    call = CommandCall(STRANGE, {STRANGE: [STRANGE, {"": None}, 1, 1.5, True, 10**30]})
    preview = Preview(title=STRANGE, body=STRANGE, kind="diff", target=STRANGE, basis=STRANGE)
    turn = a_turn(ADA, proposal=Proposal(thoughts=Thoughts(text=STRANGE, plan=STRANGE), call=call, preview=preview))
    assert await same_turn(database, turn) == turn


async def test_whatever_people_write_comes_back(database: Database) -> None:
    agent = an_agent(name=STRANGE, role=STRANGE, goals=(STRANGE,))
    note = a_note(agent, text=STRANGE)
    await keep(database, agent, note, an_entry(agent, detail=STRANGE))
    async with database.begin() as work:
        work.preferences.put(CHANNEL, STRANGE, STRANGE)
        assert await work.deliveries.first_time(STRANGE, NOON)
        await work.commit()
    async with database.begin() as work:
        assert await work.agents.find_by_name(CHANNEL, STRANGE.upper()) == agent
        assert await work.notes.of(agent) == (note,)
        assert await work.audit.of(agent) == (an_entry(agent, detail=STRANGE),)
        assert await work.preferences.get(CHANNEL, STRANGE) == STRANGE
        assert not await work.deliveries.first_time(STRANGE, NOON)


async def test_times_come_back_aware_and_in_utc(database: Database) -> None:
    agent = await same(database, an_agent(wake_at=NOON))
    assert agent.wake_at
    assert agent.wake_at.utcoffset() == agent.created_at.utcoffset() == timedelta(0)
    assert agent.wake_at.astimezone(UTC).isoformat() == NOON.isoformat()


async def test_a_name_is_taken_whatever_its_case(database: Database) -> None:
    await keep(database, ADA)
    with pytest.raises(Conflict):
        await keep(database, an_agent(id=AgentId("agent-2"), name="aDA"))
    async with database.begin() as work:
        assert await work.agents.find_by_name(CHANNEL, "ADA") == ADA


async def test_a_name_is_free_in_another_channel(database: Database) -> None:
    await keep(database, ADA, EVA)
    async with database.begin() as work:
        assert await everyone(work) == (ADA, EVA)


async def test_a_new_name_must_be_free_too(database: Database) -> None:
    await keep(database, ADA, BOB)
    async with database.begin() as work:
        work.agents.save(replace(await work.agents.locate(BOB.id), name="ada"))
        with pytest.raises(Conflict):
            await work.commit()


async def test_two_turns_never_have_one_number(database: Database) -> None:
    await keep(database, ADA, TURN)
    with pytest.raises(Conflict):
        await keep(database, replace(TURN, id=TurnId("turn-other")))


async def test_nothing_is_kept_for_an_agent_that_is_not_there(database: Database) -> None:
    for orphan in (TURN, a_note(ADA), a_notice(ADA)):
        with pytest.raises(Conflict):
            await keep(database, orphan)


async def test_nothing_is_found_from_another_channel(database: Database) -> None:
    await keep(database, ADA, TURN, a_note(ADA), a_notice(ADA), an_entry(ADA))
    moved = replace(ADA, channel=ELSEWHERE)
    async with database.begin() as work:
        with pytest.raises(NotFound):
            await work.agents.get(ELSEWHERE, ADA.id)
        with pytest.raises(NotFound):
            await work.turns.get(ELSEWHERE, TURN.id)
        assert await work.agents.find_by_name(ELSEWHERE, ADA.name) is None
        assert await work.agents.of(ELSEWHERE) == ()
        assert await work.turns.of(moved, last=9) == await work.turns.of(moved, last=9, before=9) == ()
        assert await work.turns.list_unshown(moved) == ()
        assert await work.notes.of(moved) == await work.notes.of(moved, since=NOON) == ()
        assert await work.notes.list_waiting(moved) == ()
        assert await work.notes.notices(moved) == await work.notes.notices(moved, since=NOON) == ()
        assert await work.notes.list_unposted(moved) == ()
        assert await work.audit.of(moved) == ()


async def test_removing_an_agent_does_nothing_in_another_channel(database: Database) -> None:
    await keep(database, ADA)
    async with database.begin() as work:
        work.agents.remove(replace(ADA, channel=ELSEWHERE))
        await work.commit()
    async with database.begin() as work:
        assert await work.agents.of(CHANNEL) == (ADA,)


async def test_agents_come_oldest_first(database: Database) -> None:
    await keep(database, BOB, EVA, ADA)
    async with database.begin() as work:
        assert await work.agents.of(CHANNEL) == (ADA, BOB)
        assert await everyone(work) == (ADA, BOB, EVA)


async def test_the_last_turns_come_in_order(database: Database) -> None:
    turns = [a_turn(ADA, number=number) for number in range(1, 13)]
    await keep(database, ADA, *turns[::-1])
    async with database.begin() as work:
        assert await work.turns.of(ADA, last=3) == tuple(turns[9:])
        assert await work.turns.of(ADA, last=3, before=11) == tuple(turns[7:10])
        assert await work.turns.of(ADA, last=99, before=3) == tuple(turns[:2])
        assert await work.turns.of(ADA, last=0) == ()


async def test_only_the_agents_own_turns_are_given(database: Database) -> None:
    await keep(database, ADA, BOB, TURN, a_turn(BOB))
    async with database.begin() as work:
        assert await work.turns.of(BOB, last=9) == (a_turn(BOB),)


async def test_removing_an_agent_leaves_its_entries_in_the_decision_log(database: Database) -> None:
    await keep(database, ADA, BOB, TURN, a_note(ADA), a_notice(ADA), an_entry(ADA), a_turn(BOB))
    async with database.begin() as work:
        work.agents.remove(await work.agents.locate(ADA.id))
        await work.commit()
    async with database.begin() as work:
        assert await everyone(work) == (BOB,)
        assert await work.turns.of(ADA, last=9) == ()
        assert await work.audit.of(ADA) == await work.audit.in_channel(ADA.channel) == (an_entry(ADA),)
        assert await work.notes.of(ADA) == ()
        assert await work.notes.notices(ADA) == ()
        assert await work.turns.of(BOB, last=9) == (a_turn(BOB),)
    await keep(database, ADA, TURN, a_note(ADA), a_notice(ADA), an_entry(ADA, id="entry-2"))


async def test_notes_wait_until_a_turn_takes_them(database: Database) -> None:
    early, late = a_note(ADA), a_note(ADA, id=NoteId("note-0"), at=NOON + MINUTE)
    await keep(database, ADA, TURN, late, early)
    async with database.begin() as work:
        assert await work.notes.list_waiting(ADA) == await work.notes.of(ADA) == (early, late)
        assert await work.notes.of(ADA, since=NOON + MINUTE) == (late,)
        work.notes.take([early], TURN.id)
        work.notes.take([], TURN.id)
        await work.commit()
    async with database.begin() as work:
        assert await work.notes.list_waiting(ADA) == (late,)
        assert await work.notes.of(ADA) == (replace(early, taken_into=TURN.id), late)


async def test_notices_are_untold_until_they_are_marked(database: Database) -> None:
    early, late = a_notice(ADA), a_notice(ADA, id=NoticeId("notice-0"), at=NOON + MINUTE, kind="resumed")
    await keep(database, ADA, late, early)
    async with database.begin() as work:
        assert await work.notes.list_unposted(ADA) == await work.notes.notices(ADA) == (early, late)
        assert await work.notes.notices(ADA, since=NOON + MINUTE) == (late,)
        work.notes.mark_posted(early)
        await work.commit()
    async with database.begin() as work:
        assert await work.notes.list_unposted(ADA) == (late,)
        assert await work.notes.notices(ADA) == (early, late)


async def test_audit_entries_come_oldest_first(database: Database) -> None:
    early, late = an_entry(ADA, turn_id=TURN.id, shown_hash="abc"), an_entry(ADA, id="entry-0", at=NOON + MINUTE)
    await keep(database, ADA, late, early)
    async with database.begin() as work:
        assert await work.audit.of(ADA) == (early, late)


async def test_a_census_counts_agents_by_channel_and_status(database: Database) -> None:
    other = ChannelScope("slack", "T1", "C1")
    asking = [an_agent(id=AgentId(f"a{at}"), name=f"A{at}", status=Awaiting()) for at in range(3)]
    await keep(database, *asking, an_agent(id=AgentId("b"), name="B"), an_agent(id=AgentId("c"), channel=other))
    async with database.begin() as work:
        assert await work.agents.census() == (
            Headcount(other, "thinking", 1),
            Headcount(CHANNEL, "awaiting", 3),
            Headcount(CHANNEL, "thinking", 1),
        )


async def test_agents_that_wait_for_people_come_longest_waiting_first(database: Database) -> None:
    paused = an_agent(id=AgentId("a"), name="A", status=Paused("Why."), since=NOON + MINUTE)
    asking = an_agent(id=AgentId("b"), name="B", status=Awaiting(), since=NOON)
    answering = an_agent(id=AgentId("f"), name="F", status=Acting(asks=True), since=NOON + 2 * MINUTE)
    others = (
        an_agent(id=AgentId("g"), name="G", status=Acting(), role='says "asks":true', since=NOON - MINUTE),
        an_agent(id=AgentId("c"), name="C"),
        an_agent(id=AgentId("d"), name="D", status=Awaiting(), channel=ELSEWHERE),
        an_agent(id=AgentId("e"), name="E", status=Stopped(ANA)),
    )
    await keep(database, paused, asking, answering, *others)
    async with database.begin() as work:
        assert await work.agents.list_awaiting_people([CHANNEL], 9) == (asking, paused, answering)
        assert await work.agents.list_awaiting_people([CHANNEL], 1) == (asking,)
        everywhere = await work.agents.list_awaiting_people([ELSEWHERE, CHANNEL], 9)
        assert [each.name for each in everywhere] == ["B", "D", "A", "F"]


async def test_an_agent_that_waits_or_rests_is_due_when_a_reminder_or_a_next_try_is(database: Database) -> None:
    at = ThreadRef(CHANNEL, "1719.0001")
    due = [
        an_agent(id=AgentId("a"), name="A", thread=at, status=Awaiting(), wake_at=NOON),
        an_agent(id=AgentId("b"), name="B", thread=at, status=Paused("No model."), wake_at=NOON),
        an_agent(id=AgentId("g"), name="G", thread=at, status=Stopped(ANA), wake_at=NOON),
    ]
    others = [
        an_agent(id=AgentId("c"), name="C", thread=at, status=Awaiting(), wake_at=NOON + MINUTE),
        an_agent(id=AgentId("d"), name="D", thread=at, status=Awaiting()),
        an_agent(id=AgentId("e"), name="E", status=Awaiting(), wake_at=NOON),
        an_agent(id=AgentId("f"), name="F", thread=at, status=Stopped(ANA)),
    ]
    await keep(database, *due, *others)
    async with database.begin() as work:
        assert await work.agents.due(("web",), NOON) == ("a", "b", "g")


async def test_preferences_are_listed_by_how_their_keys_begin(database: Database) -> None:
    other = ChannelScope("slack", "T1", "C1")
    async with database.begin() as work:
        for key, text in (("notify", "all"), ("notify/U1", "on"), ("Notify/U2", "on"), ("notif", "x"), ("n%", "x")):
            work.preferences.put(CHANNEL, key, text)
        work.preferences.put(other, "notify", "none")
        await work.commit()
    async with database.begin() as work:
        assert await work.preferences.list_by_prefix(CHANNEL, "notify") == {"notify": "all", "notify/U1": "on"}
        assert await work.preferences.list_by_prefix(CHANNEL, "n%") == {"n%": "x"}
        assert await work.preferences.list_by_key("notify", "slack") == ("none",)


async def test_pages_of_the_log_come_newest_first_within_their_channel(database: Database) -> None:
    stranger = an_agent(id=AgentId("agent-eva"), channel=ChannelScope("slack", "T1", "C1"))
    entries = [an_entry(ADA, id=f"e{at}", at=NOON + at // 2 * MINUTE) for at in range(5)]
    others = (an_entry(stranger, id="e9"), an_entry(BOB, id="e2b", at=NOON + MINUTE))
    await keep(database, ADA, BOB, stranger, *entries, *others)
    async with database.begin() as work:
        first = await work.audit.page(CHANNEL, last=3)
        second = await work.audit.page(CHANNEL, last=3, before=first[-1].id)
        assert [entry.id for entry in (*first, *second)] == ["e4", "e3", "e2b", "e2", "e1", "e0"]
        assert [entry.id for entry in await work.audit.page(CHANNEL, last=9, agent_id=BOB.id)] == ["e2b"]
        assert [each.id for each in await work.audit.page(CHANNEL, last=2, before="e2b", agent_id=ADA.id)] == [
            "e2",
            "e1",
        ]
        assert await work.audit.page(CHANNEL, last=9, before="e9") == ()
        assert await work.audit.page(CHANNEL, last=9, before="") == (*first, *second)


async def test_what_follows_an_entry_is_of_its_agent_oldest_first(database: Database) -> None:
    entries = [an_entry(ADA, id=f"e{at}", at=NOON + at // 2 * MINUTE) for at in range(5)]
    await keep(database, ADA, BOB, *entries, an_entry(BOB, id="e2b", at=NOON + MINUTE))
    async with database.begin() as work:
        assert [entry.id for entry in await work.audit.list_after(entries[1], first=2)] == ["e2", "e3"]
        assert await work.audit.list_after(entries[4], first=2) == ()


async def test_a_notice_is_found_by_its_id_in_its_channel_only(database: Database) -> None:
    told = a_notice(ADA, reply="Sure! I am\x00 a teapot.\u202e")
    await keep(database, ADA, told)
    async with database.begin() as work:
        assert await work.notes.notice(ADA.channel, told.id) == told
        with pytest.raises(NotFound):
            await work.notes.notice(ChannelScope("slack", "T1", "C1"), told.id)
        with pytest.raises(NotFound):
            await work.notes.notice(ADA.channel, NoticeId("another"))
