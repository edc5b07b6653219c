"""Ports of the repositories, one protocol for each kind of record; a unit of work gives access to them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Protocol

from agent_core.model.agent import Agent, Headcount
from agent_core.model.draft import FormDraft
from agent_core.model.ids import AgentId, MemoryId, NoticeId, ReservationId, TurnId
from agent_core.model.model_calls import FREE, Budget, Usage
from agent_core.model.note import Note, Notice
from agent_core.model.origin import ChannelScope, Installation, InstalledOn, SurfaceName, ThreadRef
from agent_core.model.records.audit import AuditEntry
from agent_core.model.records.deletion import Deletion
from agent_core.model.records.memory import Memory, MemoryVersion, Vector
from agent_core.model.records.operations import QueueState, SpendingSums, WorkerLoad
from agent_core.model.records.reservation import Account, Funds, Reservation
from agent_core.model.records.timing import Timing
from agent_core.model.turn import Turn


class Agents(Protocol):
    """Agents. `get`, `find_by_name`, `of` and `in_thread` search one channel only.

    Methods that return one agent raise UnreadableRecord if a newer release saved it in a form that this one does not
    know. Lists leave such agents out.
    """

    async def get(self, channel: ChannelScope, agent_id: AgentId) -> Agent:
        """The agent; raise NotFound if the channel has no agent with that id."""

    async def locate(self, agent_id: AgentId) -> Agent:
        """The agent in any channel, for a worker that knows only its id; raise NotFound."""

    async def find_by_name(self, channel: ChannelScope, name: str) -> Agent | None:
        """The channel's agent with that name, case-insensitively, or None."""

    async def of(self, channel: ChannelScope) -> tuple[Agent, ...]:
        """The channel's agents, oldest first, without archived ones."""

    async def list_archived(self, channel: ChannelScope, *, most: int) -> tuple[Agent, ...]:
        """Up to `most` archived agents of the channel, the last archived first."""

    async def list_archived_at(self, channel: ChannelScope, moment: datetime) -> tuple[Agent, ...]:
        """The agents of the channel that were archived at this moment, oldest first: a root agent and its helpers."""

    async def in_thread(self, thread: ThreadRef) -> Agent | None:
        """The newest agent in this thread that is no helper, or None. Called for every reply, so it must be fast."""

    async def list_by_owner(self, surface: SurfaceName, workspace: str, person: str) -> tuple[Agent, ...]:
        """Agents that this person created in any channel of the workspace, oldest first, without archived ones."""

    async def list_with_thread(self, surface: SurfaceName, since: datetime) -> tuple[Agent, ...]:
        """Agents whose thread may get replies, oldest first: those at work, or at rest only since `since` or later.

        Used to read messages that were sent while the process was down.
        """

    async def list_changed_last(self, surfaces: Sequence[SurfaceName], most: int) -> tuple[Agent, ...]:
        """Up to `most` listed agents with a thread on these surfaces, those whose status changed last first."""

    async def list_at_rest(self, before: datetime, *, most: int, after: str = "") -> tuple[Agent, ...]:
        """Up to `most` agents of all channels that are at rest since before that time, sorted by id, after the id."""

    async def census(self) -> tuple[Headcount, ...]:
        """The number of agents for each channel and status, for the overview page. Archived ones count as ARCHIVED."""

    async def list_awaiting_people(self, channels: Sequence[ChannelScope], most: int) -> tuple[Agent, ...]:
        """Up to `most` agents of these channels that wait for people, longest waiting first.

        They wait for a decision, or for an answer to a tool server, or are paused, and are not archived.
        """

    async def list_longest(self, status: str, most: int) -> tuple[Agent, ...]:
        """Up to `most` agents of any channel in this status, the longest first, without archived ones."""

    async def list_newest(self, status: str, most: int) -> tuple[Agent, ...]:
        """Up to `most` agents of any channel in this status, the last first, without archived ones."""

    async def list_stuck(self, before: datetime, most: int) -> tuple[Agent, ...]:
        """Up to `most` agents of any channel that have thought or acted since `before`, the longest first.

        Those that wait for their helpers, or for an answer of people to a tool server, are left out.
        """

    async def list_by_id(self, agent_ids: Sequence[AgentId]) -> tuple[Agent, ...]:
        """The agents with these ids, of any channel."""

    async def due(self, surfaces: Sequence[SurfaceName], now: datetime) -> tuple[AgentId, ...]:
        """Agents of these surfaces with work to do at `now`.

        An agent has work if it thinks or acts and is not scheduled for later, if it does not and a reminder or the
        next try for a notification is due, or if a card or notice is not shown yet.
        """

    def add(self, agent: Agent) -> None:
        """Save a new agent. The commit raises Conflict if another agent of the channel has the name."""

    def save(self, agent: Agent) -> None:
        """Save an agent that was read in this unit of work."""

    def remove(self, agent: Agent) -> None:
        """Delete the agent with its turns, notes, notices and memories. Its entries in the decision log stay.

        The commit raises Conflict if the agent was read in this unit of work and saved elsewhere since.
        """


class Turns(Protocol):
    """Turns of agents."""

    async def get(self, channel: ChannelScope, turn_id: TurnId) -> Turn:
        """The turn; raise NotFound if the channel has no turn with that id."""

    async def of(self, agent: Agent, *, last: int, before: int | None = None) -> tuple[Turn, ...]:
        """The newest `last` turns in ascending order; with `before`, only turns with a lower number."""

    async def list_timings(
        self, channel: ChannelScope, *, last: int, agent_id: AgentId | None = None
    ) -> tuple[Timing, ...]:
        """Times and usage of the channel's newest `last` turns in ascending order; with `agent_id`, of that agent's.

        Turns are left out if a newer release saved them in a form that this one does not know.
        """

    async def list_unshown(self, agent: Agent) -> tuple[Turn, ...]:
        """Turns whose card shows another stage than their present one, or that have no card yet, oldest first."""

    def add(self, turn: Turn) -> None:
        """Save a new turn."""

    def save(self, turn: Turn) -> None:
        """Save a turn that was read in this unit of work. Only `mark_shown` saves what its card shows, and where."""

    def mark_shown(self, turn: Turn, address: str, at: datetime | None) -> None:
        """Record that the card at `address` shows the turn's present stage since `at`. Causes no Conflict.

        `at` is None for a card that the platform refused: it is not shown again at this stage, and nobody has seen it.
        """


class Notes(Protocol):
    """Messages of people to agents (notes), and messages of Signoff in an agent's thread (notices)."""

    async def of(self, agent: Agent, *, since: datetime | None = None) -> tuple[Note, ...]:
        """The agent's notes, oldest first; with `since`, from that time on."""

    async def list_waiting(self, agent: Agent) -> tuple[Note, ...]:
        """Notes that no prompt has included yet, oldest first."""

    async def notices(self, agent: Agent, *, since: datetime | None = None) -> tuple[Notice, ...]:
        """The agent's notices, oldest first; with `since`, from that time on."""

    async def notice(self, channel: ChannelScope, notice_id: NoticeId) -> Notice:
        """The notice; raise NotFound if the channel has no notice with that id."""

    async def list_unposted(self, agent: Agent) -> tuple[Notice, ...]:
        """Notices that were not posted to the thread yet, oldest first."""

    def add(self, note: Note) -> None:
        """Save a new note."""

    def take(self, notes: Sequence[Note], turn_id: TurnId) -> None:
        """Record that the prompt of this turn included the notes."""

    def announce(self, notice: Notice) -> None:
        """Save a notice to be posted to the thread."""

    def mark_posted(self, notice: Notice) -> None:
        """Record that the notice was posted."""


class Installations(Protocol):
    """Workspaces that installed Signoff. Reads return committed values, even after a `put` in the same unit of work."""

    async def get(self, surface: InstalledOn, workspace: str) -> Installation | None:
        """The workspace's installation, or None."""

    async def of(self, surface: InstalledOn) -> tuple[Installation, ...]:
        """All installations of a surface, by workspace."""

    def put(self, installation: Installation, *, replacing: str | None = None) -> None:
        """Save the installation; it replaces the workspace's previous one.

        With `replacing` (compare and swap), the commit raises Conflict unless the encrypted tokens that are saved now
        (`sealed`) equal `replacing`.
        """

    def remove(self, surface: InstalledOn, workspace: str) -> None:
        """Delete the installation if it exists. The workspace's agents stay."""


class Memories(Protocol):
    """Long-term memories with their vectors, the source of truth for every index. Reads are limited to one agent.

    `index_key` names an embedder and an index together. A memory has at most one vector, which belongs to one index
    key.
    """

    async def of(self, agent: Agent, *, most: int, before: MemoryId | None = None) -> tuple[Memory, ...]:
        """Up to `most` memories, newest first; with `before`, only those older than the memory with that id."""

    async def get_many(self, agent: Agent, ids: Sequence[MemoryId]) -> tuple[Memory, ...]:
        """The memories with these ids, in the given order; unknown ids are left out."""

    async def count(self, agent: Agent) -> int:
        """Number of the agent's memories."""

    async def list_unindexed(self, agent: Agent, index_key: str, *, most: int) -> tuple[Memory, ...]:
        """Up to `most` memories without a vector for this index key, oldest first."""

    async def vectors(
        self, agent: Agent, index_key: str, *, after: MemoryId | None = None, most: int
    ) -> tuple[tuple[MemoryId, Vector], ...]:
        """Up to `most` ids with their vectors for this index key, sorted by id, starting after the id `after`."""

    async def version(self, agent: Agent) -> MemoryVersion:
        """How many vectors all processes together ever added and removed. A cache with equal counts is up to date."""

    async def list_agents_unindexed(self, index_key: str, *, most: int) -> tuple[AgentId, ...]:
        """Up to `most` agents, in any channel, that have a memory without a vector for this index key; sorted by id."""

    def add(self, agent: Agent, memories: Sequence[Memory]) -> None:
        """Save new memories without vectors."""

    def put(self, agent: Agent, index_key: str, vectors: Mapping[MemoryId, Vector]) -> None:
        """Save vectors for this index key; they replace vectors for another key. Causes no Conflict.

        May follow an `add` of the same memories in the same unit of work.
        """

    def remove(self, agent: Agent, ids: Sequence[MemoryId]) -> None:
        """Delete memories by id; unknown ids are ignored. Causes no Conflict."""

    def clear(self, agent: Agent) -> None:
        """Delete all memories of the agent. Causes no Conflict."""


class Budgets(Protocol):
    """Budget of each channel and the spending of all its agents together."""

    async def of(self, channel: ChannelScope) -> Budget:
        """The channel's budget. A channel without one has no limit and has spent nothing."""

    def set_limit(self, channel: ChannelScope, limit: Decimal | None) -> None:
        """Set the limit in US dollars; None means no limit. Causes no Conflict."""

    def add_spending(self, channel: ChannelScope, cost: Decimal, estimated: Decimal = FREE) -> None:
        """Add a cost in US dollars to the spending, atomically. Causes no Conflict.

        `estimated`: the part of `cost` that is an estimate.
        """

    def add_to_day(self, channel: ChannelScope, at: datetime, model: str, usage: Usage) -> None:
        """Add a usage to what the channel's agents spent on a model on that day. Causes no Conflict."""

    def forget_days(self, before: str) -> None:
        """Delete what was spent before this day. The sums of budgets stay."""

    async def sum_days(self, since: str) -> SpendingSums:
        """What all channels spent from this day on, with the 20 channels and models that spent most."""


class Reservations(Protocol):
    """What the steps of all processes reserve of the budgets. Reservations survive the deletion of their agent."""

    async def find(self, reservation_id: ReservationId) -> Reservation | None:
        """The reservation, or None."""

    async def of(self, worker: str) -> tuple[Reservation, ...]:
        """All reservations of a process, oldest first."""

    async def workers(self) -> tuple[str, ...]:
        """The ids of all processes with reservations, sorted."""

    async def funds(self, account: Account, *, without: ReservationId | None = None) -> Funds:
        """The budgets that pay for the account's calls, with what other reservations than `without` hold of them.

        A root agent that was deleted has a limit of 0 US dollars.
        """

    def take(self, reservation: Reservation, estimate: Decimal) -> None:
        """Save the reservation of a step; it replaces the previous one with this id.

        The commit compares it with the budgets and all other reservations as they are then, one such commit of a
        channel at a time. It raises OverBudget if a budget does not afford the reservation. `estimate`: the part of
        it that the next call may cost, for the message.
        """

    def remove(self, reservation_id: ReservationId, *, must_exist: bool) -> None:
        """Delete the reservation. With `must_exist`, the commit raises Conflict if it does not exist any more."""


class Jobs(Protocol):
    """The queue of an engine that keeps it in this database. Jobs of one agent run one at a time."""

    def defer(self, agent_id: AgentId) -> None:
        """Queue a job that advances the agent. Does nothing for an agent that does not exist."""

    def defer_idle(self, agent_ids: Sequence[AgentId]) -> None:
        """Queue a job for each of these agents that has none, waiting or running."""

    def abort(self, agent_id: AgentId) -> None:
        """Have the agent's running job cancelled, wherever it runs."""

    def hold(self, job_id: int, worker_id: int) -> None:
        """Make sure that the job is still this worker's: else the commit raises Conflict."""

    async def count_workers(self) -> int:
        """The number of processes that take jobs; 0 if none ever did."""

    async def list_workers(self) -> tuple[WorkerLoad, ...]:
        """The processes that take jobs, with the agents of five jobs that each runs; () without a queue."""

    async def state(self) -> QueueState | None:
        """The jobs of the queue; None without one."""


class Deliveries(Protocol):
    """Remembers which platform events have been processed, so that a repeated event has no effect."""

    async def first_time(self, delivery: str, at: datetime) -> bool:
        """Record the delivery id in this unit of work; return False if it was processed before.

        If two units of work record the same id, the second commit raises Conflict.
        """

    def forget(self, before: datetime) -> None:
        """Delete ids recorded before that time; platforms do not resend events that old."""


class Audit(Protocol):
    """The decision log (audit log) of each channel. Entries survive the deletion of their agent.

    It is append-only: nothing changes an entry but the deletion of its agent, which deletes its texts, and only the
    operator's retention removes the oldest. Each channel's entries are a hash chain in the order of their commits. The
    reads leave out what is evidence only (`UNLISTED`).
    """

    async def of(self, agent: Agent) -> tuple[AuditEntry, ...]:
        """The agent's entries, oldest first."""

    async def in_channel(self, channel: ChannelScope) -> tuple[AuditEntry, ...]:
        """All entries of the channel, oldest first, even those about the channel itself and about deleted agents."""

    async def page(
        self, channel: ChannelScope, *, last: int, before: str = "", upto: str = "", agent_id: AgentId | None = None
    ) -> tuple[AuditEntry, ...]:
        """The newest `last` entries of the channel, newest first.

        `before`: an entry's id; only older entries are returned, and none if the channel has no entry with that id.
        `upto`: the same, with this entry itself.
        `agent_id`: only entries of that agent are returned.
        """

    async def list_after(self, entry: AuditEntry, *, first: int) -> tuple[AuditEntry, ...]:
        """The next `first` entries of the same agent after this one, oldest first."""

    def append(self, entry: AuditEntry) -> None:
        """Add an entry to the end of the channel's chain; the entries of a unit of work follow each other there."""

    async def head(self, channel: ChannelScope) -> tuple[int, str]:
        """The number and the hash of the last record of the channel's chain; number 0 if there is none."""

    async def blank(self, agent: Agent) -> None:
        """Delete the texts of the agent's entries: who, when, what kind of act and all hashes stay."""

    async def expire(self, before: datetime, *, most: int) -> int:
        """Delete up to `most` entries of a channel that are older than `before`; return how many.

        They are the oldest: an entry stays as long as one before it in the channel's chain.
        """


class Deletions(Protocol):
    """Deleted agents of which index entries or files may be left. A row is saved with the deletion of its agent."""

    async def page(self, *, most: int, after: str = "") -> tuple[Deletion, ...]:
        """Up to `most` deletions, sorted by the agent's id, starting after the id `after`."""

    def add(self, deletion: Deletion) -> None:
        """Save a deletion."""

    def finish(self, deletions: Sequence[Deletion]) -> None:
        """Delete the rows: nothing is left. Does nothing for one that is not there."""

    async def empty_journal(self) -> bool:
        """Remove what deleted rows leave in the database's own journal, if it has one of this kind (SQLite's WAL).

        Return False if that is not possible now because the database is in use.
        """


class FormDrafts(Protocol):
    """Filled-in forms that a button opens again. Each is found only by its person, in its channel, until it expires."""

    async def get(self, channel: ChannelScope, person: str, key: str, now: datetime) -> FormDraft | None:
        """The form of this person in this channel, or None if there is none or it has expired.

        Raise UnreadableRecord if a newer release saved it in a form that this one does not know.
        """

    def put(self, form: FormDraft) -> None:
        """Save a form; it replaces the person's previous one with the key.

        Of more than MAX_FORMS, and of more than MAX_FORMS_OF_PERSON of one person, the oldest are deleted.
        Raise InvalidInput if it is too long. The commit raises Conflict only if the form's agent was deleted.
        """

    async def expire(self, now: datetime) -> bool:
        """Delete expired forms in this unit of work; return whether there are any."""


class Preferences(Protocol):
    """Short texts by channel and key, for example the last settings of a form or a person's name."""

    async def get(self, channel: ChannelScope, key: str) -> str | None:
        """The text saved for the key, or None."""

    async def list_by_prefix(self, channel: ChannelScope, prefix: str) -> Mapping[str, str]:
        """The texts of the channel's keys that begin with `prefix`, by key."""

    async def list_by_key(self, key: str, surface: SurfaceName) -> tuple[str, ...]:
        """The texts of a key in all channels of a surface."""

    def add(self, channel: ChannelScope, key: str, text: str) -> None:
        """Save the first text of a key; the commit raises Conflict if it has one."""

    def exchange(self, channel: ChannelScope, key: str, before: str | None, text: str) -> None:
        """Put a text in the place of `before`, None for none; the commit raises Conflict if another one is there."""

    def put(self, channel: ChannelScope, key: str, text: str) -> None:
        """Save a text; it replaces the key's previous one. The commit raises no Conflict: the last write wins."""


class TextSearch(Protocol):
    """Records of some channels that contain all of some words: the `most` newest.

    `words` are folded (`agent_core.model.records.text_search`); without words every record is found. `before`: only
    records with a lower id, "" for all. Records in a form of a newer release, which this one does not know, are not
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
        """The agent's turns that changed the file (`changes_file` of `model.turn`), among its newest `among` turns.

        `path`: normalised. `most`: of how many turns that may have changed it a database looks at the record. Also
        return whether there may be more.
        """

    async def notes_adding(self, agent: Agent, path: str, *, most: int) -> tuple[tuple[Note, ...], bool]:
        """The newest `most` notes of people who put this file into the workspace; whether there may be more."""
