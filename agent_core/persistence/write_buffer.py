"""Buffers the writes of one unit of work until its commit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from sqlalchemy import Executable, Row

from agent_core.errors import UnreadableRecord
from agent_core.model.agent import Agent
from agent_core.persistence.connections import Connections
from agent_core.persistence.json_codec import UnknownFields, decode_all
from agent_core.persistence.outages import translate_conflict
from agent_core.persistence.writes import RECORDS, BufferedWrite, DecidedWrite, Values, Write, Writes

T = TypeVar("T")


class WriteBuffer:
    """Runs reads immediately and writes at `commit`. In between it holds no connection and no lock."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._writes: dict[object, BufferedWrite] = {}
        self._is_open = True

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
    ) -> None:
        """Queue a write for the commit; it replaces a queued write with the same `key`."""
        self.check_open()
        self._writes[object() if key is None else key] = Write(statement, values, checked, rank)

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
                await self._connections.write(
                    Writes(tuple(sorted(self._writes.values(), key=lambda write: write.rank)))
                )

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
    except ValueError as fault:
        raise UnreadableRecord(kind.__name__.casefold()) from fault


def agent_values(agent: Agent) -> dict[str, Any]:
    """The bind parameters `of_agent` and `in_channel`, for statements on the records of one agent."""
    return {"of_agent": agent.id, "in_channel": agent.channel.key}
