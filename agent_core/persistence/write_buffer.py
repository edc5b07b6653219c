"""Buffers the writes of one unit of work until its commit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import Connection, Executable, Row

from agent_core.errors import Conflict
from agent_core.model.agent import Agent
from agent_core.persistence.connections import Connections
from agent_core.persistence.json_codec import decode
from agent_core.persistence.outages import translate_conflict, translate_outage

T = TypeVar("T")
Values: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Write:
    """A statement with its values. If it is `checked`, the commit raises Conflict when the statement changes no row."""

    statement: Executable
    values: Values | Sequence[Values]
    checked: bool


class WriteBuffer:
    """Runs reads immediately and writes at `commit`. In between it holds no connection and no lock."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._writes: dict[object, Write] = {}
        self._is_open = True

    def check_open(self) -> None:
        """Raise RuntimeError once the unit of work has ended."""
        if not self._is_open:
            raise RuntimeError("This unit of work has ended: begin another.")

    async def rows(self, statement: Executable, values: Values) -> Sequence[Row[Any]]:
        """Run a query on committed data; raise DatabaseAway."""
        self.check_open()
        with translate_outage():
            return await self._connections.read(lambda connection: connection.execute(statement, values).all())

    async def values(self, kind: type[T], statement: Executable, values: Values) -> tuple[T, ...]:
        """Run a query and decode the column `data`."""
        return tuple(decode(kind, row.data) for row in await self.rows(statement, values))

    def queue(
        self, statement: Executable, values: Values | Sequence[Values], *, key: object = None, checked: bool = False
    ) -> None:
        """Queue a write for the commit; it replaces a queued write with the same `key`."""
        self.check_open()
        self._writes[object() if key is None else key] = Write(statement, values, checked)

    async def commit(self) -> None:
        """Run the queued writes in one transaction and end the unit of work; raise Conflict or DatabaseAway."""
        self.check_open()
        self.close()
        if self._writes:
            with translate_outage(), translate_conflict():
                await self._connections.write(partial(_run, writes=tuple(self._writes.values())))

    def close(self) -> None:
        self._is_open = False


class SqlRepository:
    """Base class of the SQL repositories. Each handles one kind of record for the unit of work that owns the buffer."""

    def __init__(self, buffer: WriteBuffer) -> None:
        self._buffer = buffer


def agent_values(agent: Agent) -> dict[str, Any]:
    """The bind parameters `of_agent` and `in_channel`, for statements on the records of one agent."""
    return {"of_agent": agent.id, "in_channel": agent.channel.key}


def _run(connection: Connection, writes: Sequence[Write]) -> None:
    for write in writes:
        result = connection.execute(write.statement, write.values)
        if write.checked and result.rowcount == 0:
            raise Conflict("A record was saved elsewhere since it was read.")
