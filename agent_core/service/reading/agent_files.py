"""An agent's files for people: the history of a file turn by turn, and all files as one zip. Read-only.

A version is told from what its turn stores. People who add a file leave a note, programs nothing; that something else
changed a file is found by comparing fingerprints.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from posixpath import normpath
from typing import TypeAlias

from agent_core.errors import NotFound
from agent_core.model.agent import Agent
from agent_core.model.command import Succeeded
from agent_core.model.files import content_fingerprint
from agent_core.model.ids import AgentId, NoteId, TurnId
from agent_core.model.note import Note
from agent_core.model.origin import ChannelScope
from agent_core.model.turn import Turn
from agent_core.ports.database import Database, UnitOfWork
from agent_core.ports.files import Workspaces
from agent_core.service.reading.zips import zip_stream
from agent_core.spending.helper_tree import list_helpers_below

MAX_SEARCHED_TURNS = 10_000  # of each agent that uses the workspace: the database compares their records with the path
MAX_READ_TURNS, MAX_ADDITIONS = 500, 100  # of those that may have changed the file, and of its additions; of each agent
MAX_FOLLOWED_BYTES = 500_000  # of a content that several turns made: its fingerprint is computed after each of them
NO_FILE = ""  # the fingerprint of a file that does not exist


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVersion:
    """A turn that changed the file, and the agent whose turn it is: the agent or a helper in the same workspace.

    `is_other_before`: something else changed the file after the version before.
    """

    agent: Agent
    turn: Turn
    is_other_before: bool = False

    @property
    def id(self) -> TurnId | NoteId:
        """The id of the turn."""
        return self.turn.id


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAddition:
    """A person put the file into the workspace, of which a note told the agent. Its content is not stored."""

    note: Note

    @property
    def id(self) -> TurnId | NoteId:
        """The id of the note."""
        return self.note.id


FileChange: TypeAlias = FileVersion | FileAddition


@dataclass(frozen=True, slots=True, kw_only=True)
class FileHistory:
    """The versions and additions of a file, oldest first.

    `is_there`: the file exists. `is_other_since`: something else changed it after the last of them. `is_cut`: older
    ones were not searched for.
    """

    changes: tuple[FileChange, ...]
    is_there: bool
    is_other_since: bool
    is_cut: bool


@dataclass(frozen=True, slots=True)
class _Content:
    """What a file holds after a version, as far as its turns tell; None: not known."""

    data: bytes | None
    fingerprint: str | None

    @classmethod
    def of(cls, data: bytes) -> "_Content":
        return cls(data, content_fingerprint(data)) if len(data) <= MAX_FOLLOWED_BYTES else UNKNOWN

    def differs(self, fingerprint: str) -> bool:
        return self.fingerprint is not None and self.fingerprint != fingerprint


UNKNOWN = _Content(None, None)
DELETED = _Content(b"", NO_FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFiles:
    """Reads for people. A record of another channel raises NotFound, a path outside the workspace CommandError."""

    database: Database
    workspaces: Workspaces

    async def history(self, channel: ChannelScope, agent_id: AgentId, path: str) -> FileHistory:
        """What became of a file, which may be deleted by now."""
        name = normpath(path)
        async with self.database.begin() as work:
            agent = await work.agents.get(channel, agent_id)
            searches = [await _search(work, each, name) for each in await _list_sharers(work, agent)]
        fingerprint = await self.workspaces.of(agent).fingerprint(path)
        found = sorted(chain.from_iterable(changes for changes, _ in searches), key=_happened_at)
        changes, last = _compare(found)
        return FileHistory(
            changes=changes,
            is_there=fingerprint != NO_FILE,
            is_other_since=last.differs(fingerprint),
            is_cut=any(is_cut for _, is_cut in searches),
        )

    async def archive(self, channel: ChannelScope, agent_id: AgentId) -> tuple[Agent, AsyncIterator[bytes]]:
        """The agent, and its files as a zip in pieces. One file at a time is in memory."""
        async with self.database.begin() as work:
            agent = await work.agents.get(channel, agent_id)
        files = self.workspaces.of(agent)
        return agent, zip_stream(await files.list_files(), files.read)


async def _list_sharers(work: UnitOfWork, agent: Agent) -> tuple[Agent, ...]:
    """The agents in this agent's workspace: its root agent with all helpers."""
    root = agent
    with suppress(NotFound):
        root = await work.agents.get(agent.channel, agent.home)
    return (root, *await list_helpers_below(work, root))


async def _search(work: UnitOfWork, agent: Agent, path: str) -> tuple[list[FileChange], bool]:
    """What the agent's turns and notes tell of the file, and whether older ones were not searched."""
    search = work.text_search
    turns, are_more_turns = await search.turns_changing(agent, path, among=MAX_SEARCHED_TURNS, most=MAX_READ_TURNS)
    notes, are_more_notes = await search.notes_adding(agent, path, most=MAX_ADDITIONS)
    changes: list[FileChange] = [
        *(FileVersion(agent=agent, turn=turn) for turn in turns),
        *(FileAddition(note=note) for note in notes),
    ]
    return changes, agent.turns > MAX_SEARCHED_TURNS or are_more_turns or are_more_notes


def _happened_at(change: FileChange) -> tuple[datetime, str]:
    match change:
        case FileVersion(turn=turn):
            return turn.ended_at or turn.proposed_at, turn.id
        case FileAddition(note=note):
            return note.at, note.id


def _compare(found: Iterable[FileChange]) -> tuple[tuple[FileChange, ...], _Content]:
    """The changes, with what else changed the file between them, and the content after the last."""
    compared, content = list[FileChange](), UNKNOWN
    for change in found:
        if isinstance(change, FileAddition):
            compared.append(change)
            content = UNKNOWN
            continue
        preview = change.turn.shown_preview
        is_other = preview is not None and bool(preview.target) and content.differs(preview.basis)
        compared.append(replace(change, is_other_before=is_other))
        content = _content_after(change.turn, UNKNOWN if is_other else content)
    return tuple(compared), content


def _content_after(turn: Turn, before: _Content) -> _Content:
    text = turn.call.arguments.get("text")
    if not isinstance(turn.result, Succeeded):
        return UNKNOWN
    match turn.call.name:
        case "write_to_file" if isinstance(text, str):
            return _Content.of(text.encode())
        case "append_to_file" if isinstance(text, str) and (data := _known_data(turn, before)) is not None:
            return _Content.of(data + text.encode())
        case "delete_file":
            return DELETED
        case _:
            return UNKNOWN


def _known_data(turn: Turn, before: _Content) -> bytes | None:
    """What the file held when the turn extended it; None if that is not known."""
    return b"" if turn.shown_preview and turn.shown_preview.basis == NO_FILE else before.data
