"""Runs of schedules: begun, left out, missed, ended at their limits; and what people do about schedules."""

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

import pytest

from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.errors import InvalidInput, NotAllowed, NotPossible
from agent_core.model.agent import Agent, Finished
from agent_core.model.channel_settings import QuietHours
from agent_core.model.decision import Approve, Policy, PolicyChange, Reject
from agent_core.model.draft import AgentDraft
from agent_core.model.model_calls import Reply, Usage
from agent_core.model.records.deletion import Retention
from agent_core.service.creating.creation import CreationLimits
from agent_core.service.schedules import Verb, WantedSchedule
from agent_core.testing.clock import FakeClock
from agent_core.testing.examples import BEN, CHANNEL
from agent_core.testing.language_model import Scripted, ScriptedModel, reply_text
from agent_core.testing.stage import Stage

SATURDAY = datetime(2027, 3, 27, 12, tzinfo=UTC)  # the night before clocks go forward in Vienna
WRITES = [reply_text("append_to_file", {"filename": "report.md", "text": f"{number}\n"}) for number in range(9)]
WRITE = WRITES[0]
DONE = reply_text("task_complete", {"reason": "The report is written."})
DAILY = WantedSchedule(when="every day at 9:00", zone="Europe/Vienna")
FREE, OWNER_ONLY = Policy(free=("read", "write")), PolicyChange(approvers="owner")


async def scheduled(
    *replies: Scripted, wanted: WantedSchedule = DAILY, policy: Policy = FREE, **options: timedelta
) -> tuple[Stage, Agent]:
    """An agent that has finished its first work and has a schedule; its model says the replies in its runs."""
    clock = FakeClock(SATURDAY)
    stage = Stage(model=ScriptedModel(DONE, *replies), clock=clock, **options)  # type: ignore[arg-type]
    agent = await stage.create(policy=policy)
    if agent.status.kind == "awaiting":
        await stage.decide(agent, Approve())
        agent = await stage.wait_until_settled(agent)
    assert isinstance(agent.status, Finished)
    return stage, await stage.service.schedules.set(agent.id, wanted, stage.origin())


async def at(stage: Stage, agent: Agent, when: str) -> Agent:
    """The agent after that moment, as the engine advances it: only if the database says that it has work."""
    stage.fake_clock.set(datetime.fromisoformat(when).replace(tzinfo=UTC))
    async with stage.database.begin() as work:
        due = await work.agents.due((CHANNEL.surface,), stage.clock.now())
    return await stage.wait_until_settled(agent) if agent.id in due else await stage.views.agent(CHANNEL, agent.id)


def told(stage: Stage) -> list[str]:
    return [notice.text for notice in stage.shown.notices]


@pytest.mark.proves("schedule:run")
async def test_a_run_begins_at_its_time_asks_as_ever_and_the_next_follows() -> None:
    stage, agent = await scheduled(WRITE, DONE, WRITES[1], policy=Policy())
    assert (await at(stage, agent, "2027-03-28 06:59")).turns == 1
    agent = await at(stage, agent, "2027-03-28 07:00")  # 9:00 in summer time
    assert (agent.status.kind, told(stage)[-1]) == ("awaiting", "Run 1 · Sunday 9:00 CEST")
    prompt = stage.script.prompts[-1][-1].content
    assert "This is run 1 of your schedule; what you did up to turn 1 was before it." in prompt
    for _ in range(2):
        await stage.decide(agent, Approve())
        agent = await stage.wait_until_settled(agent)
    assert agent.status.kind == "finished"
    assert (await at(stage, agent, "2027-03-29 07:00")).status.kind == "awaiting"
    assert told(stage)[-1] == "Run 2 · Monday 9:00 CEST"


@pytest.mark.slow
async def test_over_a_change_of_the_clock_each_time_comes_once() -> None:
    stage, agent = await scheduled(*[DONE] * 9, wanted=WantedSchedule(when="30 2 * * *", zone="Europe/Vienna"))
    for when in ("2027-03-28 00:59", "2027-03-28 01:00", "2027-03-28 01:30", "2027-03-29 00:30"):
        agent = await at(stage, agent, when)
        if agent.status.kind == "awaiting":
            await stage.decide(agent, Approve())
            agent = await stage.wait_until_settled(agent)
    assert [text for text in told(stage) if " · " in text] == [
        "Run 1 · Sunday 3:00 CEST",
        "Run 2 · Monday 2:30 CEST",
    ]
    stage.fake_clock.set(datetime(2027, 10, 30, 12, tzinfo=UTC))
    agent = await stage.service.schedules.set(
        agent.id, WantedSchedule(when="30 2 * * *", zone="Europe/Vienna"), stage.origin()
    )
    for when in ("2027-10-31 00:30", "2027-10-31 01:30", "2027-11-01 01:30"):
        agent = await at(stage, agent, when)
        if agent.status.kind == "awaiting":
            await stage.decide(agent, Approve())
            agent = await stage.wait_until_settled(agent)
    assert [text for text in told(stage) if " · " in text][2:] == [
        "Run 3 · Sunday 2:30 CEST",
        "Run 4 · Monday 2:30 CET",
    ]


@pytest.mark.slow
async def test_a_run_begun_late_in_an_hour_that_comes_twice_is_not_doubled() -> None:
    stage, agent = await scheduled(*[DONE] * 3)
    stage.fake_clock.set(datetime(2027, 10, 30, 12, tzinfo=UTC))
    late = WantedSchedule(when="59 2 * * *", zone="Europe/Vienna")
    agent = await stage.service.schedules.set(agent.id, late, stage.origin())
    for second in (1, 3):
        agent = await at(stage, agent, f"2027-10-31 01:00:0{second}")
    assert [text for text in told(stage) if " · " in text] == ["Run 1 · Sunday 2:59 CEST"]


@pytest.mark.proves("schedule:open")
async def test_a_run_that_is_open_is_not_doubled_and_this_is_said_once() -> None:
    stage, agent = await scheduled(WRITE, DONE, DONE, policy=Policy())
    agent = await at(stage, agent, "2027-03-28 07:00")
    for day in (29, 30, 31):
        agent = await at(stage, agent, f"2027-03-{day} 07:00")
    left_out = "The run of Mon 29 Mar 09:00 CEST is left out: run 1 is still open. Runs go on when it is finished."
    assert [text for text in told(stage) if "left out" in text] == [left_out]
    for _ in range(2):
        await stage.decide(agent, Approve())
        agent = await stage.wait_until_settled(agent)
    assert (await at(stage, agent, "2027-04-01 07:00")).schedule.runs == 2  # type: ignore[union-attr]


@pytest.mark.slow
async def test_who_is_stopped_stays_stopped() -> None:
    stage, agent = await scheduled(WRITE, policy=Policy())
    agent = await at(stage, agent, "2027-03-28 07:00")
    await stage.service.lifecycle.stop(agent.id, stage.origin())
    with pytest.raises(NotPossible, match="Clerk is not finished"):
        await stage.service.schedules.act(agent.id, "now", stage.origin())
    agent = await at(stage, await stage.wait_until_settled(agent), "2027-03-29 07:00")
    assert (agent.status.kind, agent.turns) == ("stopped", 2)
    assert "@ana stopped Clerk. Resume lets it go on." in told(stage)[-1]


@pytest.mark.proves("schedule:downtime")
async def test_after_downtime_one_run_begins_or_is_said_to_be_missed() -> None:
    stage, agent = await scheduled(WRITE, policy=Policy())
    agent = await at(stage, agent, "2027-03-31 12:00")  # three were due, the last five hours ago
    assert told(stage)[-1] == "Run 1 · Wednesday 9:00 CEST, begun late"
    stage, agent = await scheduled(wanted=WantedSchedule(when="every Monday at 9:00", zone="UTC"))
    agent = await at(stage, agent, "2027-04-06 09:01")  # a day and a minute late, after two Mondays
    assert told(stage)[-1] == "Nobody ran Signoff when the run of Mon 5 Apr 09:00 UTC was due, so it is left out."
    assert (agent.status.kind, agent.scheduled_at) == ("finished", datetime(2027, 4, 12, 9, tzinfo=UTC))
    stage, agent = await scheduled(most_late=timedelta(hours=1))
    await at(stage, agent, "2027-03-28 08:01")
    assert "is left out" in told(stage)[-1]


@pytest.mark.slow
async def test_with_no_hours_late_a_run_begins_when_the_engine_looks() -> None:
    stage, agent = await scheduled(WRITE, policy=Policy(), most_late=timedelta())
    await at(stage, agent, "2027-03-28 07:00:01")
    assert told(stage)[-1] == "Run 1 · Sunday 9:00 CEST"


@pytest.mark.proves("schedule:limits")
@pytest.mark.parametrize(
    ("limits", "turns", "why"),
    [({"turns": 2}, 2, "its 2 turns"), ({"budget": Decimal("0.25")}, 3, "its $0.25")],
)
async def test_a_run_ends_at_its_limits_and_the_next_has_them_anew(
    limits: dict[str, int], turns: int, why: str
) -> None:
    costly = [Reply(text=each, usage=Usage(prompt=1, completion=1, cost=Decimal("0.10"))) for each in WRITES]
    wanted = WantedSchedule(when="every day at 9:00", zone="UTC", **limits)  # type: ignore[arg-type]
    stage, agent = await scheduled(*costly, wanted=wanted)
    for day in (28, 29):
        agent = await at(stage, agent, f"2027-03-{day} 09:00")
        ended = f"Run {day - 27} of Clerk ended: it used {why}. Next run: {'Mon' if day == 28 else 'Tue'} {day + 1} Mar"
        assert (agent.status.kind, told(stage)[-1]) == ("finished", f"{ended} 09:00 UTC.")
        assert agent.turns == 1 + turns * (day - 27)


@pytest.mark.slow
async def test_without_a_run_the_limits_do_not_hold() -> None:
    stage, agent = await scheduled(*WRITES[:2], DONE, wanted=WantedSchedule(when="every hour", turns=1))
    await stage.service.lifecycle.resume(agent.id, stage.origin())
    assert (await stage.wait_until_settled(agent)).turns == 4


@pytest.mark.proves("schedule:acts")
async def test_people_pause_resume_begin_and_delete_it() -> None:
    stage, agent = await scheduled(DONE, DONE)

    async def act(verb: Verb) -> Agent:
        await stage.service.schedules.act(agent.id, verb, stage.origin())
        return await stage.wait_until_settled(agent)

    assert (await act("pause")).scheduled_at is None
    assert (await at(stage, agent, "2027-03-28 07:00")).turns == 1
    assert told(stage)[-1] == "@ana paused the schedule."
    begun = await act("now")
    assert (begun.turns, begun.scheduled_at) == (2, None)
    assert "Run 1 · Sunday 9:00 CEST, begun by @ana" in told(stage)
    assert (await act("resume")).scheduled_at == datetime(2027, 3, 29, 7, tzinfo=UTC)
    with pytest.raises(NotPossible, match="not paused"):
        await act("resume")
    await act("pause")
    with pytest.raises(NotPossible, match="paused already"):
        await act("pause")
    assert (await act("delete")).schedule is None
    with pytest.raises(NotPossible, match="Clerk has no schedule"):
        await act("pause")
    acts = [entry.act for entry in await stage.views.audit(CHANNEL, agent.id)]
    assert {"set the schedule", "paused the schedule", "began a run of the schedule", "deleted the schedule"} <= {*acts}


@pytest.mark.slow
async def test_who_may_not_decide_may_not_schedule_and_helpers_have_none() -> None:
    stage, agent = await scheduled()
    await stage.agent_settings.set_policy(agent.id, OWNER_ONLY, stage.origin())
    with pytest.raises(NotAllowed):
        await stage.service.schedules.set(agent.id, DAILY, stage.origin(BEN))
    with pytest.raises(NotAllowed):
        await stage.service.schedules.act(agent.id, "delete", stage.origin(BEN))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        (WantedSchedule(when="every day at 9", zone="Mars/Base"), "zone"),
        (WantedSchedule(when="every day at 9", turns=0), "turns"),
        (WantedSchedule(when="every day at 9", budget=Decimal("NaN")), "budget"),
        (WantedSchedule(when="now and then"), "when"),
    ],
)
async def test_what_is_wrong_is_said_by_field_and_nothing_is_saved(wanted: WantedSchedule, field: str) -> None:
    stage, agent = await scheduled()
    with pytest.raises(InvalidInput) as refused:
        await stage.service.schedules.set(agent.id, wanted, stage.origin())
    assert list(refused.value.problems) == [field]
    assert (await stage.views.agent(CHANNEL, agent.id)).schedule == agent.schedule


@pytest.mark.slow
async def test_archiving_pauses_the_schedule() -> None:
    stage, agent = await scheduled()
    await stage.service.archive.archive(agent.id, stage.origin())
    assert (await at(stage, agent, "2027-03-28 07:00")).turns == 1
    assert told(stage)[-1] == "archived by @ana. Resume brings it back. Its schedule is paused."
    for verb in ("resume", "now"):
        with pytest.raises(NotPossible, match="Clerk is archived"):
            await stage.service.schedules.act(agent.id, verb, stage.origin())
    await stage.service.archive.unarchive(agent.id, stage.origin())
    assert (await at(stage, agent, "2027-03-29 07:00")).turns == 1
    await stage.service.schedules.act(agent.id, "resume", stage.origin())
    assert (await stage.views.agent(CHANNEL, agent.id)).scheduled_at == datetime(2027, 3, 30, 7, tzinfo=UTC)


@pytest.mark.slow
async def test_what_the_release_before_archived_stays_archived() -> None:
    stage, agent = await scheduled()
    async with stage.database.begin() as work:
        work.agents.save(replace(await work.agents.get(CHANNEL, agent.id), archived_at=stage.clock.now()))
        await work.commit()
    agent = await at(stage, agent, "2027-03-28 07:00")
    assert (agent.is_archived, agent.turns, agent.scheduled_at) == (True, 1, None)


@pytest.mark.slow
async def test_no_date_of_deletion_is_shown_before_a_run() -> None:
    stage, agent = await scheduled()
    kept = Retention(history_days=30)
    assert kept.deletion_date(agent) is None
    paused = await stage.service.schedules.act(agent.id, "pause", stage.origin())
    assert kept.deletion_date(paused) == agent.since + timedelta(days=30)


@pytest.mark.slow
async def test_it_is_deleted_while_a_run_waits_and_nothing_is_left() -> None:
    stage, agent = await scheduled(WRITE, policy=Policy())
    await at(stage, agent, "2027-03-28 07:00")
    await stage.service.lifecycle.delete(agent.id, stage.origin())
    async with stage.database.begin() as work:
        assert await work.agents.due((CHANNEL.surface,), datetime(2028, 1, 1, tzinfo=UTC)) == ()


@pytest.mark.slow
async def test_a_rejected_command_counts_as_a_turn_of_the_run() -> None:
    wanted = WantedSchedule(when="every day at 9:00", zone="UTC", turns=1)
    stage, agent = await scheduled(WRITE, wanted=wanted, policy=Policy())
    agent = await at(stage, agent, "2027-03-28 09:00")
    await stage.decide(agent, Reject("Not today."))
    assert (await stage.wait_until_settled(agent)).status.kind == "finished"
    assert stage.script.left == 0


async def helped(wanted: WantedSchedule) -> tuple[Stage, Agent, Agent]:
    """An agent whose run has started a helper; each reply of the model costs a dollar."""
    start = reply_text("start_agent", {"name": "Scout", "task": "Find strings", "prompt": "x"})
    texts = (start, reply_text("do_nothing"), *WRITES)
    replies = [Reply(text=each, usage=Usage(prompt=1, completion=1, cost=Decimal(1))) for each in texts]
    stage = Stage(model=ScriptedModel(DONE, *replies), clock=FakeClock(SATURDAY))
    for command in AgentCommands(stage.helpers).commands:
        stage.commands.register(command)
    agent = await stage.create(policy=Policy(free=("read", "write", "spend")))
    agent = await stage.service.schedules.set(agent.id, wanted, stage.origin())
    agent = await at(stage, agent, "2027-03-28 09:00")
    (helper,) = await stage.helpers.of(agent)
    return stage, agent, await stage.wait_until_settled(helper)


@pytest.mark.slow
async def test_the_dollars_of_a_run_hold_for_its_helpers_too() -> None:
    wanted = WantedSchedule(when="every day at 9:00", zone="UTC", budget=Decimal(3))
    stage, agent, helper = await helped(wanted)
    while helper.status.kind == "awaiting":
        await stage.decide(helper, Approve())
        helper = await stage.wait_until_settled(helper)
    agent = await stage.wait_until_settled(agent)
    assert (helper.status.kind, agent.budget.spent, agent.status.kind) == ("finished", Decimal(3), "finished")
    assert told(stage)[-1] == "Run 1 of Clerk ended: it used its $3.00. Next run: Mon 29 Mar 09:00 UTC."


@pytest.mark.slow
async def test_the_helpers_of_a_run_end_with_it() -> None:
    stage, agent, helper = await helped(WantedSchedule(when="every day at 9:00", zone="UTC", turns=2))
    assert (agent.status.kind, helper.status.kind) == ("finished", "finished")
    assert "The run of Clerk that it worked for has ended." in told(stage)


@pytest.mark.slow
async def test_a_late_run_begins_after_the_quiet_hours() -> None:
    quiet = QuietHours(begins=time(22), ends=time(7))
    stage, agent = await scheduled(
        WRITE, wanted=WantedSchedule(when="every day at 21:50", zone="UTC", quiet=quiet), policy=Policy()
    )
    assert (await at(stage, agent, "2027-03-28 03:00")).turns == 1
    assert (await at(stage, agent, "2027-03-28 07:00")).status.kind == "awaiting"


@pytest.mark.slow
async def test_deleting_the_schedule_in_a_run_says_that_its_limits_end() -> None:
    stage, agent = await scheduled(WRITE, policy=Policy())
    agent = await at(stage, agent, "2027-03-28 07:00")
    await stage.service.schedules.act(agent.id, "delete", stage.origin())
    await stage.wait_until_settled(agent)
    assert told(stage)[-1] == "@ana deleted the schedule. Run 1 goes on, without limits of its own."


KEPT = "What @ana wrote is kept for the next run, Mon 29 Mar 09:00 UTC."


@pytest.mark.proves("schedule:note")
@pytest.mark.parametrize("last", [DONE, WRITES[1]])
async def test_a_note_of_the_last_turn_of_a_run_is_kept_for_the_next_and_this_is_said(last: str) -> None:
    wanted = WantedSchedule(when="every day at 9:00", zone="UTC", turns=1)
    stage, agent = await scheduled(last, WRITES[2], wanted=wanted, policy=Policy())
    agent = await at(stage, agent, "2027-03-28 09:00")
    await stage.decide(agent, Approve())
    await stage.service.decisions.reply(agent.id, "And count the errors", stage.origin())
    agent = await stage.wait_until_settled(agent)
    assert (agent.status.kind, told(stage)[-1]) == ("finished", KEPT)
    assert not any("reads what" in text for text in told(stage))
    await at(stage, agent, "2027-03-29 09:00")
    assert "And count the errors" in stage.script.prompts[-1][-1].content


@pytest.mark.slow
async def test_a_run_with_turns_left_reads_a_note_before_it_ends_and_keeps_its_limits() -> None:
    wanted = WantedSchedule(when="every day at 9:00", zone="UTC", turns=2)
    stage, agent = await scheduled(DONE, *WRITES, wanted=wanted, policy=Policy())
    agent = await at(stage, agent, "2027-03-28 09:00")
    await stage.decide(agent, Approve())
    await stage.service.decisions.reply(agent.id, "And count the errors", stage.origin())
    agent = await stage.wait_until_settled(agent)
    assert (agent.status.kind, told(stage)[-1]) == ("awaiting", "Clerk reads what @ana wrote before it finishes.")
    await stage.decide(agent, Approve())
    agent = await stage.wait_until_settled(agent)
    assert told(stage)[-1] == "Run 1 of Clerk ended: it used its 2 turns. Next run: Mon 29 Mar 09:00 UTC."


async def test_a_run_that_is_done_says_when_the_next_begins_and_a_paused_schedule_does_not() -> None:
    wanted = WantedSchedule(when="every day at 9:00", zone="UTC")
    stage, agent = await scheduled(DONE, DONE, wanted=wanted, policy=Policy())
    for day in (28, 29):
        agent = await at(stage, agent, f"2027-03-{day} 09:00")
        if day == 29:
            await stage.service.schedules.act(agent.id, "pause", stage.origin())
        await stage.decide(agent, Approve())
        agent = await stage.wait_until_settled(agent)
    done = [text for text in told(stage) if " is done: " in text]
    assert done == [
        "Clerk is done: “The report is written.”",
        "Run 1 is done: “The report is written.” Next run: Mon 29 Mar 09:00 UTC.",
        "Run 2 is done: “The report is written.”",
    ]


async def test_a_new_agent_gets_its_schedule_with_its_first_notice_and_only_from_who_may_set_one() -> None:
    stage = Stage(model=ScriptedModel(WRITE), clock=FakeClock(SATURDAY))
    service = replace(stage.service.lifecycle, limits=CreationLimits(guests_may_create=True))
    draft, guest = AgentDraft(name="Clerk", goals=("Write",)), stage.origin(replace(BEN, kind="guest"))
    schedule = await stage.service.schedules.preview(DAILY, guest)
    with pytest.raises(NotAllowed, match="set schedules here"):
        await service.create(draft, guest, schedule=schedule)
    assert not await stage.views.agents(CHANNEL)
    schedule = await stage.service.schedules.preview(DAILY, stage.origin())
    agent = await service.create(draft, stage.origin(delivery="once"), schedule=schedule)
    assert (await service.create(draft, stage.origin(delivery="once"), schedule=schedule)).id == agent.id
    agent = await stage.wait_until_settled(agent)
    times = "Next: Sun 28 Mar 09:00 CEST, Mon 29 Mar 09:00 CEST, Tue 30 Mar 09:00 CEST."
    limits = "Every day at 09:00 (Europe/Vienna). A run ends after 20 turns at the latest."
    assert told(stage) == [f"@ana set the schedule: {limits} {times}"]
    assert agent.scheduled_at == datetime(2027, 3, 28, 7, tzinfo=UTC)
