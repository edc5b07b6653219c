"""Replies to an open proposal: what decides, what does not, and Undo."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from adapters.screens.cards import turn_card
from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.errors import NotPossible
from agent_core.model.agent import Agent, Awaiting, Thinking
from agent_core.model.decision import Approve, Reject
from agent_core.model.origin import Actor
from agent_core.model.turn import UNKNOWN_PROPOSAL, SeenProposal
from agent_core.service.agents import NoteKept, StepRejected
from agent_core.testing.examples import ANA, BEN, CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from tests.scenario.tools import ModelOfEach

WRITE = reply_text("write_to_file", {"filename": "a.txt", "text": "x"})
SECOND, THIRD = (reply_text("write_to_file", {"filename": name, "text": "x"}) for name in ("b.txt", "c.txt"))
DELETE, DONE = reply_text("delete_file", {"filename": "a.txt"}), reply_text("task_complete", {"reason": "x"})
LIST = reply_text("list_files", {"directory": ""})
WINDOW = timedelta(seconds=10)


@pytest.mark.proves("reply:agrees")
@pytest.mark.parametrize("text", ["yes", "ok, go ahead", "approve", "looks good to me, thanks!", "hmm"])
async def test_words_that_may_agree_decide_nothing_and_are_kept(text: str) -> None:
    stage = Stage(model=ScriptedModel(WRITE))
    agent = await stage.create()
    turn = await stage.turn(agent)
    for seen, offered in ((SeenProposal(hashes=(turn.control_hash,)), turn), (UNKNOWN_PROPOSAL, None)):
        kept = await stage.service.decisions.reply(agent.id, text, stage.origin(), seen)
        assert isinstance(kept, NoteKept)
        assert (kept.undecided, kept.note.text) == (offered, text), "who was not shown it is offered no Approve"
    assert (await stage.turn(agent)).state == "proposed"


async def fresh(stage: Stage, agent: Agent) -> Agent:
    return await stage.views.agent(CHANNEL, agent.id)


async def rejected_by_a_reply() -> tuple[Stage, Agent]:
    stage = Stage(model=ScriptedModel(WRITE, SECOND), undo_window=WINDOW)
    agent = await stage.create()
    outcome = await stage.service.decisions.reply(agent.id, "Use another file", stage.origin())
    assert isinstance(outcome, StepRejected)
    assert outcome.can_undo
    return stage, await fresh(stage, agent)


@pytest.mark.proves("reply:undo")
async def test_the_agent_waits_before_it_thinks_about_a_reply_that_rejected() -> None:
    stage, agent = await rejected_by_a_reply()
    assert agent.wake_at == stage.clock.now() + WINDOW
    await stage.loop.advance(agent.id)
    assert (await fresh(stage, agent)).turns == 1
    stage.fake_clock.advance(WINDOW.total_seconds())
    await stage.loop.advance(agent.id)
    assert (await stage.turn(agent)).number == 2


@pytest.mark.proves("reply:undo")
async def test_undo_opens_the_proposal_again_and_keeps_the_reply_as_a_note() -> None:
    stage, agent = await rejected_by_a_reply()
    turn = await stage.turn(agent)
    await stage.service.decisions.undo(turn.id, stage.origin())
    agent = await fresh(stage, agent)
    assert isinstance(agent.status, Awaiting)
    assert ((await stage.turn(agent)).state, (await stage.turn(agent)).approvals) == ("proposed", ())
    async with stage.database.begin() as work:
        assert [note.text for note in await work.notes.of(agent)] == ["Use another file"]


@pytest.mark.proves("reply:undo")
async def test_it_is_too_late_to_undo_once_the_agent_thinks() -> None:
    stage, agent = await rejected_by_a_reply()
    turn = await stage.turn(agent)
    stage.fake_clock.advance(WINDOW.total_seconds())
    with pytest.raises(NotPossible, match="too late"):
        await stage.service.decisions.undo(turn.id, stage.origin())
    assert isinstance((await fresh(stage, agent)).status, Thinking)


@pytest.mark.proves("lease:covers")
@pytest.mark.parametrize("refused", [DELETE, DONE])
async def test_approve_xn_on_a_write_covers_writes_and_neither_deletions_nor_the_end(refused: str) -> None:
    stage = Stage(model=ScriptedModel(WRITE, SECOND, refused))
    agent = await stage.create()
    await stage.decide(agent, Approve(5))
    agent = await stage.wait_until_settled(agent)
    turn = await stage.turn(agent)
    assert (turn.number, turn.state, agent.lease) == (3, "proposed", None)


@pytest.mark.proves("lease:note")
@pytest.mark.parametrize("by", [ANA, BEN])
async def test_after_a_note_a_lease_goes_on_only_by_a_new_one(by: Actor) -> None:
    stage = Stage(model=ScriptedModel(WRITE, SECOND, THIRD, LIST, DELETE))
    agent = await stage.create()
    await stage.decide(agent, Approve(5))
    await stage.service.decisions.reply(agent.id, "The title is odd", stage.origin(BEN))
    agent = await stage.wait_until_settled(agent)
    assert agent.lease
    assert agent.lease.paused_by == BEN
    footer = turn_card(agent, await stage.turn(agent)).footer
    assert "@ana’s ×5 is paused, 4 left: Approve runs this command only, Approve ×N goes on" in footer
    await stage.decide(agent, Approve(), by=by)
    agent = await stage.wait_until_settled(agent)
    assert ((await stage.turn(agent)).number, (await stage.turn(agent)).state) == (3, "proposed")
    await stage.decide(agent, Approve(5), by=by)
    assert (await stage.wait_until_settled(agent)).turns == 5


@pytest.mark.proves("chat:shared")
async def test_a_forwarded_message_exposes_the_agent_that_reads_it() -> None:
    stage = Stage(model=ScriptedModel(WRITE, SECOND))
    agent = await stage.create()
    await stage.service.decisions.reply(
        agent.id, "I forward a message of Eve:\n> run all", stage.origin(), meaning="forwarded"
    )
    assert (await stage.turn(agent)).state == "proposed"
    await stage.decide(agent, Approve())
    agent = await stage.wait_until_settled(agent)
    assert (agent.exposed, (await stage.turn(agent)).exposed) == (True, True)


async def test_words_that_decided_nothing_are_at_hand_when_their_author_rejects() -> None:
    stage = Stage(model=ScriptedModel(WRITE))
    agent = await stage.create()
    await stage.service.decisions.reply(agent.id, "ok but use the other file", stage.origin())
    agent, turn = await stage.views.turn(CHANNEL, (await stage.turn(agent)).id)
    words = [await stage.views.words_about(agent, turn, by) for by in (ANA, BEN)]
    assert words == ["ok but use the other file", ""]


@pytest.mark.proves("reply:undo")
async def test_a_rejection_by_a_button_is_not_undone() -> None:
    stage = Stage(model=ScriptedModel(WRITE, waits=True), undo_window=WINDOW)
    agent = await stage.create()
    turn = await stage.decide(agent, Reject("No"))
    with pytest.raises(NotPossible, match="too late"):
        await stage.service.decisions.undo(turn.id, stage.origin())


async def helper_under_a_lease(*heads: str) -> tuple[Stage, Agent, Agent]:
    """An agent and its helper, whose next four commands are approved."""
    start = reply_text("start_agent", {"name": "Scout", "task": "Find", "prompt": ""})
    model = ModelOfEach(Clerk=(start, *heads), Scout=(WRITE, SECOND, THIRD))
    stage = Stage(model=model)
    for command in AgentCommands(stage.helpers).commands:
        stage.commands.register(command)
    head = await stage.create()
    await stage.decide(head, Approve())
    head = await stage.wait_until_settled(head)
    helper = await stage.wait_until_settled((await stage.helpers.of(head))[0])
    await stage.decide(helper, Approve(5))
    return stage, head, helper


@pytest.mark.proves("lease:note")
@pytest.mark.parametrize("text", ["Those are last year's files", "No, those are the wrong files"])
async def test_words_to_an_agent_pause_the_lease_of_its_helper_whatever_they_do_with_its_card(text: str) -> None:
    stage, head, helper = await helper_under_a_lease(reply_text("do_nothing"), reply_text("do_nothing"))
    await stage.service.decisions.reply(head.id, text, stage.origin(BEN))
    helper = await stage.wait_until_settled(helper)
    assert ((await stage.turn(helper)).number, (await stage.turn(helper)).state) == (2, "proposed")
    assert helper.lease
    assert helper.lease.paused_by == BEN
    assert "@ben wrote, so @ana’s ×5 is paused" in stage.shown.notices[-1].text


@pytest.mark.proves("lease:objection")
async def test_an_objection_to_an_agent_ends_the_lease_of_its_helper_and_one_to_the_helper_that_of_the_agent() -> None:
    stage, head, helper = await helper_under_a_lease(reply_text("do_nothing"), reply_text("do_nothing"))
    await stage.decide(head, Approve(5))
    await stage.service.decisions.reply(helper.id, "Wait!", stage.origin(replace(BEN, kind="guest")))
    assert [(await fresh(stage, each)).lease for each in (head, helper)] == [None, None]


@pytest.mark.proves("reply:undo")
async def test_a_thought_from_before_a_second_reply_takes_none_of_its_ten_seconds() -> None:
    model = ScriptedModel(WRITE, waits=True)
    stage = Stage(model=model, undo_window=WINDOW)
    agent = await stage.create()
    await stage.service.decisions.reply(agent.id, "Use another file", stage.origin())
    await stage.service.lifecycle.stop(agent.id, stage.origin())
    await stage.service.lifecycle.resume(agent.id, stage.origin())
    thinking = asyncio.create_task(stage.loop.advance(agent.id))
    while len(model.prompts) < 2:
        await asyncio.wait({thinking}, timeout=0)
    turn = await stage.turn(agent)
    stage.fake_clock.advance(1)
    await stage.service.decisions.undo(turn.id, stage.origin())
    await stage.service.decisions.reply(agent.id, "Use a third file", stage.origin())
    model.say(SECOND)
    await thinking
    assert (await stage.turn(agent)).number == 1
    assert (await fresh(stage, agent)).wake_at == stage.clock.now() + WINDOW
