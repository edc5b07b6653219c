"""Read access for people to channels, agents, threads, turns and files; gives the other readers of this folder."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias, TypeVar

from agent_core.errors import NotFound
from agent_core.model.agent import ARCHIVED, Agent, Headcount
from agent_core.model.command import CommandSpec
from agent_core.model.decision import Reject
from agent_core.model.files import DeletedFile, FileEntry
from agent_core.model.ids import AgentId, NoticeId, TurnId
from agent_core.model.note import Note, Notice
from agent_core.model.origin import Actor, ChannelScope, SurfaceName, ThreadRef
from agent_core.model.records.audit import AuditEntry
from agent_core.model.records.deletion import KEEP_ALL, Retention
from agent_core.model.turn import Turn
from agent_core.oversight.policy import may_approve, may_decide, require_may_decide
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork
from agent_core.ports.files import Workspaces
from agent_core.ports.tool_servers import ListSources, no_sources
from agent_core.service.creating.creation import find_free_name
from agent_core.service.decisions import require_as_shown
from agent_core.service.housekeeping.deleting import newest_turn
from agent_core.service.reading.agent_files import AgentFiles
from agent_core.service.reading.approval_queue import ApprovalQueue
from agent_core.service.reading.channel_tools import ChannelTools
from agent_core.service.reading.decision_log import DecisionLog
from agent_core.service.reading.glances import Glances
from agent_core.service.reading.operations import Operations
from agent_core.service.reading.text_search import TextSearches
from agent_core.spending.helper_tree import list_helpers_below
from agent_core.toolset.registry import Commands
from agent_core.toolset.trash import list_trash

T = TypeVar("T")
TURNS_PER_PAGE, MAX_ARCHIVED = 50, 200
Entry: TypeAlias = Turn | Note | Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadPage:
    """A page of an agent's thread, with the entries of its helpers, oldest first.

    `earlier` is the turn number to pass as `before` for the page before this one, None at the thread's beginning.
    """

    agent: Agent
    entries: tuple[Entry, ...]
    earlier: int | None
    helpers: tuple[Agent, ...] = ()

    @property
    def turns(self) -> dict[TurnId, Turn]:
        return {entry.id: entry for entry in self.entries if isinstance(entry, Turn)}

    def whose(self, entry: Entry) -> Agent:
        return next((helper for helper in self.helpers if helper.id == entry.agent_id), self.agent)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentViews:
    """Read access for people. A record of another channel raises NotFound.

    `in_progress`: how many agents this process advances.
    """

    database: Database
    commands: Commands
    workspaces: Workspaces
    clock: Clock
    retention: Retention = KEEP_ALL
    list_sources: ListSources = no_sources
    in_progress: Callable[[], int] = lambda: 0

    async def _read(self, query: Callable[[UnitOfWork], Awaitable[T]]) -> T:
        async with self.database.begin() as work:
            return await query(work)

    async def census(self) -> tuple[Headcount, ...]:
        """The number of agents in each status, for every channel of every surface."""
        return await self._read(lambda work: work.agents.census())

    async def check_database(self) -> None:
        """Read a small table; raise DatabaseAway."""
        await self._read(lambda work: work.reservations.workers())

    async def agents(self, channel: ChannelScope) -> tuple[Agent, ...]:
        """The channel's agents, oldest first, without archived ones."""
        return await self._read(lambda work: work.agents.of(channel))

    async def list_archived(self, channel: ChannelScope) -> tuple[Agent, ...]:
        """The channel's archived agents, the last archived first, at most MAX_ARCHIVED."""
        return await self._read(lambda work: work.agents.list_archived(channel, most=MAX_ARCHIVED))

    async def count_archived(self, channel: ChannelScope) -> int:
        """The number of the channel's archived agents."""
        counts = (each.number for each in await self.census() if (each.channel, each.status) == (channel, ARCHIVED))
        return sum(counts)

    async def agent(self, channel: ChannelScope, agent_id: AgentId) -> Agent:
        return await self._read(lambda work: work.agents.get(channel, agent_id))

    async def find_by_name(self, channel: ChannelScope, name: str) -> Agent | None:
        return await self._read(lambda work: work.agents.find_by_name(channel, name))

    async def in_thread(self, thread: ThreadRef) -> Agent | None:
        return await self._read(lambda work: work.agents.in_thread(thread))

    async def list_by_owner(self, surface: SurfaceName, workspace: str, person: str) -> tuple[Agent, ...]:
        """The agents that a person made in any channel of a workspace, oldest first, without archived ones."""
        return await self._read(lambda work: work.agents.list_by_owner(surface, workspace, person))

    async def list_with_thread(self, surface: SurfaceName, since: datetime) -> tuple[Agent, ...]:
        """The agents whose missed replies matter: those at work, and those that came to rest at `since` or later."""
        return await self._read(lambda work: work.agents.list_with_thread(surface, since))

    async def open_to(
        self, by: Actor, channel: ChannelScope, turn_id: TurnId, shown: str | None = None
    ) -> tuple[Agent, Turn]:
        """The agent and the turn, for the form in which this person decides.

        Raise NotAllowed or AlreadyDecided if the person cannot decide the turn, ChangedSinceShown if the turn's hash is
        no longer `shown`.
        """
        agent, turn = await self.turn(channel, turn_id)
        require_may_decide(agent, by)
        turn.decide(Reject(), by=by, at=self.clock.now())
        if shown is not None:
            require_as_shown(turn, shown)
        return agent, turn

    async def words_about(self, agent: Agent, turn: Turn, by: Actor) -> str:
        """What this person last wrote about the open proposal, which decided nothing; "" for nothing."""
        async with self.database.begin() as work:
            notes = await work.notes.list_waiting(agent)
        since = turn.asked_at or turn.proposed_at
        return next((note.text for note in reversed(notes) if note.by.id == by.id and note.at >= since), "")

    async def turn(self, channel: ChannelScope, turn_id: TurnId) -> tuple[Agent, Turn]:
        async with self.database.begin() as work:
            turn = await work.turns.get(channel, turn_id)
            return await work.agents.get(channel, turn.agent_id), turn

    @staticmethod
    def may_approve(agent: Agent, turn: Turn, by: Actor) -> bool:
        """Whether this person's approval lets the turn run."""
        return may_approve(agent, turn, by)

    @staticmethod
    def may_decide(agent: Agent, by: Actor) -> bool:
        """Whether this person may decide on the agent's commands and change it, as things are now."""
        return may_decide(agent, by)

    async def find_free_name(self, channel: ChannelScope, wanted: str) -> str:
        """The wanted name, with a number if an agent of the channel has it."""
        return await self._read(lambda work: find_free_name(work, channel, wanted))

    async def newest_turn(self, channel: ChannelScope, agent_id: AgentId) -> Turn | None:
        """The agent's last turn, or None before its first."""
        async with self.database.begin() as work:
            return await newest_turn(work, await work.agents.get(channel, agent_id))

    async def thread(self, channel: ChannelScope, agent_id: AgentId, *, before: int | None = None) -> ThreadPage:
        """The newest page of the thread, or the page before a turn's number."""
        async with self.database.begin() as work:
            agent = await work.agents.get(channel, agent_id)
            turns = await work.turns.of(agent, last=TURNS_PER_PAGE + 1, before=before)
            end = await _id_of_turn(work, agent, before)
            helpers = await list_helpers_below(work, agent)
            entries = [
                *await _list_notes_and_notices(work, agent),
                *[entry for each in helpers for entry in await _entries_of_helper(work, each)],
            ]
        more, page = len(turns) > TURNS_PER_PAGE, turns[-TURNS_PER_PAGE:]
        first = page[0].id if more else ""
        shown = (entry for entry in [*page, *entries] if first <= entry.id < end)
        ordered = tuple(sorted(shown, key=lambda entry: entry.id))
        return ThreadPage(agent=agent, entries=ordered, earlier=page[0].number if more else None, helpers=helpers)

    async def turns_before(self, agent: Agent, turn: Turn, most: int) -> tuple[Turn, ...]:
        """The last turns of the agent before this one, in order."""
        return await self._read(lambda work: work.turns.of(agent, last=most, before=turn.number))

    async def count_unread_notes(self, channel: ChannelScope, agent_id: AgentId) -> int:
        """The number of notes that no prompt of the agent has included yet."""
        async with self.database.begin() as work:
            return len(await work.notes.list_waiting(await work.agents.get(channel, agent_id)))

    async def files(self, channel: ChannelScope, agent_id: AgentId) -> tuple[FileEntry, ...]:
        return await self.workspaces.of(await self.agent(channel, agent_id)).list_files()

    async def list_deleted_files(self, channel: ChannelScope, agent_id: AgentId) -> tuple[DeletedFile, ...]:
        """What the trash of the agent holds, the newest first."""
        return await list_trash(self.workspaces.of(await self.agent(channel, agent_id)))

    async def file(self, channel: ChannelScope, agent_id: AgentId, path: str) -> bytes:
        """A file's content; raise CommandError if it cannot be read."""
        return await self.workspaces.of(await self.agent(channel, agent_id)).read(path)

    async def file_to_share(
        self, by: Actor, channel: ChannelScope, agent_id: AgentId, path: str
    ) -> tuple[Agent, bytes]:
        """A file that this person may post in the channel; raise NotAllowed, CommandError."""
        agent = await self.agent(channel, agent_id)
        require_may_decide(agent, by, "upload files here")
        return agent, await self.workspaces.of(agent).read(path)

    async def reply(self, channel: ChannelScope, notice_id: NoticeId) -> tuple[Agent, Notice]:
        """A notice with an unusable reply of the model, and its agent; raise NotFound."""
        async with self.database.begin() as work:
            notice = await work.notes.notice(channel, notice_id)
            if not notice.reply:
                raise NotFound("reply", notice_id)
            return await work.agents.get(channel, notice.agent_id), notice

    @property
    def agent_files(self) -> AgentFiles:
        return AgentFiles(database=self.database, workspaces=self.workspaces)

    @property
    def log(self) -> DecisionLog:
        return DecisionLog(database=self.database)

    @property
    def searches(self) -> TextSearches:
        return TextSearches(database=self.database, workspaces=self.workspaces)

    @property
    def glances(self) -> Glances:
        return Glances(database=self.database, clock=self.clock)

    @property
    def operations(self) -> Operations:
        return Operations(database=self.database, clock=self.clock, in_progress=self.in_progress)

    @property
    def tools(self) -> ChannelTools:
        return ChannelTools(database=self.database, commands=self.commands, list_sources=self.list_sources)

    @property
    def queue(self) -> ApprovalQueue:
        return ApprovalQueue(database=self.database)

    async def audit(self, channel: ChannelScope, agent_id: AgentId) -> tuple[AuditEntry, ...]:
        """The agent's entries of the decision log, oldest first."""
        async with self.database.begin() as work:
            return await work.audit.of(await work.agents.get(channel, agent_id))

    def spec(self, command: str) -> CommandSpec:
        """The spec of a command, also of one that is switched off; an unknown command has only a name."""
        known = self.commands.by_name.get(command)
        return known.spec if known else _unknown_command(command)

    async def family(self, channel: ChannelScope, agent_id: AgentId) -> tuple[Agent, ...]:
        """An agent's helpers and their helpers, oldest first."""
        async with self.database.begin() as work:
            return await list_helpers_below(work, await work.agents.get(channel, agent_id))


async def _id_of_turn(work: UnitOfWork, agent: Agent, number: int | None) -> str:
    """The id of the agent's turn with this number, or what follows every id if it has none."""
    found = await work.turns.of(agent, last=1, before=number + 1) if number is not None else ()
    return found[0].id if found and found[0].number == number else "~"


async def _list_notes_and_notices(work: UnitOfWork, agent: Agent) -> list[Entry]:
    return [*await work.notes.of(agent), *await work.notes.notices(agent)]


async def _entries_of_helper(work: UnitOfWork, helper: Agent) -> list[Entry]:
    return [*await work.turns.of(helper, last=TURNS_PER_PAGE), *await _list_notes_and_notices(work, helper)]


def _unknown_command(command: str) -> CommandSpec:
    none: dict[str, object] = {"type": "object", "properties": {}}
    return CommandSpec(name=command, label=command, description="", parameters=none, risks=(), category="")
