"""The decision log of a channel as people read it: newest first, the end of each command told on its start."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from agent_core.errors import NotFound
from agent_core.model.actors import Actor, Origin
from agent_core.model.audit import ENDED, RAN, AuditEntry
from agent_core.model.ids import AgentId, TurnId
from agent_core.oversight.policy import require_may_speak
from agent_core.ports.database import Database, UnitOfWork

PAGE_ROWS = 50
CHUNK_ENTRIES = 200
MOST_ENTRIES_PER_PAGE = 2_000
FOLLOWING_ENTRIES = 20
NOT_RUN = "not run"
Ends: TypeAlias = dict[TurnId | None, AuditEntry]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilter:
    """Which rows are wanted; an empty field wants all. `agent` is a name, `agent_id` finds one agent by the index.

    A person is found by the name that is shown or by the platform's id, whatever the case; an agent is no person.
    """

    agent: str = ""
    agent_id: AgentId | None = None
    person: str = ""
    command: str = ""
    risk: str = ""
    outcome: str = ""

    def admits(self, entry: AuditEntry) -> bool:
        """Whether the row is wanted."""
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
    """What was done; of a command with its outcome. `card` is where its card stands on the surface, "" for none."""

    entry: AuditEntry
    card: str = ""


@dataclass(frozen=True, slots=True)
class LogPage:
    """Rows, newest first; `earlier` is from where the log goes on, "" at its end.

    A page that looks for something rare may hold few rows or none, and still go on.
    """

    rows: tuple[LogRow, ...] = ()
    earlier: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionLog:
    """Reads the log in chunks, each in a unit of work of its own. Whoever can read the channel can read its log."""

    database: Database

    async def page(self, origin: Origin, wanted: LogFilter = EVERY_ROW, *, before: str = "") -> LogPage:
        """The newest rows that are wanted, or those before an entry; raise NotAllowed for bots."""
        reading = self._reading(origin, wanted, before)
        found: list[AuditEntry] = []
        async with aclosing(reading.rows(MOST_ENTRIES_PER_PAGE)) as rows:
            async for entry in rows:
                found.append(entry)
                if len(found) > PAGE_ROWS:
                    break
        earlier = found[PAGE_ROWS - 1].id if len(found) > PAGE_ROWS else reading.earlier
        return LogPage(await self.with_cards(found[:PAGE_ROWS]), earlier)

    def rows(self, origin: Origin, wanted: LogFilter = EVERY_ROW) -> AsyncGenerator[AuditEntry, None]:
        """Every row that is wanted, newest first; raise NotAllowed for bots."""
        return self._reading(origin, wanted, "").rows(None)

    async def with_cards(self, entries: Sequence[AuditEntry]) -> tuple[LogRow, ...]:
        """The rows with where the cards of their turns stand."""
        async with self.database.begin() as work:
            return tuple([LogRow(entry, await _card_of(work, entry)) for entry in entries])

    def _reading(self, origin: Origin, wanted: LogFilter, before: str) -> "_Reading":
        require_may_speak(origin.by, "read the decision log here")
        return _Reading(database=self.database, origin=origin, wanted=wanted, earlier=before, is_within=bool(before))


@dataclass(slots=True, kw_only=True)
class _Reading:
    """One way through the log, from its newest entry or from within it.

    An agent runs one command at a time. So a start whose end is newer than where the reading began is rare, and its
    end is looked for among the agent's next entries. `earlier` is the last entry that was read, "" at the log's end.
    """

    database: Database
    origin: Origin
    wanted: LogFilter
    earlier: str
    is_within: bool
    ends: Ends = field(default_factory=dict)

    async def rows(self, most: int | None) -> AsyncGenerator[AuditEntry, None]:
        """The rows that are wanted, after reading no more than `most` entries."""
        read = 0
        while most is None or read < most:
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
        async with self.database.begin() as work:
            return await work.audit.page(
                self.origin.channel, last=CHUNK_ENTRIES, before=self.earlier, agent_id=self.wanted.agent_id
            )

    async def _row_of(self, entry: AuditEntry) -> AuditEntry | None:
        """The row that an entry makes; the end of a command that ran makes none, as it is told on its start."""
        if entry.act == ENDED and entry.outcome != NOT_RUN:
            self.ends.setdefault(entry.turn_id, entry)
            return None
        if entry.act != RAN:
            return entry
        end = self.ends.pop(entry.turn_id, None)
        if end is None and self.is_within:
            end = await self._end_of(entry)
        return replace(entry, outcome=end.outcome, detail=end.detail) if end else entry

    async def _end_of(self, start: AuditEntry) -> AuditEntry | None:
        """The newest end of a command before its turn ran again, or None while it runs."""
        last, end = start, None
        while True:
            async with self.database.begin() as work:
                following = await work.audit.list_after(last, first=FOLLOWING_ENTRIES)
            for entry in following:
                if entry.turn_number > start.turn_number or (entry.act == RAN and entry.turn_id == start.turn_id):
                    return end
                if entry.act == ENDED and entry.turn_id == start.turn_id:
                    end = entry
            if len(following) < FOLLOWING_ENTRIES:
                return end
            last = following[-1]


def _is_person(actor: Actor, wanted: str) -> bool:
    return actor.kind != "bot" and wanted in (actor.display.casefold(), actor.id.casefold())


async def _card_of(work: UnitOfWork, entry: AuditEntry) -> str:
    """Where the card of a turn stands; "" for what is about no turn, and for a turn that went with its agent."""
    if entry.turn_id is None:
        return ""
    try:
        return (await work.turns.get(entry.channel, entry.turn_id)).shown_as
    except NotFound:
        return ""
