"""Search in the JSON of stored records: SQL finds those that may have the words or the file, their values decide."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

from sqlalchemy import Boolean, Column, ColumnElement, Row, Select, Table, and_, bindparam, or_, select, true
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from agent_core.model.agent import Agent
from agent_core.model.channels import ChannelScope
from agent_core.model.file_changes import changes_file
from agent_core.model.note import Note
from agent_core.model.text_search import fold, has_all, texts_of
from agent_core.model.turn import Turn
from agent_core.persistence.connections import TooLong
from agent_core.persistence.json_codec import decode_once
from agent_core.persistence.like_patterns import ESCAPE, field_pattern, patterns_of
from agent_core.persistence.tables import agents, notes, turns
from agent_core.persistence.write_buffer import SqlRepository, agent_values
from agent_core.ports.text_search import Record, SearchSlice

CHANGES = ('%"write"%', '%"delete"%')  # one of them is in the JSON of every turn of a command that changes files
MAX_CANDIDATES = 250  # of a slice, so that few texts are in memory
SLICE_SECONDS = 0.1  # for finding candidates, and again for reading their texts
SMALLER = 4  # a slice that takes longer is read again with that part of its records
FEW = 10  # records, of which one may have megabytes
_MORE_COLUMNS: Mapping[Table, tuple[Column[Any], ...]] = {notes: (notes.c.taken_into,)}


class _IsLike(FunctionElement[bool]):
    """A column of ASCII text and a pattern in lower case: whether they match, without regard to case."""

    type = Boolean()
    inherit_cache = True


@compiles(_IsLike)
def _like_on_sqlite(element: _IsLike, compiler: SQLCompiler, **options: Any) -> str:
    column, pattern = element.clauses
    return f"{compiler.process(column, **options)} LIKE {compiler.process(pattern, **options)} ESCAPE '{ESCAPE}'"


@compiles(_IsLike, "postgresql")
def _like_on_postgres(element: _IsLike, compiler: SQLCompiler, **options: Any) -> str:
    column, pattern = (compiler.process(each, **options) for each in element.clauses)
    return f"lower({column} COLLATE \"C\") LIKE {pattern} ESCAPE '{ESCAPE}'"


def _of_agent(table: Table) -> tuple[ColumnElement[bool], ...]:
    return table.c.agent_id == bindparam("of_agent"), table.c.channel == bindparam("in_channel")


def _has(end: str) -> ColumnElement[bool]:
    return and_(*(_IsLike(turns.c.data, bindparam(f"{end}{number}")) for number in (0, 1)))


_CHANGING = (
    select(turns.c.id, turns.c.data)
    .where(*_of_agent(turns), turns.c.number > bindparam("after"), turns.c.state == "done")
    .where(or_(*(_IsLike(turns.c.data, bindparam(f"changes{number}")) for number in (0, 1))))
    .where(or_(_has("first"), _has("last")))
    .order_by(turns.c.number.desc())
    .limit(bindparam("most"))
)
_ADDING = (
    select(notes.c.id, notes.c.data, notes.c.taken_into)
    .where(*_of_agent(notes), _IsLike(notes.c.data, bindparam("added")))
    .order_by(notes.c.at.desc(), notes.c.id.desc())
    .limit(bindparam("most"))
)


class SqlTextSearch(SqlRepository):
    """See `TextSearch` in the ports."""

    async def agents(
        self, channels: Sequence[ChannelScope], words: Sequence[str], *, before: str, most: int
    ) -> SearchSlice[Agent]:
        return await self._search(agents, _read_agent, channels, words, before=before, most=most)

    async def turns(
        self, channels: Sequence[ChannelScope], words: Sequence[str], *, before: str, most: int
    ) -> SearchSlice[Turn]:
        return await self._search(turns, _read_turn, channels, words, before=before, most=most)

    async def notes(
        self, channels: Sequence[ChannelScope], words: Sequence[str], *, before: str, most: int
    ) -> SearchSlice[Note]:
        return await self._search(notes, _read_note, channels, words, before=before, most=most)

    async def turns_changing(self, agent: Agent, path: str, *, among: int, most: int) -> SearchSlice[Turn]:
        first, last = (fold(path.split("/")[end]) for end in (0, -1))
        named = dict(
            zip(("first0", "first1", "last0", "last1"), (*patterns_of(first), *patterns_of(last)), strict=True)
        )
        changes = {f"changes{number}": pattern for number, pattern in enumerate(CHANGES)}
        values = {**agent_values(agent), **named, **changes, "after": agent.turns - among, "most": most}
        rows = await self._buffer.rows(_CHANGING, values)
        found = await asyncio.to_thread(lambda: tuple(_read_known(_read_turn, rows)))
        up_to = rows[-1].id if len(rows) == most else ""
        return SearchSlice(tuple(turn for turn in found if changes_file(turn, path)), up_to, most)

    async def notes_adding(self, agent: Agent, path: str, *, most: int) -> SearchSlice[Note]:
        values = {**agent_values(agent), "added": field_pattern("file", path), "most": most}
        rows = await self._buffer.rows(_ADDING, values)
        found = tuple(note for note in _read_known(_read_note, rows) if note.file == path)
        return SearchSlice(found, rows[-1].id if len(rows) == most else "", most)

    async def _search(
        self,
        table: Table,
        read: Callable[[Row[Any]], Record],
        channels: Sequence[ChannelScope],
        words: Sequence[str],
        *,
        before: str,
        most: int,
    ) -> SearchSlice[Record]:
        keys = [channel.key for channel in channels]
        if not keys:
            return SearchSlice((), "", most)
        values: dict[str, object] = {"channel": keys[0]} if len(keys) == 1 else {"channels": keys}
        if before:
            values["before"] = before
        patterns = [pattern for word in words for pattern in patterns_of(word)]
        matches = {f"pattern{number}": pattern for number, pattern in enumerate(patterns)}
        rows, up_to, most = await self._read_candidates(table, values, matches, most)
        found, last = await asyncio.to_thread(_with_words, read, rows, words)
        if len(rows) == MAX_CANDIDATES or last != len(rows):
            up_to = rows[last - 1].id
        return SearchSlice(found, up_to, most)

    async def _read_candidates(
        self, table: Table, values: Mapping[str, object], matches: Mapping[str, str], most: int
    ) -> tuple[Sequence[Row[Any]], str, int]:
        """The records of a slice that may have the words, its last id, and how many records it has at most.

        The id is "" if there are no older records. A slice that takes too long is read again with fewer records.
        """
        while True:
            end = await self._buffer.rows(_end_of_slice(table, tuple(values)), {**values, "offset": most - 1})
            up_to = {"up_to": str(end[0].id)} if end else {}
            given = {**values, **up_to, **matches}
            seconds = SLICE_SECONDS if most > FEW else None
            with suppress(TooLong):
                rows = await self._buffer.rows(_candidates(table, tuple(given)), given, seconds)
                return rows, up_to.get("up_to", ""), most
            most //= SMALLER


@cache
def _end_of_slice(table: Table, names: tuple[str, ...]) -> Select[Any]:
    """The id of the record at an offset, newest first, by an index alone.

    Of several channels it counts the records of all, because no index has their order. It reads nothing but ids.
    """
    conditions = _range(table, names)
    if "channel" in names:
        conditions.append(table.c.channel == bindparam("channel"))
    return (
        select(table.c.id).where(true(), *conditions).order_by(table.c.id.desc()).offset(bindparam("offset")).limit(1)
    )


@cache
def _candidates(table: Table, names: tuple[str, ...]) -> Select[Any]:
    """The records of a slice whose `data` matches all patterns, newest first."""
    columns = table.c
    matches = (_IsLike(columns.data, bindparam(name)) for name in names if name.startswith("pattern"))
    # Not by an index on channels: of several it would find, and sort, all records.
    channel: ColumnElement[bool] = columns.channel.concat("").in_(bindparam("channels", expanding=True))
    if "channel" in names:
        channel = columns.channel == bindparam("channel")
    found = select(columns.id, columns.data, *_MORE_COLUMNS.get(table, ()))
    return found.where(channel, *_range(table, names), *matches).order_by(columns.id.desc()).limit(MAX_CANDIDATES)


def _range(table: Table, names: Sequence[str]) -> list[ColumnElement[bool]]:
    before = [table.c.id < bindparam("before")] if "before" in names else []
    return before + ([table.c.id >= bindparam("up_to")] if "up_to" in names else [])


def _with_words(
    read: Callable[[Row[Any]], Record], rows: Sequence[Row[Any]], words: Sequence[str]
) -> tuple[tuple[Record, ...], int]:
    """The records that have the words, and how many rows were read for that: fewer than all when time is over."""
    found: list[Record] = []
    ends_at = time.perf_counter() + SLICE_SECONDS
    for number, row in enumerate(rows, 1):
        with suppress(ValueError):  # saved by a newer release
            if has_all(texts_of(record := read(row)), words):
                found.append(record)
        if time.perf_counter() > ends_at:
            return tuple(found), number
    return tuple(found), len(rows)


def _read_known(read: Callable[[Row[Any]], Record], rows: Sequence[Row[Any]]) -> Iterator[Record]:
    for row in rows:
        with suppress(ValueError):  # saved by a newer release
            yield read(row)


def _read_agent(row: Row[Any]) -> Agent:
    return decode_once(Agent, row.data)


def _read_turn(row: Row[Any]) -> Turn:
    return decode_once(Turn, row.data)


def _read_note(row: Row[Any]) -> Note:
    return replace(decode_once(Note, row.data), taken_into=row.taken_into)
