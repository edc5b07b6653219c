"""Keeps the writes and unsaved records of a unit of work until its commit; base of SQL repositories; that of jobs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from sqlalchemy import Executable, Row, text

from agent_core.errors import NotFound, UnreadableRecord
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.origin import ChannelScope
from agent_core.model.records.operations import QueueState, WorkerLoad
from agent_core.model.turn import Turn
from agent_core.persistence.connections import (
    JOBS,
    RECORDS,
    BufferedWrite,
    Connections,
    DecidedWrite,
    Values,
    Write,
    Writes,
    translate_conflict,
)
from agent_core.persistence.json_codec import UnknownFields, decode_all

T = TypeVar("T")


class WriteBuffer:
    """Runs reads immediately and writes at `commit`. In between it holds no connection and no lock."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._writes: dict[object, BufferedWrite] = {}
        self._is_open = True
        self.is_on_server = connections.is_server

    def check_open(self) -> None:
        """Raise RuntimeError once the unit of work has ended."""
        if not self._is_open:
            raise RuntimeError("This unit of work has ended: begin another.")

    async def rows(self, statement: Executable, values: Values, seconds: float | None = None) -> Sequence[Row[Any]]:
        """Run a query on committed data; raise DatabaseAway, and TooLong if it takes longer than `seconds`."""
        self.check_open()
        with self._connections.outages.watch():
            return await self._connections.rows(statement, values, seconds)

    async def values(self, kind: type[T], statement: Executable, values: Values) -> tuple[T, ...]:
        """Run a query and decode the column `data`; raise UnreadableRecord."""
        return tuple(read_value(kind, row.data)[0] for row in await self.rows(statement, values))

    def queue(
        self,
        statement: Executable,
        values: Values | Sequence[Values],
        *,
        key: object = None,
        checked: bool = False,
        rank: int = RECORDS,
        place: str = "",
    ) -> None:
        """Queue a write for the commit; it replaces a queued write with the same `key`."""
        self.check_open()
        self._writes[object() if key is None else key] = Write(statement, values, checked, rank, place)

    def add_values(self, key: object, values: Values) -> bool:
        """Let the queued write with this key save these columns too; return False if there is none."""
        self.check_open()
        queued = self._writes.get(key)
        if not isinstance(queued, Write) or not isinstance(queued.values, Mapping):
            return False
        self._writes[key] = replace(queued, values={**queued.values, **values})
        return True

    def queue_decided(self, write: DecidedWrite) -> None:
        """Queue a write that depends on what the commit's transaction reads."""
        self.check_open()
        self._writes[object()] = write

    async def commit(self) -> None:
        """Run the queued writes in one transaction and end the unit of work; raise Conflict or DatabaseAway."""
        self.check_open()
        self.close()
        if self._writes:
            with self._connections.outages.watch(is_write=True), translate_conflict():
                ordered = sorted(self._writes.values(), key=lambda write: (write.rank, write.place))
                await self._connections.write(Writes(tuple(ordered)))

    async def empty_journal(self) -> bool:
        """See `Deletions.empty_journal`."""
        self.check_open()
        with self._connections.outages.watch():
            return await self._connections.empty_journal()

    def close(self) -> None:
        self._is_open = False


class SqlRepository:
    """Base class of the SQL repositories. Each handles one kind of record for the unit of work that owns the buffer."""

    def __init__(self, buffer: WriteBuffer) -> None:
        self._buffer = buffer


def read_value(kind: type[T], data: str) -> tuple[T, UnknownFields | None]:
    """A value from the column `data`, and the fields that this release does not know; raise UnreadableRecord."""
    try:
        return decode_all(kind, data)
    except (ValueError, RecursionError) as fault:
        raise UnreadableRecord(kind.__name__.casefold()) from fault


def agent_values(agent: Agent) -> dict[str, Any]:
    """The bind parameters `of_agent` and `in_channel`, for statements on the records of one agent."""
    return {"of_agent": agent.id, "in_channel": agent.channel.key}


R = TypeVar("R", Agent, Turn)


class UnsavedRecords(Generic[R]):
    """The records of one kind, agents or turns. `check_open` raises RuntimeError once the unit of work has ended."""

    def __init__(self, kind: str, check_open: Callable[[], None]) -> None:
        self._kind = kind
        self._check_open = check_open
        self._revisions: dict[str, int] = {}
        self._as_read: dict[str, R] = {}
        self._values: dict[str, R | None] = {}
        self._unknown: dict[str, UnknownFields] = {}

    def read(self, record: R, revision: int, unknown: UnknownFields | None = None) -> R:
        """Note the revision at which the record was first read, to detect conflicts; return the record.

        `unknown`: the fields that this release does not know, which its next save writes back.
        """
        self._revisions.setdefault(record.id, revision)
        self._as_read.setdefault(record.id, record)
        if unknown:
            self._unknown.setdefault(record.id, unknown)
        return record

    def as_read(self, record: R) -> R | None:
        """The record as it was first read; None if this unit of work adds it."""
        return self._as_read.get(record.id)

    def unknown_fields(self, record: R) -> UnknownFields | None:
        """The fields that the record was read with and that this release does not know."""
        return self._unknown.get(record.id)

    def find(self, record_id: str, channel: ChannelScope | None = None) -> R | None:
        """The value that this unit of work will save, or None if it is to be read.

        Raise NotFound if this unit of work removes the record, or if the record belongs to another channel.
        """
        self._check_open()
        if record_id not in self._values:
            return None
        record = self._values[record_id]
        if record is None or channel not in (None, record.channel):
            raise self.missing(record_id)
        return record

    def missing(self, record_id: str) -> NotFound:
        return NotFound(self._kind, record_id)

    def latest(self, record: R) -> R | None:
        """The record as this unit of work changed it: as given if nothing was saved, None if the record was removed."""
        return self._values.get(record.id, record)

    def add(self, record: R) -> None:
        self._check_open()
        self._values[record.id] = record

    def save(self, record: R) -> int | None:
        """Remember the value; return the revision that was read, or None for a record added in this unit of work."""
        self._check_open()
        is_known = record.id in self._revisions or record.id in self._values
        if not is_known or self._values.get(record.id, record) is None:
            raise LookupError(f"The {self._kind} {record.id} is saved but was not read in this unit of work.")
        self._values[record.id] = record
        return self._revisions.get(record.id)

    def remove(self, record: R) -> int | None:
        """Remember that the record is removed; return the revision that was read, or None for an unread record."""
        self._check_open()
        self._values[record.id] = None
        return self._revisions.get(record.id)


# The queue is the surface, so that only processes that can show the agent take the job. Jobs with one lock run one at
# a time. See procrastinate.readthedocs.io, "Locks" and "Defer a job".
_DEFER = """
SELECT procrastinate_defer_jobs_v1(ARRAY[ROW(surface, 'advance', 0, id, NULL, jsonb_build_object('agent', id), NULL)
    ::procrastinate_job_to_defer_v1]) FROM agents"""
# An agent of a terminal is advanced by its own process, which queues nothing. A waiting job is enough for all wakes: it
# is locked until this commit, so that it cannot run before what it is to see.
_DEFER_ONE = text(
    f"{_DEFER} WHERE id = :the_id AND surface <> 'terminal' AND NOT EXISTS "
    "(SELECT FROM procrastinate_jobs WHERE lock = agents.id AND status = 'todo' FOR UPDATE)"
)
_DEFER_IDLE = text(
    f"{_DEFER} WHERE id = ANY(:ids) AND NOT EXISTS "
    "(SELECT FROM procrastinate_jobs WHERE lock = agents.id AND status IN ('todo', 'doing'))"
)
_ABORT = text(
    "SELECT procrastinate_cancel_job_v1(id, true, false) FROM procrastinate_jobs "
    "WHERE lock = :the_id AND status = 'doing'"
)
_HOLD = text(
    "UPDATE procrastinate_jobs SET attempts = attempts WHERE id = :the_id AND worker_id = :worker AND status = 'doing'"
)

_HAS_WORKERS = text("SELECT to_regclass('procrastinate_workers') IS NOT NULL AS made")
_WORKERS = text("SELECT count(*) AS number FROM procrastinate_workers WHERE last_heartbeat > now() - interval '5 s'")

_LOADS = text(
    "SELECT w.id, count(j.id) AS number,"
    " (SELECT min(application_name) FROM pg_stat_activity"  # its connections say which process it is
    "  WHERE datname = current_database() AND application_name LIKE 'signoff worker ' || w.id || ': %') AS process,"
    " (array_agg(j.lock ORDER BY j.id) FILTER (WHERE j.id IS NOT NULL))[1:5] AS agents"
    " FROM procrastinate_workers w LEFT JOIN procrastinate_jobs j ON j.worker_id = w.id AND j.status = 'doing'"
    " WHERE w.last_heartbeat > now() - interval '5 s' GROUP BY w.id ORDER BY w.id"
)
_STATE = text(
    "SELECT count(*) FILTER (WHERE j.status = 'todo') AS waiting,"
    " count(*) FILTER (WHERE j.status = 'doing') AS running,"
    " min(e.at) FILTER (WHERE j.status = 'todo') AS oldest FROM procrastinate_jobs j"
    " LEFT JOIN procrastinate_events e ON e.job_id = j.id AND e.type = 'deferred'"
    " WHERE j.status IN ('todo', 'doing')"
)


class SqlJobs(SqlRepository):
    """See `Jobs` in the ports."""

    def defer(self, agent_id: AgentId) -> None:
        self._buffer.queue(_DEFER_ONE, {"the_id": agent_id}, key=("job", agent_id), rank=JOBS)

    def defer_idle(self, agent_ids: Sequence[AgentId]) -> None:
        self._buffer.queue(_DEFER_IDLE, {"ids": list(agent_ids)}, rank=JOBS)

    def abort(self, agent_id: AgentId) -> None:
        self._buffer.queue(_ABORT, {"the_id": agent_id}, rank=JOBS)

    def hold(self, job_id: int, worker_id: int) -> None:
        self._buffer.queue(_HOLD, {"the_id": job_id, "worker": worker_id}, checked=True, rank=JOBS)

    async def count_workers(self) -> int:
        if not await self._is_made():
            return 0
        number: int = (await self._buffer.rows(_WORKERS, {}))[0].number
        return number

    async def list_workers(self) -> tuple[WorkerLoad, ...]:
        if not (self._buffer.is_on_server and await self._is_made()):
            return ()
        rows = await self._buffer.rows(_LOADS, {})
        names = {row.id: (row.process or "").partition(": ")[2] or f"Worker {row.id}" for row in rows}
        return tuple(WorkerLoad(names[row.id], row.number, tuple(map(AgentId, row.agents or ()))) for row in rows)

    async def state(self) -> QueueState | None:
        if not (self._buffer.is_on_server and await self._is_made()):
            return None
        row = (await self._buffer.rows(_STATE, {}))[0]
        return QueueState(row.waiting, row.running, row.oldest)

    async def _is_made(self) -> bool:
        """Whether Procrastinate's tables are there."""
        made: bool = (await self._buffer.rows(_HAS_WORKERS, {}))[0].made
        return made
