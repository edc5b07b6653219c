"""Search in the in-memory database."""

from collections.abc import Iterable, Sequence

from agent_core.model.agent import Agent
from agent_core.model.channels import ChannelScope
from agent_core.model.file_changes import changes_file
from agent_core.model.note import Note
from agent_core.model.text_search import has_all, texts_of
from agent_core.model.turn import Turn
from agent_core.ports.text_search import Record, SearchSlice
from agent_core.testing.store import StoredRow
from agent_core.testing.store_buffer import StoreRepository


class MemoryTextSearch(StoreRepository):
    """See `TextSearch` in the ports."""

    async def agents(
        self, channels: Sequence[ChannelScope], words: Sequence[str], *, before: str, most: int
    ) -> SearchSlice[Agent]:
        return _search(_in(channels, self._buffer.committed.agents.values(), before), words, most)

    async def turns(
        self, channels: Sequence[ChannelScope], words: Sequence[str], *, before: str, most: int
    ) -> SearchSlice[Turn]:
        return _search(_in(channels, self._buffer.committed.turns.values(), before), words, most)

    async def notes(
        self, channels: Sequence[ChannelScope], words: Sequence[str], *, before: str, most: int
    ) -> SearchSlice[Note]:
        return _search(_in(channels, self._buffer.committed.notes.values(), before), words, most)

    async def turns_changing(self, agent: Agent, path: str, *, among: int, most: int) -> SearchSlice[Turn]:
        newest = [turn for turn in self._turns_of(agent) if turn.number > agent.turns - among]
        found = [turn for turn in newest if changes_file(turn, path)]
        return SearchSlice(tuple(found[:most]), found[most - 1].id if len(found) >= most else "", most)

    async def notes_adding(self, agent: Agent, path: str, *, most: int) -> SearchSlice[Note]:
        rows = self._buffer.committed.notes.values()
        notes = (row.value for row in rows if row.value.agent_id == agent.id and row.value.channel == agent.channel)
        found = sorted((note for note in notes if note.file == path), key=lambda note: (note.at, note.id), reverse=True)
        return SearchSlice(tuple(found[:most]), found[most - 1].id if len(found) >= most else "", most)

    def _turns_of(self, agent: Agent) -> list[Turn]:
        """The agent's turns, newest first."""
        turns = (row.value for row in self._buffer.committed.turns.values())
        own = (turn for turn in turns if turn.agent_id == agent.id and turn.channel == agent.channel)
        return sorted(own, key=lambda turn: turn.number, reverse=True)


def _in(channels: Sequence[ChannelScope], rows: Iterable[StoredRow[Record]], before: str) -> list[Record]:
    """The records of these channels, newest first."""
    values = (row.value for row in rows if row.value.channel in channels)
    older = [value for value in values if not before or value.id < before]
    return sorted(older, key=lambda value: value.id, reverse=True)


def _search(records: Sequence[Record], words: Sequence[str], most: int) -> SearchSlice[Record]:
    examined = records[:most]
    found = tuple(record for record in examined if has_all(texts_of(record), words))
    return SearchSlice(found, examined[-1].id if len(examined) == most else "", most)
