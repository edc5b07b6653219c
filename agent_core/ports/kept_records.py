"""Agents and turns that one unit of work leaves to a later one, so that they need not be read again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

from agent_core.model.agent import Agent
from agent_core.model.turn import Turn

R = TypeVar("R", Agent, Turn)


@dataclass(frozen=True, slots=True)
class KeptRecord(Generic[R]):
    """A record as a commit left it, or as it was read.

    `revision`: by which the database tells whether it was changed since. `unknown`: what a newer release saved in it.
    """

    record: R
    revision: int
    unknown: object = None


Kept: TypeAlias = Mapping[str, KeptRecord[R]]


class KeepsRecords(Protocol[R]):
    """A repository whose records a later unit of work can take over."""

    def keep(self) -> Kept[R]:
        """The records that this unit of work has read, added or saved, as its commit will leave them."""

    def reuse(self, kept: Kept[R]) -> None:
        """Take these records as read: reading one by its id asks no database.

        A commit that saves one which was changed meanwhile raises Conflict, as if it had been read before that change.
        """
