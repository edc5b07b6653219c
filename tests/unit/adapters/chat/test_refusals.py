"""A listener's work that fails ends in one sentence for the person who asked."""

import logging

import pytest

from adapters.chat.refusals import NOT_FOUND, RefusedAction, attempt
from adapters.fault_text import AWAY, MAYBE_SAVED, WENT_WRONG
from agent_core.errors import (
    CommandError,
    CommitUnknown,
    DatabaseAway,
    NotFound,
    NotPossible,
    SignoffError,
    SurfaceError,
)


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
