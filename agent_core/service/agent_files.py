"""An agent's files for people: what became of a file turn by turn, and all files as one zip. Read-only.

A version is told from what its turn stores. Programs, and people who add files, change files without a turn that
stores the content; that something else changed a file is found by comparing fingerprints.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from posixpath import normpath

from agent_core.errors import NotFound
from agent_core.model.agent import Agent
from agent_core.model.channels import ChannelScope
from agent_core.model.files import content_fingerprint
from agent_core.model.ids import AgentId
from agent_core.model.result import Failed, Succeeded
from agent_core.model.turn import Turn
from agent_core.ports.database import Database, UnitOfWork
from agent_core.ports.files import Workspaces
from agent_core.service.zip_stream import zip_stream
from agent_core.spending.helper_tree import list_helpers_below

MAX_SEARCHED_TURNS = 500  # of each agent that uses the workspace
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FileHistory:
    """The versions of a file, oldest first.

    `is_there`: the file exists. `is_other_since`: something else changed it after the last version. `is_cut`: older
    turns were not searched.
    """

    versions: tuple[FileVersion, ...]
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
        async with self.database.begin() as work:
            agent = await work.agents.get(channel, agent_id)
            sharers = await _list_sharers(work, agent)
            turns = [(each, turn) for each in sharers for turn in await work.turns.of(each, last=MAX_SEARCHED_TURNS)]
        fingerprint = await self.workspaces.of(agent).fingerprint(path)
        found = [FileVersion(agent=each, turn=turn) for each, turn in turns if _changes(turn, normpath(path))]
        versions, last = _compare(sorted(found, key=_ended_at))
        return FileHistory(
            versions=versions,
            is_there=fingerprint != NO_FILE,
            is_other_since=last.differs(fingerprint),
            is_cut=any(each.turns > MAX_SEARCHED_TURNS for each in sharers),
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


def _changes(turn: Turn, path: str) -> bool:
    """Whether the turn changed the file, as far as its preview or its result names the file or its folder."""
    if turn.state != "done" or isinstance(turn.result, Failed) or "write" not in turn.risks:
        return False
    made = turn.result.files if isinstance(turn.result, Succeeded) else ()
    target = normpath(turn.shown_preview.target) if turn.shown_preview and turn.shown_preview.target else ""
    return path == target or path in made or (bool(target) and path.startswith(f"{target}/"))


def _ended_at(version: FileVersion) -> tuple[object, str]:
    return version.turn.ended_at or version.turn.proposed_at, version.turn.id


def _compare(versions: Iterable[FileVersion]) -> tuple[tuple[FileVersion, ...], _Content]:
    """The versions, with what changed the file between them, and the content after the last."""
    compared, content = [], UNKNOWN
    for version in versions:
        preview = version.turn.shown_preview
        is_other = preview is not None and bool(preview.target) and content.differs(preview.basis)
        compared.append(replace(version, is_other_before=is_other))
        content = _content_after(version.turn, UNKNOWN if is_other else content)
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
