"""Search by people over agents, names of files, turns and notes. Read-only."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from agent_core.errors import CommandError, NotFound, SearchTooLong, UnreadableRecord
from agent_core.model.agent import Agent
from agent_core.model.files import FileEntry
from agent_core.model.ids import AgentId, time_of
from agent_core.model.note import Note
from agent_core.model.origin import ChannelScope
from agent_core.model.records.text_search import Excerpt, LabelledText, excerpt_of, has_all, texts_of
from agent_core.model.turn import Turn
from agent_core.ports.database import Database, UnitOfWork
from agent_core.ports.files import Workspaces

MAX_FOUND, MAX_AGENTS_FOUND, MAX_FILES_FOUND, MAX_FOLDERS = 50, 10, 10, 50
NEWEST_AGENTS = 250  # among which those with a folder are
FILES_SECONDS = 0.25
TURNS_AROUND = 25  # later turns on the page to which a link to an old turn leads
Found: TypeAlias = Agent | FileEntry | Turn | Note


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
    `ended`: why the search was ended before it was done, or "".
    """

    agents: tuple[Hit, ...] = ()
    files: tuple[Hit, ...] = ()
    entries: tuple[Hit, ...] = ()
    folders: int = 0
    earlier: str = ""
    ended: str = ""

    @property
    def searched_since(self) -> datetime | None:
        """From when on turns and notes were searched; None if all were, or at least those before this page."""
        return time_of(self.earlier) if self.earlier else None

    @property
    def is_empty(self) -> bool:
        return not (self.agents or self.files or self.entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSearches:
    """Searches in the channels that it is given: which ones a person may see is up to the surface."""

    database: Database
    workspaces: Workspaces

    async def find(self, channels: Sequence[ChannelScope], words: Sequence[str], *, before: str = "") -> SearchPage:
        """What has all of these folded words. `before`: only turns and notes with a lower id, no agents and files."""
        if not words or not channels:
            return SearchPage()
        try:
            return await self._find(channels, words, before)
        except SearchTooLong as fault:
            return SearchPage(ended=str(fault))

    async def _find(self, channels: Sequence[ChannelScope], words: Sequence[str], before: str) -> SearchPage:
        agents, files, folders = list[Hit](), list[Hit](), 0
        async with self.database.begin() as work:
            search = work.text_search
            if not before:
                found = await search.agents(channels, words, most=MAX_AGENTS_FOUND + 1)
                agents = [await _hit(each, each, each.created_at, words) for each in found]
                files, folders = await self._files(await search.agents(channels, (), most=NEWEST_AGENTS), words)
            turns = await search.turns(channels, words, before=before, most=MAX_FOUND + 1)
            notes = await search.notes(channels, words, before=before, most=MAX_FOUND + 1)
            both: list[Turn | Note] = [*turns, *notes]
            both.sort(key=lambda entry: entry.id, reverse=True)
            entries = await _hits(work, both[:MAX_FOUND], words)
        return SearchPage(
            agents=tuple(agents),
            files=tuple(files[: MAX_FILES_FOUND + 1]),
            entries=tuple(entries),
            folders=folders,
            earlier=both[MAX_FOUND - 1].id if len(both) > MAX_FOUND else "",
        )

    async def _files(self, newest: Sequence[Agent], words: Sequence[str]) -> tuple[list[Hit], int]:
        """Files of the newest agents whose path has the words, newest first, and in how many folders was looked."""
        hits, folders = list[Hit](), 0
        with suppress(TimeoutError):
            async with asyncio.timeout(FILES_SECONDS):
                for agent in [agent for agent in newest if agent.head is None][:MAX_FOLDERS]:
                    hits += await self._files_of(agent, words)
                    folders += 1
        return sorted(hits, key=lambda hit: hit.at, reverse=True), folders

    async def _files_of(self, agent: Agent, words: Sequence[str]) -> list[Hit]:
        """The agent's files whose path has the words; none if its workspace cannot be read."""
        try:
            listed = await self.workspaces.of(agent).list_files()
        except CommandError:
            return []
        named = [each for each in listed if has_all((LabelledText("file", each.path),), words)]
        return [await _hit(agent, each, each.changed_at, words) for each in named]


async def _hits(work: UnitOfWork, entries: Sequence[Turn | Note], words: Sequence[str]) -> list[Hit]:
    """The entries with their agents; without those whose agent was deleted meanwhile."""
    hits, agents = list[Hit](), dict[AgentId, Agent]()
    for entry in entries:
        with suppress(NotFound, UnreadableRecord):
            agent = agents.get(entry.agent_id) or await work.agents.get(entry.channel, entry.agent_id)
            agents[agent.id] = agent
            before = _page_of(agent, await _number_of(work, entry))
            at = entry.at if isinstance(entry, Note) else entry.proposed_at
            hits.append(await _hit(agent, entry, at, words, before))
    return hits


async def _hit(agent: Agent, found: Found, at: datetime, words: Sequence[str], before: int | None = None) -> Hit:
    texts = (LabelledText("file", found.path),) if isinstance(found, FileEntry) else texts_of(found)
    excerpt = await asyncio.to_thread(excerpt_of, texts, words)
    return Hit(agent=agent, found=found, at=at, excerpt=excerpt, before=before)


async def _number_of(work: UnitOfWork, entry: Turn | Note) -> int | None:
    """The number of a turn, or of the turn that read a note; None for a note that none has read."""
    if isinstance(entry, Turn):
        return entry.number
    return (await work.turns.get(entry.channel, entry.taken_into)).number if entry.taken_into else None


def _page_of(agent: Agent, number: int | None) -> int | None:
    last = agent.turns if number is None else number + TURNS_AROUND
    return last if last < agent.turns else None
