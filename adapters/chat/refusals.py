"""The refusals that a listener shows to a person whose click, form, command or message could not be carried out."""

import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from agent_core.errors import CommandError, NotFound, PersonError, SurfaceError

T = TypeVar("T")
logger = logging.getLogger(__name__)

WENT_WRONG = "Something went wrong inside Signoff; see its log. Nothing was decided: try again."
NOT_FOUND = "This belongs to an agent that was deleted, or to another channel."


@dataclass(frozen=True, slots=True)
class RefusedAction:
    """The sentence for the person, and the error behind it."""

    text: str
    error: Exception

    @property
    def on_card(self) -> str:
        """The sentence for a person who clicked on a card; the card's agent may be deleted."""
        return NOT_FOUND if isinstance(self.error, NotFound) else self.text


async def attempt(work: Awaitable[T]) -> T | RefusedAction:
    """Return the result of the work, or the refusal if it raises. Unexpected errors are logged."""
    try:
        return await work
    except (PersonError, CommandError) as error:
        return RefusedAction(str(error), error)
    except SurfaceError as error:
        logger.warning("platform fault", extra={"fault": type(error).__name__, "why": str(error)[:300]})
        return RefusedAction(str(error), error)
    except Exception as error:
        logger.exception("listener failed")
        return RefusedAction(WENT_WRONG, error)
