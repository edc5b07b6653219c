"""Repository of notes and notices."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Row, bindparam, insert, select, update

from agent_core.errors import NotFound
from agent_core.model.agent import Agent
from agent_core.model.ids import NoticeId, TurnId
from agent_core.model.note import Note, Notice
from agent_core.model.origin import ChannelScope
from agent_core.persistence.json_codec import encode
from agent_core.persistence.tables import UNTOLD, WAITING, notes, notices
from agent_core.persistence.text_search import put_text
from agent_core.persistence.write_buffer import SqlRepository, agent_values, read_value

_NOTES = (
    select(notes.c.data, notes.c.taken_into)
    .where(notes.c.agent_id == bindparam("of_agent"), notes.c.channel == bindparam("in_channel"))
    .order_by(notes.c.at, notes.c.id)
)
_NOTES_SINCE = _NOTES.where(notes.c.at >= bindparam("since"))
_WAITING = _NOTES.where(WAITING)
_ADD = insert(notes)
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
        self._buffer.queue(_ADD, _columns(note) | {"taken_into": note.taken_into})
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
