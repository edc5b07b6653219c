"""What a tool server asks people during a call, and their answer. All texts of a question are the server's."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from agent_core.model.actors import Actor
from agent_core.model.question_field import QuestionField


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerQuestion:
    """What a server asks people during a call, as they are shown it."""

    message: str
    fields: tuple[QuestionField, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question on the turn of its call. `id`: the hash that its buttons and forms carry.

    `server`, `place`: who asks, and to where the answer goes, in the operator's words.
    `answered_by`, `answered_at`, `is_declined`, `written`: the first answer, after which there is no other.
    `written`: what was filled in, by the number of the field; "" for what was left out, () if it was declined.
    """

    id: str
    server: str
    place: str
    question: ServerQuestion
    at: datetime
    answered_by: Actor | None = None
    answered_at: datetime | None = None
    is_declined: bool = False
    written: tuple[str, ...] = ()

    def answer(self, by: Actor, at: datetime, *written: str) -> Self:
        """The question with its answer, of which each field was checked."""
        return replace(self, answered_by=by, answered_at=at, written=written)

    def decline(self, by: Actor, at: datetime) -> Self:
        return replace(self, answered_by=by, answered_at=at, is_declined=True)

    def without_texts(self) -> Self:
        """Who answered, without what was asked and written: for a turn whose call has ended."""
        return replace(self, question=ServerQuestion(message=""), written=())
