"""Messages that a platform refuses for good: the agent goes on without them, and nothing is tried over and over."""

import pytest

from agent_core.errors import SurfaceError
from agent_core.model.agent import Agent, Awaiting, Paused
from agent_core.model.decision import Approve, Reject
from agent_core.model.turn import SeenProposal
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage

WRITE = reply_text("write_to_file", {"filename": "a.txt", "text": "one\n"})
DONE = reply_text("task_complete", {"reason": "All is written."})
REFUSED = SurfaceError("The platform refused: msg_too_long.")


async def has_work(stage: Stage, agent: Agent) -> bool:
    async with stage.database.begin() as work:
        return agent.id in await work.agents.due(("web",), stage.clock.now())


@pytest.mark.proves("card:refused")
async def test_a_decision_is_carried_out_though_its_card_is_refused_and_the_thread_is_told() -> None:
    stage = Stage(model=ScriptedModel(WRITE, DONE))
    agent = await stage.create()
    await stage.decide(agent, Approve())
    stage.shown.faults.append(REFUSED)
    agent = await stage.wait_until_settled(agent)
    assert await stage.views.file(agent.channel, agent.id, "a.txt") == b"one\n"
    assert (agent.status, agent.turns) == (Awaiting(), 2)
    assert "turn 1 (write_to_file) could not be shown. The platform refused" in stage.shown.notices[0].text
    assert not await has_work(stage, agent)


async def test_a_proposal_that_could_not_be_shown_can_be_rejected_but_not_approved_unseen() -> None:
    stage = Stage(model=ScriptedModel(WRITE, DONE))
    agent = await stage.create()
    await stage.decide(agent, Reject("Use b.txt."))
    stage.shown.faults.extend([REFUSED, REFUSED, REFUSED])  # the card of turn 1, its notice, the card of turn 2
    agent = await stage.wait_until_settled(agent)
    turn = await stage.turn(agent)
    seen = SeenProposal(written_at=stage.clock.now())
    assert (agent.status, turn.id in stage.shown.cards, await has_work(stage, agent)) == (Awaiting(), False, False)
    assert "It needs approval: reply" in stage.shown.notices[-1].text
    assert (seen.covers(turn), seen.follows(turn)) == (False, True)


async def test_a_notice_that_is_refused_too_is_not_tried_again() -> None:
    stage = Stage(model=ScriptedModel(WRITE, DONE))
    agent = await stage.create()
    await stage.decide(agent, Approve())
    stage.shown.faults.extend([REFUSED, REFUSED])
    agent = await stage.wait_until_settled(agent)
    assert (agent.status, stage.shown.notices, await has_work(stage, agent)) == (Awaiting(), [], False)


async def test_a_thread_that_the_platform_refuses_to_open_pauses_the_agent_with_the_reason() -> None:
    stage = Stage(model=ScriptedModel(WRITE))
    stage.shown.faults.append(REFUSED)
    agent = await stage.create()
    assert agent.status == Paused("The platform refused: msg_too_long. Resume makes a new thread.")
    await stage.wait_until_settled(agent)
    assert not await has_work(stage, agent)
