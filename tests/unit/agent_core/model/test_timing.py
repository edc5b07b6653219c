"""Who waited for whom, from the stored times of turns and notices."""

from datetime import datetime, timedelta

from agent_core.model.command import Interrupted, Succeeded
from agent_core.model.decision import Approve, Reject
from agent_core.model.ids import AgentId, NoticeId
from agent_core.model.note import Notice, NoticeKind
from agent_core.model.records.timing import (
    Median,
    Rest,
    Timing,
    agent_waits,
    people_waits,
    rests_of,
    times_of,
)
from agent_core.model.turn import Turn
from agent_core.testing.examples import ANA, NOON, a_notice, a_turn, an_agent

ADA = an_agent()
BOB = an_agent(id=AgentId("agent-bob"), name="Bob")


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


def done(number: int, *, proposed: float, decided: float, ended: float, under: bool = False) -> Turn:
    """A turn of Ada's whose command started a minute after the decision; times are minutes after noon."""
    approve = Approve(under="lease" if under else "")
    turn = a_turn(ADA, number=number, proposed_at=at(proposed)).decide(approve, by=ANA, at=at(decided))
    return turn.start(at(decided + 1)).finish(Succeeded("done"), at(ended))


def notice(kind: NoticeKind, minute: float) -> Notice:
    return a_notice(ADA, id=NoticeId(f"n-{minute}"), kind=kind, at=at(minute))


def test_a_turn_is_thinking_waiting_and_running() -> None:
    turns = (
        done(1, proposed=2, decided=12, ended=14),
        done(2, proposed=15, decided=15, ended=20, under=True),
    )
    first, second = times_of([Timing.of(turn) for turn in turns], (), begun_at=NOON, now=at(60))
    assert (first.thought, first.waited, first.ran) == (minutes(2), minutes(10), minutes(1))
    assert (second.thought, second.waited, second.ran) == (minutes(1), None, minutes(4))


def test_an_open_turn_waits_and_a_running_one_runs_until_now() -> None:
    asking = a_turn(ADA, proposed_at=at(5))
    running = asking.decide(Approve(), by=ANA, at=at(6)).start(at(7))
    assert Timing.of(asking).waited(at(9)) == minutes(4)
    assert (Timing.of(running).waited(at(9)), Timing.of(running).ran(at(9))) == (minutes(1), minutes(2))


def test_a_withdrawn_turn_waited_until_it_was_withdrawn() -> None:
    assert Timing.of(a_turn(ADA).stop(ANA, at(3))).waited(at(9)) == minutes(3)


def test_the_run_of_a_command_that_a_crash_interrupted_is_not_known() -> None:
    running = a_turn(ADA).decide(Approve(), by=ANA, at=at(1)).start(at(2))
    interrupted = running.interrupt()
    settled = interrupted.settle(Succeeded("ana says that it ran."), ANA, at(9))
    skipped = interrupted.settle(Interrupted(by=ANA, is_skipped=True), ANA, at(9))
    assert [Timing.of(each).ran(at(10)) for each in (interrupted, settled, skipped)] == [None, None, None]
    assert Timing.of(running.stop(ANA, at(5))).ran(at(10)) == minutes(3)


def test_the_thinking_before_the_oldest_listed_turn_is_not_known() -> None:
    later = Timing.of(done(7, proposed=2, decided=12, ended=14))
    assert times_of([later], (), begun_at=NOON, now=at(60))[0].thought is None


def test_time_at_rest_is_not_time_of_thinking() -> None:
    notices = (notice("stopped", 20), notice("changed", 30), notice("resumed", 70), notice("paused", 75))
    rests = rests_of(notices)
    assert rests == (Rest(at(20), at(70)),)
    turns = (done(1, proposed=2, decided=12, ended=14), done(2, proposed=74, decided=75, ended=80))
    second = times_of([Timing.of(turn) for turn in turns], rests, begun_at=NOON, now=at(90))[1]
    assert (second.thought, second.rested) == (minutes(10), minutes(50))


def test_people_are_waited_for_from_the_proposal_to_their_decision_of_any_kind() -> None:
    rejected = a_turn(ADA, number=3, proposed_at=at(30)).decide(Reject("no"), by=ANA, at=at(34))
    turns = (
        done(1, proposed=2, decided=12, ended=14),
        done(2, proposed=15, decided=15, ended=20, under=True),
        rejected,
        a_turn(ADA, number=4, proposed_at=at(40)),
        a_turn(BOB, number=1).stop(ANA, at(9)),
    )
    assert people_waits(map(Timing.of, turns)) == Median(value=minutes(7), number=2)


def test_people_wait_from_their_decision_to_the_same_agents_next_proposal() -> None:
    turns = (
        done(1, proposed=2, decided=12, ended=14),
        done(2, proposed=15, decided=15, ended=20, under=True),
        done(3, proposed=40, decided=41, ended=43),
        done(4, proposed=50, decided=51, ended=53),
        done(6, proposed=80, decided=81, ended=83),
        a_turn(BOB, number=2, proposed_at=at(13)),
    )
    timings = [Timing.of(turn) for turn in turns]
    assert agent_waits(timings) == Median(value=minutes(6), number=2)
    assert agent_waits(timings, [Rest(at(43), at(48))]).value == minutes(3.5)
