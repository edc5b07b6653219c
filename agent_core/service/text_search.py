"""Search by people over agents, names of files, turns and notes, within about a second. Read-only.

It reads stored records slice by slice, newest first, until it has found enough or its time is over; a page says how far
it came, and the next one goes on from there.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeAlias

from agent_core.errors import CommandError, NotFound, UnreadableRecord
from agent_core.model.agent import Agent
from agent_core.model.channels import ChannelScope
from agent_core.model.files import FileEntry
from agent_core.model.ids import AgentId, time_of
from agent_core.model.note import Note
from agent_core.model.text_search import Excerpt, LabelledText, beginnings_of, excerpt_of, has_all, texts_of
from agent_core.model.turn import Turn
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork
from agent_core.ports.files import Workspaces
from agent_core.ports.text_search import Record, SearchSlice

MAX_FOUND, MAX_AGENTS_FOUND, MAX_FILES_FOUND, MAX_FOLDERS = 50, 10, 10, 50
FIRST_SLICE, MAX_SLICE = 250, 4_000  # records; the first is small because frequent words are found at once
AGENTS_UNTIL, FILES_UNTIL, TURNS_UNTIL, NOTES_UNTIL, EXCERPTS_UNTIL = (
    timedelta(seconds=seconds) for seconds in (0.15, 0.25, 0.75, 0.85, 1)
)
TURNS_AROUND = 25  # later turns on the page to which a link to an old turn leads
Found: TypeAlias = Agent | FileEntry | Turn | Note


class _Read(Protocol[Record]):
    """Reads one slice."""

    def __call__(
        self, work: UnitOfWork, channels: Sequence[ChannelScope], words: Sequence[str], before: str, most: int, /
    ) -> Awaitable[SearchSlice[Record]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """What was found, and in which agent's thread or workspace.

    `before`: the turn number to pass for the page of the thread that has it; None for the newest page.
    """

    agent: Agent
    found: Found
    at: datetime
    excerpt: Excerpt
    before: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    """What one search found, newest first. `entries` are turns and notes.

    `agents` and `files` have one more than MAX_AGENTS_FOUND and MAX_FILES_FOUND if there are more.

    `folders`: in how many workspaces names of files were searched.
    `earlier`: the value of `before` that continues with older turns and notes, "" if there are none.
    """

    agents: tuple[Hit, ...] = ()
    files: tuple[Hit, ...] = ()
    entries: tuple[Hit, ...] = ()
    folders: int = 0
    earlier: str = ""

    @property
    def searched_since(self) -> datetime | None:
        """From when on turns and notes were searched; None if all were, or at least those before this page."""
        return time_of(self.earlier) if self.earlier else None

    @property
    def is_empty(self) -> bool:
        return not (self.agents or self.files or self.entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scan(Generic[Record]):
    """What the slices read so far found. `up_to`: the id of the oldest examined record, "" if none is left."""

    found: tuple[Record, ...] = ()
    up_to: str = ""

    def then(self, part: SearchSlice[Record]) -> "_Scan[Record]":
        """With the next slice."""
        return _Scan(found=self.found + part.found, up_to=part.up_to)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSearches:
    """Searches in the channels that it is given: which ones a person may see is up to the surface."""

    database: Database
    workspaces: Workspaces
    clock: Clock

    async def find(self, channels: Sequence[ChannelScope], words: Sequence[str], *, before: str = "") -> SearchPage:
        """What has all of these folded words. `before`: only turns and notes with a lower id, no agents and files."""
        if not words or not channels:
            return SearchPage()
        return await _Search(self, tuple(channels), tuple(words), before, self.clock.now()).run()


@dataclass(frozen=True, slots=True)
class _Search:
    """One search that began at a time."""

    searches: TextSearches
    channels: tuple[ChannelScope, ...]
    words: tuple[str, ...]
    before: str
    begun: datetime

    async def run(self) -> SearchPage:
        agents: _Scan[Agent] = _Scan()
        files, folders = list[Hit](), 0
        if not self.before:
            agents = await self._scan(_read_agents, AGENTS_UNTIL)
            files, folders = await self._files()
        turns = await self._scan(_read_turns, TURNS_UNTIL)
        notes = await self._scan(_read_notes, NOTES_UNTIL, down_to=turns.up_to)
        entries, earlier = _newest(turns, notes)
        return SearchPage(
            agents=tuple(
                [await self._hit(each, each, each.created_at) for each in agents.found[: MAX_AGENTS_FOUND + 1]]
            ),
            files=tuple(files[: MAX_FILES_FOUND + 1]),
            entries=tuple(await self._hits(entries)),
            folders=folders,
            earlier=earlier,
        )

    def _is_over(self, limit: timedelta) -> bool:
        return self.searches.clock.now() - self.begun >= limit

    async def _scan(self, read: _Read[Record], limit: timedelta, *, down_to: str = "") -> _Scan[Record]:
        """Slice after slice, until enough was found, the records with ids above `down_to` are read, or time is over."""
        scan: _Scan[Record] = _Scan(up_to=self.before)
        size = FIRST_SLICE
        while True:
            async with self.searches.database.begin() as work:
                part = await read(work, self.channels, self.words, scan.up_to, size)
            scan = scan.then(part)
            if scan.up_to <= down_to or len(scan.found) > MAX_FOUND or self._is_over(limit):
                return scan
            size = min(4 * part.most, MAX_SLICE) if part.most == size else part.most

    async def _files(self) -> tuple[list[Hit], int]:
        """Files of the newest agents whose path has the words, newest first, and in how many folders was looked."""
        async with self.searches.database.begin() as work:
            newest = await work.text_search.agents(self.channels, (), before="", most=FIRST_SLICE)
        hits: list[Hit] = []
        left = self.begun + FILES_UNTIL - self.searches.clock.now()
        folders = [agent for agent in newest.found if agent.head is None][:MAX_FOLDERS]
        listed = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(max(left.total_seconds(), 0)):
                for agent in folders:
                    hits += await self._files_of(agent)
                    listed += 1
        return _by_time(hits), listed

    async def _files_of(self, agent: Agent) -> list[Hit]:
        """The agent's files whose path has the words; none if its workspace cannot be read."""
        try:
            listed = await self.searches.workspaces.of(agent).list_files()
        except CommandError:
            return []
        named = (each for each in listed if has_all((LabelledText("file", each.path),), self.words))
        return [await self._hit(agent, each, each.changed_at) for each in named]

    async def _hits(self, entries: Sequence[Turn | Note]) -> list[Hit]:
        """The entries with their agents; without those whose agent was deleted meanwhile."""
        hits: list[Hit] = []
        async with self.searches.database.begin() as work:
            agents: dict[AgentId, Agent] = {}
            for entry in entries:
                with suppress(NotFound, UnreadableRecord):
                    agent = agents.get(entry.agent_id) or await work.agents.get(entry.channel, entry.agent_id)
                    agents[agent.id] = agent
                    before = _page_of(agent, await _number_of(work, entry))
                    at = entry.at if isinstance(entry, Note) else entry.proposed_at
                    hits.append(await self._hit(agent, entry, at, before))
        return hits

    async def _hit(self, agent: Agent, found: Found, at: datetime, before: int | None = None) -> Hit:
        """The hit with its excerpt: of the beginnings of its texts alone if time is over."""
        texts = (LabelledText("file", found.path),) if isinstance(found, FileEntry) else texts_of(found)
        if self._is_over(EXCERPTS_UNTIL):
            texts = beginnings_of(texts)
        excerpt = await asyncio.to_thread(excerpt_of, texts, self.words)
        return Hit(agent=agent, found=found, at=at, excerpt=excerpt, before=before)


async def _read_agents(
    work: UnitOfWork, channels: Sequence[ChannelScope], words: Sequence[str], before: str, most: int
) -> SearchSlice[Agent]:
    return await work.text_search.agents(channels, words, before=before, most=most)


async def _read_turns(
    work: UnitOfWork, channels: Sequence[ChannelScope], words: Sequence[str], before: str, most: int
) -> SearchSlice[Turn]:
    return await work.text_search.turns(channels, words, before=before, most=most)


async def _read_notes(
    work: UnitOfWork, channels: Sequence[ChannelScope], words: Sequence[str], before: str, most: int
) -> SearchSlice[Note]:
    return await work.text_search.notes(channels, words, before=before, most=most)


async def _number_of(work: UnitOfWork, entry: Turn | Note) -> int | None:
    """The number of a turn, or of the turn that read a note; None for a note that none has read."""
    if isinstance(entry, Turn):
        return entry.number
    return (await work.turns.get(entry.channel, entry.taken_into)).number if entry.taken_into else None


def _page_of(agent: Agent, number: int | None) -> int | None:
    last = agent.turns if number is None else number + TURNS_AROUND
    return last if last < agent.turns else None


def _newest(turns: _Scan[Turn], notes: _Scan[Note]) -> tuple[list[Turn | Note], str]:
    """The newest entries down to where both kinds were read, and where to go on."""
    up_to = max(turns.up_to, notes.up_to)
    both: list[Turn | Note] = [*turns.found, *notes.found]
    entries = sorted((entry for entry in both if entry.id >= up_to), key=lambda entry: entry.id, reverse=True)
    if len(entries) <= MAX_FOUND:
        return entries, up_to
    return entries[:MAX_FOUND], entries[MAX_FOUND - 1].id


def _by_time(hits: list[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: hit.at, reverse=True)
