"""A listener's work that fails ends in one sentence for the person who asked."""

import logging

import pytest

from adapters.chat.background import BackgroundTasks
from adapters.chat.refusals import NOT_FOUND, RefusedAction, attempt, redraw_if_outdated
from adapters.chat.services import ChatServices
from adapters.screens.buttons import Button
from adapters.screens.ui_text import AWAY, MAYBE_SAVED, WENT_WRONG
from agent_core.errors import (
    ChangedSinceShown,
    CommandError,
    CommitUnknown,
    DatabaseAway,
    NotFound,
    NotPossible,
    SignoffError,
    SurfaceError,
)
from agent_core.model.agent import Agent
from agent_core.model.decision import Approve
from agent_core.model.turn import Turn
from agent_core.service.housekeeping.inbound_log import InboundLog
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from tests.wiring import actions_of


async def fail(error: Exception) -> str:
    raise error


async def succeed() -> str:
    return "done"


async def test_work_that_succeeds_returns_its_answer() -> None:
    assert await attempt(succeed()) == "done"


@pytest.mark.parametrize("error", [NotPossible("It rests."), CommandError("No such file."), SurfaceError("Locked.")])
async def test_an_expected_error_is_its_own_sentence(error: SignoffError) -> None:
    refusal = await attempt(fail(error))
    assert isinstance(refusal, RefusedAction)
    assert (refusal.text, refusal.error, refusal.on_card) == (str(error), error, str(error))


async def test_an_unexpected_error_is_logged_and_its_text_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        refusal = await attempt(fail(RuntimeError("password=hunter2")))
    assert isinstance(refusal, RefusedAction)
    assert refusal.text == WENT_WRONG
    assert [record.exc_info is not None for record in caplog.records] == [True]


@pytest.mark.parametrize(("error", "said"), [(DatabaseAway("away"), AWAY), (CommitUnknown("lost"), MAYBE_SAVED)])
async def test_what_may_have_been_saved_is_not_called_undone(error: SignoffError, said: str) -> None:
    refusal = await attempt(fail(error))
    assert isinstance(refusal, RefusedAction)
    assert refusal.text == said


async def test_a_card_of_a_deleted_agent_says_that_it_was_deleted() -> None:
    refusal = await attempt(fail(NotFound("turn", "turn-1")))
    assert isinstance(refusal, RefusedAction)
    assert refusal.on_card == NOT_FOUND


async def test_a_card_that_changes_while_it_is_redrawn_is_drawn_as_it_is_then() -> None:
    """The loop may have shown the new state before the older one arrived."""
    stage = Stage(model=ScriptedModel(reply_text("write_to_file", {"filename": "a.txt", "text": "A"})))
    agent = await stage.create()
    turn, drawn = await stage.turn(agent), list[str]()
    context = ChatServices(
        actions=actions_of(stage),
        service=stage.service,
        views=stage.views,
        drafting=stage.drafting,
        uploads=stage.uploads,
        tour=stage.tour,
        inbound_log=InboundLog(stage.database, stage.clock),
        soon=BackgroundTasks(),
        clock=stage.clock,
    )

    async def draw(_agent: Agent, as_read: Turn) -> None:
        if not drawn:
            await stage.decide(agent, Approve())
        drawn.append(as_read.state)

    with pytest.raises(ChangedSinceShown):
        async with redraw_if_outdated(Button("approve", turn.id), stage.origin(), context, draw):
            raise ChangedSinceShown(turn.number, "")
    await context.soon.close()
    assert drawn == ["proposed", "approved"]
