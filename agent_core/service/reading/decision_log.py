"""Pages through a channel's decision log (audit log), newest first: filters it, and makes one row of a command."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from agent_core.errors import NotFound
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.origin import Actor, Origin
from agent_core.model.records.audit import ENDED, RAN, AuditEntry
from agent_core.oversight.policy import require_may_speak
from agent_core.ports.database import Database, UnitOfWork

PAGE_ROWS = 50
CHUNK_ENTRIES = 200
MAX_ENTRIES_PER_PAGE = 2_000
FOLLOWING_ENTRIES = 20
NOT_RUN = "not run"
APPROVALS = frozenset({"approve", "edit"})
OfTurns: TypeAlias = dict[TurnId | None, AuditEntry]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilter:
    """Selects rows; an empty field matches all rows. `agent` is a name; `agent_id` is faster, by an index.

    A person matches by display name or platform id, ignoring case; agents and other bots never match.
    """

    agent: str = ""
    agent_id: AgentId | None = None
    person: str = ""
    command: str = ""
    risk: str = ""
    outcome: str = ""

    def admits(self, entry: AuditEntry) -> bool:
        person = self.person.strip().removeprefix("@").casefold()
        return (
            (not self.agent or " ".join(self.agent.split()).casefold() == entry.agent_name.casefold())
            and (self.agent_id is None or self.agent_id == entry.agent_id)
            and (not person or _is_person(entry.by, person))
            and (not self.command or self.command.strip().casefold() in entry.command.casefold())
            and (not self.risk or self.risk in entry.risks)
            and (not self.outcome or self.outcome == entry.outcome)
        )


EVERY_ROW = LogFilter()


@dataclass(frozen=True, slots=True)
class LogRow:
    """An entry; for a command, with its outcome.

    `card`: the surface's address of the turn's card; "" if there is none.
    """

    entry: AuditEntry
    card: str = ""


@dataclass(frozen=True, slots=True)
class LogPage:
    """Rows, newest first; `earlier` is the id to pass as `before` for the next page, "" at the end of the log.

    With a filter that matches rarely, a page may have few rows or none although the log continues.
    """

    rows: tuple[LogRow, ...] = ()
    earlier: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionLog:
    """Reads the log in chunks, each in its own unit of work. Everyone who can read the channel may read its log."""

    database: Database

    async def page(self, origin: Origin, wanted: LogFilter = EVERY_ROW, *, before: str = "", upto: str = "") -> LogPage:
        """The newest matching rows, or those before an entry or up to it; raise NotAllowed for bots."""
        reading = self._reading(origin, wanted, before, upto)
        found: list[AuditEntry] = []
        async with aclosing(reading.rows(MAX_ENTRIES_PER_PAGE)) as rows:
            async for entry in rows:
                found.append(entry)
                if len(found) > PAGE_ROWS:
                    break
        earlier = found[PAGE_ROWS - 1].id if len(found) > PAGE_ROWS else reading.earlier
        return LogPage(await self.with_cards(found[:PAGE_ROWS]), earlier)

    def rows(self, origin: Origin, wanted: LogFilter = EVERY_ROW) -> AsyncGenerator[AuditEntry, None]:
        """Every matching row, newest first; raise NotAllowed for bots."""
        return self._reading(origin, wanted).rows(None)

    async def with_cards(self, entries: Sequence[AuditEntry]) -> tuple[LogRow, ...]:
        async with self.database.begin() as work:
            return tuple([LogRow(entry, await _card_of(work, entry)) for entry in entries])

    def _reading(self, origin: Origin, wanted: LogFilter, before: str = "", upto: str = "") -> "_LogReader":
        require_may_speak(origin.by, "read the decision log here")
        is_within = bool(before or upto)
        return _LogReader(
            database=self.database, origin=origin, wanted=wanted, earlier=before, upto=upto, is_within=is_within
        )


@dataclass(slots=True, kw_only=True)
class _LogReader:
    """Reads the log backwards, from its newest entry or from a given one, which `upto` includes.

    `earlier` is the last entry that was read.

    A command's end and its approval are merged into the row of its start, which names who approved and how. If an entry
    that follows is newer than the one where reading began, it is looked up among the agent's next entries. That is
    rare, because an agent runs one command at a time.
    """

    database: Database
    origin: Origin
    wanted: LogFilter
    earlier: str
    upto: str
    is_within: bool
    ends: OfTurns = field(default_factory=dict)
    runs: OfTurns = field(default_factory=dict)

    async def rows(self, limit: int | None) -> AsyncGenerator[AuditEntry, None]:
        """The matching rows among the next `limit` entries."""
        read = 0
        while limit is None or read < limit:
            chunk = await self._chunk()
            read += len(chunk)
            for entry in chunk:
                self.earlier = entry.id
                row = await self._row_of(entry)
                if row and self.wanted.admits(row):
                    yield row
            if len(chunk) < CHUNK_ENTRIES:
                self.earlier = ""
                return

    async def _chunk(self) -> tuple[AuditEntry, ...]:
        upto, self.upto = self.upto, ""
        async with self.database.begin() as work:
            return await work.audit.page(
                self.origin.channel, last=CHUNK_ENTRIES, before=self.earlier, upto=upto, agent_id=self.wanted.agent_id
            )

    async def _row_of(self, entry: AuditEntry) -> AuditEntry | None:
        """The row for an entry; None for an entry that is merged into the row of the command's start."""
        if entry.act == ENDED and entry.outcome != NOT_RUN:
            self.ends.setdefault(entry.turn_id, entry)
            return None
        if entry.act in APPROVALS:
            return None if await self._is_told_on_run(entry) else entry
        if entry.act != RAN:
            return entry
        if entry.grant in APPROVALS:
            self.runs[entry.turn_id] = entry
        end = self.ends.pop(entry.turn_id, None)
        if end is None and self.is_within:
            end = await self._last_after(entry, ENDED, until=frozenset({RAN}))
        if end is None:
            return entry
        return replace(entry, outcome=end.outcome, detail=" · ".join(filter(None, (entry.detail, end.detail))))

    async def _is_told_on_run(self, approval: AuditEntry) -> bool:
        """Whether the row of the start tells all of the approval; a start that an older release saved may not."""
        run = self.runs.pop(approval.turn_id, None)
        if run is None and self.is_within:
            run = await self._last_after(approval, RAN, until=APPROVALS)
        return run is not None and run.given == approval.detail

    async def _last_after(self, start: AuditEntry, act: str, *, until: frozenset[str]) -> AuditEntry | None:
        """The last entry `act` of a turn that follows `start` and precedes the turn's next entry `until`, if any."""
        last, found = start, None
        while True:
            async with self.database.begin() as work:
                following = await work.audit.list_after(last, first=FOLLOWING_ENTRIES)
            for entry in following:
                is_same = entry.turn_id == start.turn_id
                if entry.turn_number > start.turn_number or (is_same and entry.act in until):
                    return found
                if is_same and entry.act == act:
                    found = entry
            if len(following) < FOLLOWING_ENTRIES:
                return found
            last = following[-1]


def _is_person(actor: Actor, wanted: str) -> bool:
    return actor.kind != "bot" and wanted in (actor.display.casefold(), actor.id.casefold())


async def _card_of(work: UnitOfWork, entry: AuditEntry) -> str:
    """The address of a turn's card; "" for an entry without a turn, and for a turn that was deleted."""
    if entry.turn_id is None:
        return ""
    try:
        return (await work.turns.get(entry.channel, entry.turn_id)).shown_as
    except NotFound:
        return ""
