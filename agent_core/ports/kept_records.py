"""An agent and its newest turn, which one unit of work leaves to a later one, so that it need not read them again."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
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


def newest_turn(turns: Iterable[Turn], agent_id: AgentId) -> Turn | None:
    """The newest of these turns that is one of the agent's, or None."""
    return max((turn for turn in turns if turn.agent_id == agent_id), key=lambda turn: turn.number, default=None)


class KeepsRecords(Protocol[R]):
    """A repository whose records a later unit of work can take over."""

    def keep(self, agent_id: AgentId) -> Kept[R]:
        """The agent, or its newest turn, that this unit of work has read, added or saved, as its commit will leave it.

        Empty if there is none, or if only the database knows what the commit leaves.
        """

    def reuse(self, kept: Kept[R]) -> None:
        """Take these records as read: reading one by its id asks no database.

        A commit that saves one which was changed meanwhile raises Conflict, as if it had been read before that change.
        """
