"""Repository of filled-in forms that a button opens again."""

from datetime import datetime

from sqlalchemy import bindparam, delete, select, text, tuple_

from agent_core.model.draft import MAX_FORMS, MAX_FORMS_OF_PERSON, FormDraft
from agent_core.model.origin import ChannelScope
from agent_core.persistence.json_codec import encode
from agent_core.persistence.tables import form_drafts
from agent_core.persistence.write_buffer import SqlRepository

_COLUMNS = form_drafts.c
_KEY = tuple_(_COLUMNS.channel, _COLUMNS.person, _COLUMNS.key)
_GET = select(_COLUMNS.data).where(
    _COLUMNS.channel == bindparam("in_channel"),
    _COLUMNS.person == bindparam("of_person"),
    _COLUMNS.key == bindparam("under"),
    _COLUMNS.expires_at > bindparam("now"),
)
_PUT = text(
    "INSERT INTO form_drafts (channel, person, key, agent_id, expires_at, data)"
    " VALUES (:channel, :person, :key, :agent_id, :expires_at, :data)"
    " ON CONFLICT (channel, person, key) DO UPDATE"
    " SET agent_id = excluded.agent_id, expires_at = excluded.expires_at, data = excluded.data"
).bindparams(*(bindparam(column.name, type_=column.type) for column in _COLUMNS))
_NEWEST_FIRST = select(_COLUMNS.channel, _COLUMNS.person, _COLUMNS.key).order_by(
    _COLUMNS.expires_at.desc(), _COLUMNS.key
)
_OF_PERSON = _COLUMNS.person == bindparam("of_person")
_TRIM_OF_PERSON = delete(form_drafts).where(_KEY.in_(_NEWEST_FIRST.where(_OF_PERSON).offset(MAX_FORMS_OF_PERSON)))
_TRIM = delete(form_drafts).where(_KEY.in_(_NEWEST_FIRST.offset(MAX_FORMS)))
_EXPIRED = _COLUMNS.expires_at <= bindparam("now")
_HAS_EXPIRED = select(_COLUMNS.key).where(_EXPIRED).limit(1)
_EXPIRE = delete(form_drafts).where(_EXPIRED)


class SqlFormDrafts(SqlRepository):
    """See `FormDrafts` in the ports."""

    async def get(self, channel: ChannelScope, person: str, key: str, now: datetime) -> FormDraft | None:
        values = {"in_channel": channel.key, "of_person": person, "under": key, "now": now}
        found = await self._buffer.values(FormDraft, _GET, values)
        return found[0] if found else None

    def put(self, form: FormDraft) -> None:
        form.require_size()
        columns = {"channel": form.channel.key, "person": form.person, "key": form.key, "agent_id": form.agent_id}
        self._buffer.queue(_PUT, {**columns, "expires_at": form.expires_at, "data": encode(form)})
        self._buffer.queue(_TRIM_OF_PERSON, {"of_person": form.person})
        self._buffer.queue(_TRIM, {})

    async def expire(self, now: datetime) -> bool:
        if not await self._buffer.rows(_HAS_EXPIRED, {"now": now}):
            return False
        self._buffer.queue(_EXPIRE, {"now": now})
        return True
