"""Search for words in stored agents, turns and notes, and for what an agent's records tell of one file."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from agent_core.model.agent import Agent
from agent_core.model.channels import ChannelScope
from agent_core.model.note import Note
from agent_core.model.turn import Turn

Record = TypeVar("Record", Agent, Turn, Note)


@dataclass(frozen=True, slots=True)
class SearchSlice(Generic[Record]):
    """The records with all the words, newest first, among those with the id `up_to` or a higher one.

    `up_to` is "" if there are no older records. `most`: about how many records were read, which are fewer than asked
    for where they are long.
    """

    found: tuple[Record, ...]
    up_to: str
    most: int


class TextSearch(Protocol):
    """Records of some channels that contain all of some words, one slice of records at a time, newest first.

    `words` are folded (`agent_core.model.text_search`); without words every record is found. `before`: only records
    with a lower id, "" for all. `most`: about how many records are read, of which a database may count those of other
    channels too. A slice takes a fraction of a second: of long records fewer are read, but at least one. Records that a
    newer release saved in a form that this one does not know are not found.
    """

    async def agents(
        self, channels: Sequence[ChannelScope], words: Sequence[str], *, before: str, most: int
    ) -> SearchSlice[Agent]:
        """Agents by name, role and goals."""

    async def turns(
        self, channels: Sequence[ChannelScope], words: Sequence[str], *, before: str, most: int
    ) -> SearchSlice[Turn]:
        """Turns by command, arguments, thoughts, result, reason and self-review. What their card shows is left out."""

    async def notes(
        self, channels: Sequence[ChannelScope], words: Sequence[str], *, before: str, most: int
    ) -> SearchSlice[Note]:
        """Notes by text and author."""

    async def turns_changing(self, agent: Agent, path: str, *, among: int, most: int) -> SearchSlice[Turn]:
        """The agent's turns that changed the file (`model.file_changes`), among its newest `among` turns.

        `path`: normalised. `most`: of how many turns that may have changed it a database looks at the record.
        """

    async def notes_adding(self, agent: Agent, path: str, *, most: int) -> SearchSlice[Note]:
        """The newest `most` notes of people who put the file of this path into the agent's workspace."""
