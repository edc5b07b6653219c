"""Search for words in stored agents, turns and notes, and for what an agent's records tell of one file."""

from collections.abc import Sequence
from typing import Protocol

from agent_core.model.agent import Agent
from agent_core.model.note import Note
from agent_core.model.origin import ChannelScope
from agent_core.model.turn import Turn


class TextSearch(Protocol):
    """Records of some channels that contain all of some words: the `most` newest.

    `words` are folded (`agent_core.model.records.text_search`); without words every record is found. `before`: only
    records with a lower id, "" for all. Records that a newer release saved in a form that this one does not know are not
    found. The searches for words raise SearchTooLong after ten seconds.
    """

    async def agents(
        self, channels: Sequence[ChannelScope], words: Sequence[str], *, before: str = "", most: int
    ) -> tuple[Agent, ...]:
        """Agents by name, role and goals."""

    async def turns(
        self, channels: Sequence[ChannelScope], words: Sequence[str], *, before: str = "", most: int
    ) -> tuple[Turn, ...]:
        """Turns by command, arguments, thoughts, result, reason and self-review. What their card shows is left out."""

    async def notes(
        self, channels: Sequence[ChannelScope], words: Sequence[str], *, before: str = "", most: int
    ) -> tuple[Note, ...]:
        """Notes by text and author."""

    async def turns_changing(self, agent: Agent, path: str, *, among: int, most: int) -> tuple[tuple[Turn, ...], bool]:
        """The agent's turns that changed the file (`model.file_changes`), among its newest `among` turns.

        `path`: normalised. `most`: of how many turns that may have changed it a database looks at the record. Also
        return whether there may be more.
        """

    async def notes_adding(self, agent: Agent, path: str, *, most: int) -> tuple[tuple[Note, ...], bool]:
        """The newest `most` notes of people who put this file into the workspace; whether there may be more."""
