"""The loop over doubles: what is proposed, shown, run and recorded, and what happens when things go wrong."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from adapters.screens.cards import turn_card
from agent_core.errors import (
    AlreadyDecided,
    InvalidInput,
    ModelRefused,
    ModelUnavailable,
    NotAllowed,
    SurfaceBusy,
    ThreadGone,
)
from agent_core.loop.command_runner import Extensions, NextHook
from agent_core.model.agent import Agent, Awaiting, Finished, Paused, Stopped, Thinking
from agent_core.model.command import CommandCall, Failed, Interrupted, Result, Succeeded
from agent_core.model.decision import Approve, ApproveEdited, Policy, Reject, Settlement
from agent_core.model.model_calls import Reply, Usage
from agent_core.model.origin import ActorKind
from agent_core.model.turn import text_of
from agent_core.ports.database import UnitOfWork, in_one_unit
from agent_core.service.agents import NoteKept, StepRejected
from agent_core.testing.examples import BEN
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import CommandContext
from tests.patience import PATIENCE_SECONDS

WRITE = reply_text("write_to_file", {"filename": "a.txt", "text": "one\n"})
MORE = [reply_text("append_to_file", {"filename": "a.txt", "text": f"line {number}\n"}) for number in range(9)]
DONE = reply_text("task_complete", {"reason": "All is written."})
NOTHING = reply_text("do_nothing")


def stage_of(*replies: str | Reply | Exception, **ports: object) -> Stage:
    return Stage(model=ScriptedModel(*replies), **ports)  # type: ignore[arg-type]


async def approve(stage: Stage, agent: Agent, times: int = 1) -> Agent:
    await stage.decide(agent, Approve(times))
    return await stage.wait_until_settled(agent)


@pytest.mark.proves("loop:asks")
async def test_a_proposal_is_shown_and_nothing_runs_before_somebody_approves() -> None:
    stage = stage_of(WRITE)
    agent = await stage.create()
    turn = await stage.turn(agent)
    assert isinstance(agent.status, Awaiting)
    assert stage.shown.cards[turn.id].state == "proposed"
    assert await stage.views.files(agent.channel, agent.id) == ()


@pytest.mark.proves("loop:goal")
async def test_an_approved_command_runs_and_the_agent_goes_on_to_its_end() -> None:
    stage = stage_of(WRITE, DONE)
    agent = await stage.create()
    agent = await approve(stage, agent)
    assert await stage.views.file(agent.channel, agent.id, "a.txt") == b"one\n"
    agent = await approve(stage, agent)
    assert agent.status == Finished("All is written.\nFiles: a.txt (4 bytes).")
    assert [notice.text for notice in stage.shown.notices] == ["Clerk is done: “All is written.”"]


@pytest.mark.proves("decide:edit")
async def test_an_edited_command_runs_with_the_changed_arguments() -> None:
    stage = stage_of(WRITE, DONE)
    agent = await stage.create()
    await stage.decide(agent, ApproveEdited({"filename": "b.txt", "text": "two"}))
    await stage.wait_until_settled(agent)
    assert await stage.views.file(agent.channel, agent.id, "b.txt") == b"two"
    assert any("@ana changed the arguments" in message.content for message in stage.script.prompts[-1])


async def test_arguments_that_do_not_fit_the_command_are_refused_and_the_proposal_stays_open() -> None:
    stage = stage_of(WRITE)
    agent = await stage.create()
    with pytest.raises(InvalidInput):
        await stage.decide(agent, ApproveEdited({"filename": 7}))
    assert (await stage.turn(agent)).state == "proposed"


@pytest.mark.proves("decide:reject")
async def test_a_rejection_reaches_the_model_with_its_reason() -> None:
    stage = stage_of(WRITE, DONE)
    agent = await stage.create()
    await stage.decide(agent, Reject("Use b.txt"))
    agent = await stage.wait_until_settled(agent)
    assert "@ana rejected it: Use b.txt" in stage.script.prompts[-1][-2].content
    assert await stage.views.files(agent.channel, agent.id) == ()


@pytest.mark.proves("decide:twice")
async def test_a_second_decision_is_told_who_decided_first() -> None:
    stage = stage_of(WRITE)
    agent = await stage.create()
    await stage.decide(agent, Approve())
    with pytest.raises(AlreadyDecided, match="already approved by @ana, 09:00 UTC"):
        await stage.decide(agent, Reject("no"), BEN)


@pytest.mark.proves("delivery:once")
async def test_a_click_delivered_twice_takes_effect_once() -> None:
    stage = stage_of(WRITE)
    turn = await stage.turn(await stage.create())
    await stage.service.decisions.decide(turn.id, Approve(), stage.origin(delivery="event 1"), shown=turn.control_hash)
    _, again = await stage.service.decisions.decide(
        turn.id, Approve(), stage.origin(delivery="event 1"), shown=turn.control_hash
    )
    assert len(again.approvals) == 1


@pytest.mark.proves("rights:kinds")
@pytest.mark.parametrize("kind", ["guest", "external", "bot"])
async def test_guests_outsiders_and_bots_may_not_approve(kind: ActorKind) -> None:
    stage = stage_of(WRITE)
    agent = await stage.create()
    with pytest.raises(NotAllowed, match="you may not approve here"):
        await stage.decide(agent, Approve(), replace(BEN, kind=kind))


@pytest.mark.proves("rights:owner")
async def test_where_only_the_owner_decides_others_may_not() -> None:
    stage = stage_of(WRITE)
    agent = await stage.create(policy=Policy(approvers="owner"))
    with pytest.raises(NotAllowed, match="only @ana decides"):
        await stage.decide(agent, Approve(), BEN)


@pytest.mark.proves("lease:counts")
async def test_approve_x3_runs_three_commands_and_then_asks_again() -> None:
    stage = stage_of(WRITE, *MORE)
    agent = await approve(stage, await stage.create(), times=3)
    assert (agent.turns, agent.lease, agent.status) == (4, None, Awaiting())
    assert await stage.views.file(agent.channel, agent.id, "a.txt") == b"one\nline 0\nline 1\n"


@pytest.mark.proves("lease:same-call")
async def test_a_lease_ends_at_the_third_time_of_the_same_command() -> None:
    stage = stage_of(*[NOTHING] * 4)
    agent = await approve(stage, await stage.create(), times=10)
    assert (agent.turns, agent.lease) == (3, None)
    assert "same arguments for the third time" in stage.shown.notices[-1].text


@pytest.mark.proves("lease:errors")
async def test_a_lease_ends_after_two_errors_in_a_row() -> None:
    async def breaks(call: CommandCall, context: CommandContext, following: NextHook) -> Result:
        return Failed("It broke.")

    stage = stage_of(WRITE, *MORE, extensions=Extensions(hooks=(breaks,)))
    agent = await approve(stage, await stage.create(), times=10)
    assert (agent.turns, agent.lease) == (3, None)
    assert "two commands in a row failed" in stage.shown.notices[-1].text


@pytest.mark.proves("lease:objection")
async def test_a_word_from_a_guest_ends_a_lease_and_is_kept_as_a_note() -> None:
    stage = stage_of(WRITE)
    agent = await stage.create()
    await stage.decide(agent, Approve(5))
    outcome = await stage.service.decisions.reply(agent.id, "Wait!", stage.origin(replace(BEN, kind="guest")))
    assert isinstance(outcome, NoteKept)
    assert outcome.agent.lease is None


async def test_a_revoked_lease_lets_people_be_asked_again() -> None:
    stage = stage_of(WRITE, *MORE)
    agent = await stage.create()
    await stage.decide(agent, Approve(5))
    await stage.service.decisions.revoke(agent.id, stage.origin())
    agent = await stage.wait_until_settled(agent)
    assert (agent.turns, agent.status) == (2, Awaiting())


async def test_commands_of_a_free_class_run_unasked() -> None:
    stage = stage_of(NOTHING, WRITE)
    agent = await stage.create(policy=Policy(free=("read",)))
    assert (agent.turns, agent.status) == (2, Awaiting())


@pytest.mark.proves("reply:open")
async def test_a_reply_to_an_open_proposal_rejects_it_with_that_text() -> None:
    stage = stage_of(WRITE, DONE)
    agent = await stage.create()
    outcome = await stage.service.decisions.reply(agent.id, "Not yet", stage.origin())
    assert isinstance(outcome, StepRejected)
    assert outcome.turn.state == "rejected"


@pytest.mark.proves("reply:note")
async def test_a_guests_reply_is_a_note_that_the_next_prompt_holds_once() -> None:
    stage = stage_of(WRITE, NOTHING, DONE)
    agent = await stage.create()
    await stage.service.decisions.reply(agent.id, "Mind the umlauts", stage.origin(replace(BEN, kind="guest")))
    assert (await stage.turn(agent)).state == "proposed"
    agent = await approve(stage, agent)
    await approve(stage, agent)
    counts = [sum("Mind the umlauts" in message.content for message in prompt) for prompt in stage.script.prompts]
    assert counts == [0, 1, 1]


@pytest.mark.proves("stop:open")
async def test_stop_withdraws_the_proposal_and_resume_thinks_anew() -> None:
    stage = stage_of(WRITE, DONE)
    agent = await stage.create()
    stopped = await stage.service.lifecycle.stop(agent.id, stage.origin(BEN))
    assert stopped.status == Stopped(BEN)
    assert (await stage.turn(agent)).state == "withdrawn"
    await stage.service.lifecycle.resume(agent.id, stage.origin())
    assert (await stage.wait_until_settled(agent)).turns == 2


@pytest.mark.proves("reply:unusable")
async def test_three_unusable_replies_pause_the_agent_and_never_rerun_the_last_command() -> None:
    stage = stage_of(WRITE, "no json", '{"command": {"name": "fly", "args": {}}}', reply_text("read_file", {}))
    agent = await approve(stage, await stage.create())
    assert isinstance(agent.status, Paused)
    assert agent.turns == 1
    assert await stage.views.file(agent.channel, agent.id, "a.txt") == b"one\n"


async def test_what_was_wrong_with_a_reply_is_told_to_the_model_and_its_cost_is_the_next_turns() -> None:
    costly = Reply(text="no json", usage=Usage(prompt=100, completion=10))
    stage = Stage(model=ScriptedModel(costly, WRITE, cost=Decimal("0.01")))
    agent = await stage.create()
    assert "held no JSON object" in stage.script.prompts[-1][-1].content
    assert (await stage.turn(agent)).usage == agent.usage


@pytest.mark.proves("path:outside")
async def test_a_path_outside_the_workspace_is_never_put_before_people() -> None:
    outside = reply_text("write_to_file", {"filename": "../up.txt", "text": "x"})
    stage = stage_of(outside, WRITE)
    agent = await stage.create()
    assert (await stage.turn(agent)).call.arguments["filename"] == "a.txt"


@pytest.mark.proves("model:later")
async def test_a_busy_model_is_asked_again_when_it_said() -> None:
    stage = stage_of(ModelUnavailable("rate limited", retry_after=30), WRITE)
    agent = await stage.create()
    assert agent.status == Thinking(held_up="rate limited", tries=1, held_since=agent.since)
    assert (await stage.wait_until_settled(agent)).turns == 0
    stage.fake_clock.advance(40)
    assert (await stage.wait_until_settled(agent)).turns == 1


@pytest.mark.proves("model:hour")
async def test_a_model_that_cannot_be_reached_for_an_hour_pauses_the_agent() -> None:
    stage = stage_of(*[ModelUnavailable("one.test does not answer", retry_after=600)] * 8, WRITE)
    agent = await stage.create()
    begun, minutes = agent.since, 0
    while isinstance(agent.status, Thinking) and (minutes := minutes + 1) < 100:
        stage.fake_clock.advance(60)
        agent = await stage.wait_until_settled(agent)
    assert timedelta(hours=1) <= agent.since - begun <= timedelta(minutes=80)
    assert isinstance(agent.status, Paused)
    assert "could not be reached for an hour: one.test does not answer" in agent.status.reason


async def test_a_model_that_refuses_pauses_the_agent_with_the_reason() -> None:
    agent = await stage_of(ModelRefused("The key is wrong: check OPENAI_API_KEY.")).create()
    assert isinstance(agent.status, Paused)
    assert "OPENAI_API_KEY" in agent.status.reason


@pytest.mark.proves("budget:stop")
async def test_a_call_beyond_the_budget_is_not_made() -> None:
    model = ScriptedModel(WRITE, cost=Decimal("0.6"))
    stage = Stage(model=model)
    agent = await stage.create(budget=Decimal("0.5"))
    assert isinstance(agent.status, Paused)
    assert "budget is reached" in agent.status.reason
    assert model.prompts == []


@pytest.mark.proves("shown:changed")
async def test_a_write_over_a_file_that_changed_since_is_shown_again_instead_of_run() -> None:
    stage = stage_of(WRITE)
    agent = await stage.create()
    await stage.workspaces.of(agent).write("a.txt", b"somebody else was here\n")
    agent = await approve(stage, agent)
    turn = await stage.turn(agent)
    assert (turn.state, turn.approvals, bool(turn.remark)) == ("proposed", (), True)
    assert stage.shown.cards[turn.id].remark
    agent = await approve(stage, agent)
    assert await stage.views.file(agent.channel, agent.id, "a.txt") == b"one\n"


async def running_when_the_process_died(stage: Stage, *, left: bytes | None = None) -> Agent:
    """An agent whose command was running when its process died, at its next start; `left`: what stands in a.txt."""
    agent = await stage.create()
    await start_newest(stage, agent)
    if left is not None:
        await stage.workspaces.of(agent).write("a.txt", left)
    return await stage.wait_until_settled(agent)


async def start_newest(stage: Stage, agent: Agent, times: int = 1) -> None:
    """Approve what the agent asks, and save that its command runs, as a process does that dies then."""
    turn = await stage.decide(agent, Approve(times))

    async def start(work: UnitOfWork) -> None:
        present = await work.turns.get(agent.channel, turn.id)
        work.turns.save(present.start(stage.clock.now()))

    await in_one_unit(stage.database, start)


@pytest.mark.proves("crash:asks")
async def test_a_write_that_left_something_else_is_put_to_people_after_a_crash() -> None:
    stage = stage_of(WRITE, DONE)
    agent = await running_when_the_process_died(stage, left=b"on")
    turn = await stage.turn(agent)
    assert (turn.state, agent.status) == ("interrupted", Awaiting())
    await stage.workspaces.of(agent).delete("a.txt")
    await stage.service.decisions.settle(turn.id, "run again", stage.origin(), shown=turn.control_hash)
    agent = await stage.wait_until_settled(agent)
    assert await stage.views.file(agent.channel, agent.id, "a.txt") == b"one\n"


@pytest.mark.parametrize(("settlement", "result"), [("it ran", Succeeded), ("skip", Interrupted)])
async def test_people_may_say_what_became_of_a_command(settlement: str, result: type) -> None:
    stage = stage_of(WRITE, DONE)
    agent = await running_when_the_process_died(stage, left=b"on")
    turn = await stage.turn(agent)
    _, settled = await stage.service.decisions.settle(turn.id, settlement, stage.origin(BEN), shown=turn.control_hash)  # type: ignore[arg-type]
    assert isinstance(settled.result, result)
    assert await stage.views.file(agent.channel, agent.id, "a.txt") == b"on"
    skipped = "Interrupted: it may have run in part. @ben said to go on without it."
    if settlement == "skip":
        assert settled.result
        assert text_of(settled.result) == skipped
        assert "skipped by @ben" in turn_card(agent, settled).standing
    else:
        assert settled.result == Succeeded("@ben says that it ran. Its output is lost.")


@pytest.mark.proves("lease:counts")
@pytest.mark.parametrize(("settlement", "left"), [("it ran", 2), ("skip", 2), ("run again", 2)])
async def test_an_interrupted_command_counts_among_those_that_were_approved(settlement: Settlement, left: int) -> None:
    stage = stage_of(WRITE, DONE)
    agent = await stage.create()
    await start_newest(stage, agent, times=3)
    await stage.workspaces.of(agent).write("a.txt", b"on")
    turn = await stage.turn(await stage.wait_until_settled(agent))
    assert turn.state == "interrupted"
    agent, _ = await stage.service.decisions.settle(turn.id, settlement, stage.origin(), shown=turn.control_hash)
    assert agent.lease
    assert agent.lease.left == left


async def test_a_command_that_only_reads_is_run_again_after_a_crash() -> None:
    stage = stage_of(NOTHING, DONE)
    agent = await running_when_the_process_died(stage)
    assert agent.turns == 2


@pytest.mark.proves("thread:gone")
async def test_a_thread_that_is_gone_pauses_the_agent_and_resume_opens_another() -> None:
    stage = stage_of(WRITE)
    stage.shown.faults.append(ThreadGone("The thread was deleted."))
    agent = await stage.create()
    assert isinstance(agent.status, Paused)
    assert stage.shown.losses == ["The thread was deleted. Resume makes a new thread."]
    await stage.service.lifecycle.resume(agent.id, stage.origin())
    agent = await stage.wait_until_settled(agent)
    assert (agent.turns, agent.thread is not None) == (1, True)


async def test_what_was_approved_before_the_thread_was_lost_runs_after_resume() -> None:
    stage = stage_of(WRITE, DONE)
    agent = await stage.create()
    await stage.decide(agent, Approve())
    stage.shown.faults.append(ThreadGone("The channel is archived."))
    agent = await stage.wait_until_settled(agent)
    assert isinstance(agent.status, Paused)
    await stage.service.lifecycle.resume(agent.id, stage.origin())
    agent = await stage.wait_until_settled(agent)
    assert await stage.views.file(agent.channel, agent.id, "a.txt") == b"one\n"


async def test_a_platform_that_is_busy_when_the_thread_is_to_be_opened_is_asked_again() -> None:
    stage = stage_of(WRITE)
    stage.shown.faults.append(SurfaceBusy("The platform asks to wait.", retry_after=1))
    agent = await stage.create()
    assert (agent.thread, agent.status) == (None, Thinking())
    assert (await stage.wait_until_settled(agent)).status == Awaiting()


async def test_a_surface_is_told_whether_a_card_may_stand_already() -> None:
    stage = stage_of(WRITE, DONE)
    agent = await stage.create()
    stage.shown.faults.append(SurfaceBusy("The platform asks to wait."))
    await stage.decide(agent, Approve())
    await stage.wait_until_settled(agent)
    await stage.wait_until_settled(agent)
    assert [state for _, state, may_exist in stage.shown.sent if not may_exist] == ["proposed", "proposed"]
    assert stage.shown.sent[1][1:] == ("running", True)


@pytest.mark.proves("stop:running")
async def test_stop_ends_a_running_command_at_once_and_asks_no_question() -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def endless(call: CommandCall, context: CommandContext, following: NextHook) -> Result:
        begun.set()
        try:
            return await asyncio.Future()
        finally:
            cancelled.set()

    stage = stage_of(WRITE, DONE, extensions=Extensions(hooks=(endless,)))
    agent = await stage.create()
    async with stage.run(), asyncio.timeout(PATIENCE_SECONDS):
        turn = await stage.decide(agent, Approve())
        await begun.wait()
        await stage.service.lifecycle.stop(agent.id, stage.origin(BEN))
        await cancelled.wait()
        await stage.shown.until(lambda surface: surface.cards[turn.id].state == "done")
    assert (await stage.turn(agent)).result == Interrupted(BEN)
    assert (await stage.views.agent(agent.channel, agent.id)).status == Stopped(BEN)
    assert await stage.views.files(agent.channel, agent.id) == ()


@pytest.mark.proves("reply:note")
async def test_a_note_from_before_the_first_turn_stays_in_later_prompts() -> None:
    stage = stage_of("no json", "no json", "no json", WRITE, DONE)
    agent = await stage.create()
    await stage.service.decisions.reply(agent.id, "Mind the umlauts", stage.origin())
    stage.fake_clock.advance(60)
    await stage.service.lifecycle.resume(agent.id, stage.origin())
    await approve(stage, await stage.wait_until_settled(agent))
    counts = [sum("Mind the umlauts" in message.content for message in prompt) for prompt in stage.script.prompts]
    assert counts == [0, 0, 0, 1, 1]
