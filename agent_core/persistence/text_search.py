"""Repository of the search: saves the folded text of agents, turns and notes, and finds words or a changed file."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, Table, bindparam, or_, select, text

from agent_core.errors import SearchTooLong
from agent_core.model.agent import Agent
from agent_core.model.note import Note
from agent_core.model.origin import ChannelScope
from agent_core.model.records.text_search import fold, texts_of
from agent_core.model.turn import Turn, changes_file
from agent_core.persistence.connections import TooLong, Values
from agent_core.persistence.json_codec import decode_once
from agent_core.persistence.tables import AnyText, agents, notes, texts, turns
from agent_core.persistence.write_buffer import SqlRepository, UnsavedRecords, WriteBuffer, agent_values

R = TypeVar("R", bound=Agent | Turn | Note)
A = TypeVar("A", Agent, Turn)

MOST_SECONDS = 10.0  # of one search: for a million records on SQLite it takes three
BATCH_ROWS = 100
TABLES: Mapping[type[Any], Table] = {Agent: agents, Turn: turns, Note: notes}

# Without its agent, which this unit of work may remove, a text is not saved.
_PUT = text(
    "INSERT INTO texts (kind, id, channel, agent_id, folded)"
    " SELECT :kind, :the_id, channel, id, :folded FROM agents WHERE id = :of_agent"
    " ON CONFLICT (kind, id) DO UPDATE SET folded = excluded.folded WHERE texts.folded != excluded.folded"
).bindparams(*(bindparam(name, type_=AnyText) for name in ("kind", "the_id", "folded", "of_agent")))


class SqlTextSearch(SqlRepository):
    """See `TextSearch` in the ports."""

    async def agents(
        self, channels: Sequence[ChannelScope], words: Sequence[str], *, before: str = "", most: int
    ) -> tuple[Agent, ...]:
        return await self._find(Agent, channels, words, before, most)

    async def turns(
        self, channels: Sequence[ChannelScope], words: Sequence[str], *, before: str = "", most: int
    ) -> tuple[Turn, ...]:
        return await self._find(Turn, channels, words, before, most)

    async def notes(
        self, channels: Sequence[ChannelScope], words: Sequence[str], *, before: str = "", most: int
    ) -> tuple[Note, ...]:
        return await self._find(Note, channels, words, before, most)

    async def turns_changing(self, agent: Agent, path: str, *, among: int, most: int) -> tuple[tuple[Turn, ...], bool]:
        c, parts = turns.c, path.split("/")
        statement = (
            select(c.data)
            .where(*_of_agent(turns), c.number > bindparam("after"), c.state == "done")
            .where(or_(_contains(c.data, '"write"'), _contains(c.data, '"delete"')))
            .where(or_(*(_contains(c.data, json.dumps(parts[end])[1:-1]) for end in (0, -1))))
            .order_by(c.number.desc())
            .limit(most)
        )
        rows = await self._buffer.rows(statement, {**agent_values(agent), "after": agent.turns - among})
        found = await asyncio.to_thread(lambda: tuple(_read_known(Turn, rows)))
        return tuple(turn for turn in found if changes_file(turn, path)), len(rows) == most

    async def notes_adding(self, agent: Agent, path: str, *, most: int) -> tuple[tuple[Note, ...], bool]:
        c = notes.c
        statement = (
            select(c.data, c.taken_into)
            .where(*_of_agent(notes), _contains(c.data, f'"file":{json.dumps(path)}'))
            .order_by(c.at.desc(), c.id.desc())
            .limit(most)
        )
        rows = await self._buffer.rows(statement, agent_values(agent))
        return tuple(note for note in _read_known(Note, rows) if note.file == path), len(rows) == most

    async def _find(
        self, kind: type[R], channels: Sequence[ChannelScope], words: Sequence[str], before: str, most: int
    ) -> tuple[R, ...]:
        c, of = texts.c, TABLES[kind]
        found = select(c.id).where(c.kind == kind.__name__, c.channel.in_([channel.key for channel in channels]))
        found = found.where(*(_contains(c.folded, word) for word in words))
        if before:
            found = found.where(c.id < before)
        found = found.order_by(c.id.desc()).limit(most)
        statement = select(of).where(of.c.id.in_(found)).order_by(of.c.id.desc())
        try:
            rows = await self._buffer.rows(statement, {}, MOST_SECONDS)
        except TooLong:
            raise SearchTooLong(MOST_SECONDS) from None
        return await asyncio.to_thread(lambda: tuple(_read_known(kind, rows)))


def put_text(buffer: WriteBuffer, record: Agent | Turn | Note) -> None:
    """Save what is searched of a record, after the record."""
    values = _text_values(record)
    buffer.queue(_PUT, values, key=("text", values["kind"], record.id))


def put_changed_text(buffer: WriteBuffer, pending: UnsavedRecords[A], record: A) -> None:
    """As `put_text`, unless it is the text that the unit of work read."""
    before = pending.as_read(record)
    if before is None or texts_of(before) != texts_of(record):
        put_text(buffer, record)


def put_all_texts(connection: Connection) -> None:
    """Save the texts of all records, but of those that a newer release saved; for a migration."""
    for kind, table in TABLES.items():
        statement = select(table.c.data).execution_options(yield_per=BATCH_ROWS)
        for rows in connection.execute(statement).partitions():
            if values := [_text_values(record) for record in _read_known(kind, rows)]:
                connection.execute(_PUT, values)


def _text_values(record: Agent | Turn | Note) -> Values:
    agent_id = record.id if isinstance(record, Agent) else record.agent_id
    folded = fold("\n".join(each.text for each in texts_of(record)))
    return {"kind": type(record).__name__, "the_id": record.id, "of_agent": agent_id, "folded": folded}


def _contains(column: ColumnElement[str], part: str) -> ColumnElement[bool]:
    return column.contains(part, autoescape=True)


def _of_agent(table: Table) -> tuple[ColumnElement[bool], ...]:
    return table.c.agent_id == bindparam("of_agent"), table.c.channel == bindparam("in_channel")


def _read_known(kind: type[R], rows: Sequence[Row[Any]]) -> Iterator[R]:
    for row in rows:
        with suppress(ValueError):  # saved by a newer release
            record = decode_once(kind, row.data)
            yield replace(record, taken_into=row.taken_into) if "taken_into" in row._fields else record
