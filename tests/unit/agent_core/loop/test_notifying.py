"""People are told that an agent waits: at once by direct message if they asked, and by reminders after a while."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest

from agent_core.errors import InvalidInput, NotAllowed, NotPossible, SurfaceBusy, ThreadGone
from agent_core.model.agent import Agent, Awaiting, Finished, Paused
from agent_core.model.channel_settings import QuietHours, ReminderSettings
from agent_core.model.decision import Approve, Policy, Reject
from agent_core.model.draft import AgentDraft
from agent_core.model.origin import ChannelScope, Origin
from agent_core.testing.examples import ANA, BEN
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingNotifications, RecordingSurface

SLACK = ChannelScope("slack", "T1", "C1")
WRITES = [reply_text("write_to_file", {"filename": f"found {number}.txt", "text": "gut"}) for number in range(4)]
DONE = reply_text("task_complete", {"reason": "All is written."})
GUEST = replace(BEN, kind="guest")
WEB = ChannelScope("web", "local", "general")


class Play:
    """An agent in a Slack channel that waits for a decision."""

    def __init__(self, *replies: str) -> None:
        self.calls = RecordingNotifications()
        surface = RecordingSurface(name="slack", notifications=self.calls)
        self.stage = Stage(model=ScriptedModel(*(replies or WRITES)), surface=surface)

    async def create(self, name: str = "Clerk", *, policy: Policy = Policy()) -> Agent:
        draft = AgentDraft(name=name, goals=("Write a file",), policy=policy)
        agent = await self.stage.service.lifecycle.create(draft, Origin(by=ANA, channel=SLACK))
        return await self.stage.wait_until_settled(agent)

    async def wait(self, agent: Agent, **duration: int) -> Agent:
        """Let time pass, with a sweep each minute."""
        ends = self.stage.fake_clock.now() + timedelta(**duration)
        while self.stage.fake_clock.now() < ends:
            self.stage.fake_clock.advance(60)
            async with self.stage.database.begin() as work:
                due = await work.agents.due(("slack",), self.stage.fake_clock.now())
            if agent.id in due:
                await self.stage.loop.advance(agent.id)
        return await self.stage.views.agent(SLACK, agent.id)

    async def decide(self, agent: Agent, decision: Approve | Reject) -> Agent:
        turn = await self.stage.views.newest_turn(SLACK, agent.id)
        assert turn
        origin = Origin(by=ANA, channel=SLACK)
        self.stage.fake_clock.advance(1)
        await self.stage.service.decisions.decide(turn.id, decision, origin, shown=turn.control_hash)
        return await self.stage.wait_until_settled(agent)

    async def set_reminders(self, **changes: Any) -> None:
        await self.stage.core.notifications.set_reminders(
            lambda present: replace(present, **changes),
            Origin(by=ANA, channel=SLACK),
            "changed",
        )

    async def notify(self, by: Sequence[object] = (BEN,), *, is_wanted: bool = True) -> None:
        for person in by:
            origin = Origin(by=person, channel=SLACK)  # type: ignore[arg-type]
            await self.stage.core.notifications.set_direct(origin, is_wanted=is_wanted)


@pytest.mark.slow
@pytest.mark.proves("attention:reminders")
async def test_the_owner_is_reminded_after_five_minutes_half_an_hour_and_four_hours() -> None:
    play = Play()
    agent = await play.create()
    sent = []
    for minutes in (4, 1, 24, 1, 209, 1, 24 * 60):
        agent = await play.wait(agent, minutes=minutes)
        sent.append(len(play.calls.sent))
    assert sent == [0, 1, 1, 2, 2, 3, 3]
    assert set(play.calls.sent) == {(ANA.id,)}
    assert len(play.calls.standing) == 1  # each reminder takes the place of the one before
    assert agent.wake_at is None


@pytest.mark.proves("attention:reminders")
async def test_a_decision_takes_the_reminder_back_and_the_next_wait_begins_anew() -> None:
    play = Play()
    agent = await play.wait(await play.create(), minutes=6)
    agent = await play.decide(agent, Approve())
    assert play.calls.standing == {}
    agent = await play.wait(agent, minutes=4)
    assert len(play.calls.sent) == 1
    await play.wait(agent, minutes=2)
    assert len(play.calls.sent) == 2


@pytest.mark.slow
@pytest.mark.proves("attention:escalation")
async def test_the_backup_is_called_after_its_time_and_the_agent_pauses_after_another_and_decides_nothing() -> None:
    play = Play()
    late = {"backup": (BEN.id,), "backup_after": timedelta(hours=8), "pause_after": timedelta(hours=24)}
    await play.set_reminders(after=(timedelta(hours=1),), **late)
    agent = await play.wait(await play.create(), hours=7, minutes=50)
    assert play.calls.sent == [(ANA.id,)]
    agent = await play.wait(agent, minutes=20)
    assert play.calls.sent == [(ANA.id,), (ANA.id, BEN.id)]
    agent = await play.wait(agent, hours=15, minutes=30)
    assert isinstance(agent.status, Awaiting)
    agent = await play.wait(agent, minutes=30)
    assert agent.status == Paused("Nobody decided for 24 hours. The card still waits; Approve or Resume goes on.")
    turn = await play.stage.views.newest_turn(SLACK, agent.id)
    assert turn
    assert (turn.state, turn.approvals) == ("proposed", ())
    assert (await play.decide(agent, Approve())).turns == 2


@pytest.mark.proves("attention:escalation")
@pytest.mark.parametrize("late", [{"backup_after": timedelta(minutes=1)}, {"pause_after": timedelta(days=8)}])
async def test_times_of_escalation_have_bounds(late: dict[str, timedelta]) -> None:
    with pytest.raises(InvalidInput, match="from 5 minutes to 7 days"):
        await Play().set_reminders(backup=(BEN.id,), **late)


@pytest.mark.slow
@pytest.mark.proves("archive:lists")
async def test_an_archived_agent_calls_nobody_even_when_it_comes_back() -> None:
    play = Play("not json", "not json", "not json")
    agent = await play.wait(await play.create(), minutes=6)
    assert (len(play.calls.sent), len(play.calls.standing)) == (1, 1)
    await play.stage.service.archive.archive(agent.id, Origin(by=ANA, channel=SLACK))
    agent = await play.stage.wait_until_settled(agent)
    assert (play.calls.standing, agent.wake_at) == ({}, None)
    agent = await play.wait(agent, hours=5)
    await play.stage.service.archive.unarchive(agent.id, Origin(by=ANA, channel=SLACK))
    agent = await play.stage.wait_until_settled(agent)
    await play.wait(agent, hours=5)
    assert len(play.calls.sent) == 1


@pytest.mark.proves("attention:done")
async def test_people_are_told_once_that_an_agent_is_done() -> None:
    play = Play(DONE)
    await play.notify()
    agent = await play.create(policy=Policy(free=("read",)))
    assert isinstance(agent.status, Finished)
    assert play.calls.sent == [(f"to {BEN.id}",)]
    await play.wait(agent, minutes=6)
    agent = await play.wait(agent, hours=5)
    assert (play.calls.sent, agent.wake_at) == ([(f"to {BEN.id}",), (ANA.id,)], None)
    await play.stage.service.lifecycle.resume(agent.id, Origin(by=ANA, channel=SLACK))
    await play.stage.wait_until_settled(agent)
    assert len(play.calls.standing) == 1, "what told of the end is taken back, and Ben is told what the agent asks now"


@pytest.mark.slow
@pytest.mark.proves("attention:done")
async def test_who_approved_the_end_is_not_told_of_it_and_a_channel_may_want_no_word() -> None:
    play = Play(DONE)
    await play.notify((ANA, BEN))
    agent = await play.decide(await play.create(), Approve())
    assert isinstance(agent.status, Finished)
    await play.wait(agent, hours=5)
    assert play.calls.sent == [(f"to {ANA.id}",), (f"to {BEN.id}",), (f"to {BEN.id}",)], (
        "both of the question, and Ben of the end"
    )
    quiet = Play(DONE)
    await quiet.notify()
    await quiet.set_reminders(ends=False)
    await quiet.wait(await quiet.create(policy=Policy(free=("read",))), hours=5)
    assert quiet.calls.sent == []


async def test_settings_hold_for_an_agent_that_waits_already() -> None:
    play = Play()
    await play.set_reminders(mentions=())
    await play.wait(await play.create(), hours=1)
    await play.set_reminders(mentions=("S0GROUP", "owner"))
    async with play.stage.run():
        await play.calls.until(1)
    assert play.calls.sent == [("S0GROUP", ANA.id)]


async def test_quiet_hours_and_weekends_put_a_reminder_off_and_lose_none() -> None:
    hours = QuietHours(begins=time(18), ends=time(8))
    settings = ReminderSettings(quiet=hours, weekends=False, zone="Europe/Berlin")
    friday = datetime(2026, 3, 27, 16, 58, tzinfo=UTC)  # 17:58 in Berlin, before summer time
    due = settings.due_at(friday, 0)
    assert due == datetime(2026, 3, 30, 6, tzinfo=UTC)  # Monday, 8:00 in Berlin
    assert ReminderSettings().due_at(friday, 0) == friday + timedelta(minutes=5)
    assert ReminderSettings().due_at(friday, 3) is None


@pytest.mark.proves("attention:direct")
async def test_who_asked_gets_each_wait_by_direct_message_and_the_message_tells_how_it_ended() -> None:
    play = Play()
    await play.notify((BEN,))
    agent = await play.create()
    assert play.calls.sent == [(f"to {BEN.id}",)]
    await play.decide(agent, Approve())
    assert [state for _, state in play.calls.taken_back] == ["approved"]
    assert len(play.calls.sent) == 2
    await play.notify((BEN,), is_wanted=False)
    await play.decide(agent, Approve())
    assert len(play.calls.sent) == 2


async def test_who_left_the_channel_gets_nothing_and_is_not_asked_for_again() -> None:
    play = Play()
    await play.notify((BEN,))
    play.calls.strangers.add(BEN.id)
    agent = await play.create()
    await play.stage.loop.advance(agent.id)
    assert play.calls.sent == []


async def test_a_busy_platform_is_tried_again() -> None:
    play = Play()
    agent = await play.create()
    play.calls.faults = [SurfaceBusy("later"), SurfaceBusy("later")]
    await play.wait(agent, minutes=8)
    assert len(play.calls.sent) == 1


@pytest.mark.slow
async def test_reminders_that_are_overdue_together_call_once() -> None:
    play = Play()
    agent = await play.create()
    play.stage.fake_clock.advance(40 * 60)
    agent = await play.wait(agent, minutes=10)
    assert (len(play.calls.sent), agent.reminded) == (1, 2)
    await play.wait(agent, hours=4)
    assert len(play.calls.sent) == 2


async def test_a_reminder_that_a_busy_platform_kept_is_taken_back_later_from_a_stopped_agent() -> None:
    play = Play()
    agent = await play.wait(await play.create(), minutes=6)
    play.calls.faults = [SurfaceBusy("later"), SurfaceBusy("later")]
    await play.stage.service.lifecycle.stop(agent.id, Origin(by=ANA, channel=SLACK))
    agent = await play.stage.wait_until_settled(agent)
    assert len(play.calls.standing) == 1
    agent = await play.wait(agent, minutes=3)
    assert (play.calls.standing, agent.notifications, agent.wake_at) == ({}, (), None)


@pytest.mark.slow
async def test_a_platform_that_never_answers_is_asked_ever_more_seldom() -> None:
    play = Play()
    await play.notify((BEN,))
    await play.set_reminders(mentions=())
    given = 1000
    play.calls.faults = [SurfaceBusy("later")] * given
    agent = await play.wait(await play.create(), minutes=30)
    asked = given - len(play.calls.faults)
    assert 20 <= asked <= 61
    play.calls.faults = [SurfaceBusy("later")] * given
    await play.wait(agent, hours=24)
    assert given - len(play.calls.faults) <= 4 * 61  # about 60 tries while the wait grows to e times its length


@pytest.mark.slow
async def test_a_lost_thread_pauses_the_agent_as_with_a_card() -> None:
    play = Play()
    agent = await play.create()
    play.calls.faults = [ThreadGone("The thread was deleted.")]
    agent = await play.wait(agent, minutes=6)
    assert isinstance(agent.status, Paused)
    agent = await play.wait(agent, hours=6)
    assert (agent.thread, play.calls.sent) == (None, [])


@pytest.mark.parametrize(
    "changes",
    [
        {"after": (timedelta(minutes=4),)},
        {"after": ()},
        {"after": (timedelta(minutes=30), timedelta(minutes=5))},
        {"after": (timedelta(days=8),)},
        {"zone": "Europe/Nowhere"},
        {"zone": "../etc/passwd"},
        {"zone": ""},
        {"mentions": tuple(map(str, range(21)))},
        {"zone": "/etc/passwd"},
        {"quiet": QuietHours(begins=time(18), ends=time(18))},
    ],
)
async def test_unusable_settings_are_refused_and_nothing_is_saved(changes: dict[str, Any]) -> None:
    play = Play()
    with pytest.raises(InvalidInput):
        await play.set_reminders(**changes)
    assert (await play.stage.core.notifications.settings(SLACK)).reminders == ReminderSettings()


async def test_guests_set_nothing_and_get_no_direct_messages_and_a_page_has_none() -> None:
    notifications = Play().stage.core.notifications
    guest, page = Origin(by=GUEST, channel=SLACK), Origin(by=ANA, channel=WEB)
    with pytest.raises(NotAllowed):
        await notifications.set_reminders(lambda present: present, guest, "")
    with pytest.raises(NotAllowed):
        await notifications.set_direct(guest, is_wanted=True)
    with pytest.raises(NotPossible):
        await notifications.set_reminders(lambda present: present, page, "")
    with pytest.raises(NotPossible):
        await notifications.set_direct(page, is_wanted=True)
