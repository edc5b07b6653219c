"""Repositories of turns, and of notes and notices: SQL statements, and conversion of rows to values and back."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Row, bindparam, insert, select, update

from agent_core.errors import NotFound
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, NoticeId, TurnId
from agent_core.model.note import Note, Notice
from agent_core.model.origin import ChannelScope
from agent_core.model.records.timing import Timing
from agent_core.model.turn import Turn
from agent_core.persistence.connections import Values
from agent_core.persistence.json_codec import UnknownFields, decode_once, encode
from agent_core.persistence.tables import UNSHOWN, UNTOLD, WAITING, notes, notices, turns
from agent_core.persistence.text_search import put_changed_text, put_text
from agent_core.persistence.write_buffer import SqlRepository, UnsavedRecords, WriteBuffer, agent_values, read_value

_READ = select(turns.c.data, turns.c.revision, turns.c.shown_as, turns.c.shown_at, turns.c.shown_hash)
_IN_CHANNEL = turns.c.channel == bindparam("in_channel")
_BY_ID = turns.c.id == bindparam("the_id")
_OF_AGENT = turns.c.agent_id == bindparam("of_agent")
_GET = _READ.where(_BY_ID, _IN_CHANNEL)
_LAST = _READ.where(_OF_AGENT, _IN_CHANNEL).order_by(turns.c.number.desc()).limit(bindparam("last"))
_LAST_BEFORE = _LAST.where(turns.c.number < bindparam("before"))
_NEWEST = select(turns.c.data).where(_IN_CHANNEL).order_by(turns.c.id.desc()).limit(bindparam("last"))
_NEWEST_OF_AGENT = (
    select(turns.c.data).where(_OF_AGENT, _IN_CHANNEL).order_by(turns.c.number.desc()).limit(bindparam("last"))
)
_UNSHOWN = _READ.where(UNSHOWN, _OF_AGENT, _IN_CHANNEL).order_by(turns.c.number)
_ADD = insert(turns)
_SAVE = update(turns).where(_BY_ID, _IN_CHANNEL, turns.c.revision == bindparam("read"))
_SHOWN = update(turns).where(_BY_ID, _IN_CHANNEL)


class SqlTurns(SqlRepository):
    """See `Turns` in the ports."""

    def __init__(self, buffer: WriteBuffer) -> None:
        super().__init__(buffer)
        self._pending: UnsavedRecords[Turn] = UnsavedRecords("turn", buffer.check_open)
        self._shown: dict[TurnId, Values] = {}  # the columns of turns that this unit marks as shown

    async def get(self, channel: ChannelScope, turn_id: TurnId) -> Turn:
        if turn := self._pending.find(turn_id, channel):
            return turn
        rows = await self._buffer.rows(_GET, {"in_channel": channel.key, "the_id": turn_id})
        if not rows:
            raise self._pending.missing(turn_id)
        return self._read(rows)[0]

    async def of(self, agent: Agent, *, last: int, before: int | None = None) -> tuple[Turn, ...]:
        statement = _LAST if before is None else _LAST_BEFORE
        rows = await self._buffer.rows(statement, {**agent_values(agent), "last": last, "before": before})
        return self._read(rows[::-1])

    async def list_timings(
        self, channel: ChannelScope, *, last: int, agent_id: AgentId | None = None
    ) -> tuple[Timing, ...]:
        values = {"in_channel": channel.key, "last": last}
        if agent_id is None:
            rows = await self._buffer.rows(_NEWEST, values)
        else:
            rows = await self._buffer.rows(_NEWEST_OF_AGENT, {**values, "of_agent": agent_id})
        return await asyncio.to_thread(lambda: tuple(_timings(rows[::-1])))

    async def list_unshown(self, agent: Agent) -> tuple[Turn, ...]:
        return self._read(await self._buffer.rows(_UNSHOWN, agent_values(agent)))

    def add(self, turn: Turn) -> None:
        self._pending.add(turn)
        self._insert(turn)
        if not turn.is_copy:
            put_text(self._buffer, turn)

    def save(self, turn: Turn) -> None:
        read = self._pending.save(turn)
        put_changed_text(self._buffer, self._pending, turn)
        if read is None:
            self._insert(turn)
            return
        values = {**_searchable(turn, self._pending.unknown_fields(turn)), **self._shown.get(turn.id, {})}
        where = {"the_id": turn.id, "in_channel": turn.channel.key, "read": read}
        self._buffer.queue(_SAVE, {**values, "revision": read + 1, **where}, key=("turn", turn.id), checked=True)

    def mark_shown(self, turn: Turn, address: str, at: datetime | None) -> None:
        shown = {"shown_as": address, "shown_stage": turn.stage, "shown_at": at, "shown_hash": turn.control_hash}
        self._shown[turn.id] = shown
        if not self._buffer.add_values(("turn", turn.id), shown):
            self._buffer.queue(
                _SHOWN, {**shown, "the_id": turn.id, "in_channel": turn.channel.key}, key=("turn", turn.id)
            )

    def _insert(self, turn: Turn) -> None:
        fixed = {"id": turn.id, "channel": turn.channel.key, "agent_id": turn.agent_id, "number": turn.number}
        self._buffer.queue(
            _ADD,
            {**_searchable(turn), **fixed, "shown_as": turn.shown_as, **self._shown.get(turn.id, {})},
            key=("turn", turn.id),
        )

    def _read(self, rows: Sequence[Row[Any]]) -> tuple[Turn, ...]:
        return tuple(self._pending.read(*_value(row)) for row in rows)


def _searchable(turn: Turn, unknown: UnknownFields | None = None) -> dict[str, object]:
    return {"state": turn.state, "stage": turn.stage, "data": encode(turn, unknown)}


def _timings(rows: Sequence[Row[Any]]) -> Iterator[Timing]:
    for row in rows:
        with suppress(ValueError):  # saved by a newer release
            turn = decode_once(Turn, row.data)
            if not turn.is_copy:
                yield Timing.of(turn)


def _value(row: Row[Any]) -> tuple[Turn, int, UnknownFields | None]:
    """The turn with the columns that say how it was shown, its revision, and the fields that are unknown here."""
    turn, unknown = read_value(Turn, row.data)
    shown = replace(turn, shown_as=row.shown_as, shown_at=row.shown_at, shown_hash_on_card=row.shown_hash)
    return shown, row.revision, unknown


_NOTES = (
    select(notes.c.data, notes.c.taken_into)
    .where(notes.c.agent_id == bindparam("of_agent"), notes.c.channel == bindparam("in_channel"))
    .order_by(notes.c.at, notes.c.id)
)
_NOTES_SINCE = _NOTES.where(notes.c.at >= bindparam("since"))
_WAITING = _NOTES.where(WAITING)
_ADD_NOTE = insert(notes)
_TAKE = update(notes).where(notes.c.id == bindparam("the_id"), notes.c.channel == bindparam("in_channel"))
_NOTICES = (
    select(notices.c.data)
    .where(notices.c.agent_id == bindparam("of_agent"), notices.c.channel == bindparam("in_channel"))
    .order_by(notices.c.at, notices.c.id)
)
_NOTICES_SINCE = _NOTICES.where(notices.c.at >= bindparam("since"))
_NOTICE = select(notices.c.data).where(
    notices.c.id == bindparam("the_id"), notices.c.channel == bindparam("in_channel")
)
_UNTOLD = _NOTICES.where(UNTOLD)
_ANNOUNCE = insert(notices)
_TOLD = update(notices).where(notices.c.id == bindparam("the_id"), notices.c.channel == bindparam("in_channel"))


class SqlNotes(SqlRepository):
    """See `Notes` in the ports."""

    async def of(self, agent: Agent, *, since: datetime | None = None) -> tuple[Note, ...]:
        statement = _NOTES if since is None else _NOTES_SINCE
        return _notes(await self._buffer.rows(statement, {**agent_values(agent), "since": since}))

    async def list_waiting(self, agent: Agent) -> tuple[Note, ...]:
        return _notes(await self._buffer.rows(_WAITING, agent_values(agent)))

    async def notices(self, agent: Agent, *, since: datetime | None = None) -> tuple[Notice, ...]:
        statement = _NOTICES if since is None else _NOTICES_SINCE
        return await self._buffer.values(Notice, statement, {**agent_values(agent), "since": since})

    async def notice(self, channel: ChannelScope, notice_id: NoticeId) -> Notice:
        found = await self._buffer.values(Notice, _NOTICE, {"the_id": notice_id, "in_channel": channel.key})
        if not found:
            raise NotFound("notice", notice_id)
        return found[0]

    async def list_unposted(self, agent: Agent) -> tuple[Notice, ...]:
        return await self._buffer.values(Notice, _UNTOLD, agent_values(agent))

    def add(self, note: Note) -> None:
        self._buffer.queue(_ADD_NOTE, _columns(note) | {"taken_into": note.taken_into})
        put_text(self._buffer, note)

    def take(self, notes: Sequence[Note], turn_id: TurnId) -> None:
        if notes:
            taken = [{"the_id": note.id, "in_channel": note.channel.key, "taken_into": turn_id} for note in notes]
            self._buffer.queue(_TAKE, taken)

    def announce(self, notice: Notice) -> None:
        self._buffer.queue(_ANNOUNCE, _columns(notice), key=("notice", notice.id))

    def mark_posted(self, notice: Notice) -> None:
        if not self._buffer.add_values(("notice", notice.id), {"told": True}):
            self._buffer.queue(_TOLD, {"the_id": notice.id, "in_channel": notice.channel.key, "told": True})


def _columns(record: Note | Notice) -> dict[str, object]:
    return {
        "id": record.id,
        "channel": record.channel.key,
        "agent_id": record.agent_id,
        "at": record.at,
        "data": encode(record),
    }


def _notes(rows: Sequence[Row[Any]]) -> tuple[Note, ...]:
    return tuple(replace(read_value(Note, row.data)[0], taken_into=row.taken_into) for row in rows)
