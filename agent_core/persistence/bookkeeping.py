"""Repositories of platform events, preferences, forms, installations and unfinished deletions."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Integer, Row, bindparam, delete, func, insert, select, text, tuple_, update
from sqlalchemy import text as sql

from agent_core.model.draft import MAX_FORMS, MAX_FORMS_OF_PERSON, FormDraft
from agent_core.model.ids import AgentId
from agent_core.model.origin import ChannelScope, Installation, InstalledOn, SurfaceName
from agent_core.model.records.deletion import Deletion
from agent_core.persistence.json_codec import encode
from agent_core.persistence.tables import AnyText, deletions, deliveries, form_drafts, installations, preferences
from agent_core.persistence.write_buffer import SqlRepository, WriteBuffer

_PROCESSED = select(deliveries.c.id).where(deliveries.c.id == bindparam("the_id"))
_CLAIM = insert(deliveries)
_FORGET = delete(deliveries).where(deliveries.c.at < bindparam("before"))
_PREFERENCE = select(preferences.c.text).where(
    preferences.c.channel == bindparam("in_channel"), preferences.c.key == bindparam("under")
)
_PREFIXED = select(preferences.c.key, preferences.c.text).where(
    preferences.c.channel == bindparam("in_channel"),
    func.substr(preferences.c.key, 1, bindparam("length", type_=Integer)) == bindparam("prefix", type_=AnyText),
)
_OF_KEY = select(preferences.c.text).where(
    preferences.c.key == bindparam("under"), preferences.c.channel.startswith(bindparam("prefix", type_=AnyText))
)
_ADD_PREFERENCE = insert(preferences)
_EXCHANGE_PREFERENCE = update(preferences).where(
    preferences.c.channel == bindparam("in_channel"),
    preferences.c.key == bindparam("under"),
    preferences.c.text == bindparam("before"),
)
_PUT_PREFERENCE = sql(
    "INSERT INTO preferences (channel, key, text) VALUES (:channel, :key, :text)"
    " ON CONFLICT (channel, key) DO UPDATE SET text = excluded.text"
).bindparams(*(bindparam(name, type_=AnyText) for name in ("channel", "key", "text")))


class SqlDeliveries(SqlRepository):
    """See `Deliveries` in the ports."""

    def __init__(self, buffer: WriteBuffer) -> None:
        super().__init__(buffer)
        self._claimed: set[str] = set()

    async def first_time(self, delivery: str, at: datetime) -> bool:
        if delivery in self._claimed or await self._buffer.rows(_PROCESSED, {"the_id": delivery}):
            return False
        self._claimed.add(delivery)
        self._buffer.queue(_CLAIM, {"id": delivery, "at": at})
        return True

    def forget(self, before: datetime) -> None:
        self._buffer.queue(_FORGET, {"before": before})


class SqlPreferences(SqlRepository):
    """See `Preferences` in the ports."""

    async def get(self, channel: ChannelScope, key: str) -> str | None:
        rows = await self._buffer.rows(_PREFERENCE, {"in_channel": channel.key, "under": key})
        return str(rows[0].text) if rows else None

    async def list_by_prefix(self, channel: ChannelScope, prefix: str) -> Mapping[str, str]:
        values = {"in_channel": channel.key, "prefix": prefix, "length": len(prefix)}
        return {str(row.key): str(row.text) for row in await self._buffer.rows(_PREFIXED, values)}

    async def list_by_key(self, key: str, surface: SurfaceName) -> tuple[str, ...]:
        rows = await self._buffer.rows(_OF_KEY, {"under": key, "prefix": f"{surface}/"})
        return tuple(str(row.text) for row in rows)

    def add(self, channel: ChannelScope, key: str, text: str) -> None:
        self._buffer.queue(_ADD_PREFERENCE, {"channel": channel.key, "key": key, "text": text})

    def exchange(self, channel: ChannelScope, key: str, before: str | None, text: str) -> None:
        if before is None:
            self.add(channel, key, text)
        else:
            where = {"in_channel": channel.key, "under": key, "before": before}
            self._buffer.queue(_EXCHANGE_PREFERENCE, {"text": text, **where}, checked=True)

    def put(self, channel: ChannelScope, key: str, text: str) -> None:
        self._buffer.queue(
            _PUT_PREFERENCE, {"channel": channel.key, "key": key, "text": text}, key=("preference", channel, key)
        )


_DELETION = deletions.c
_PAGE = (
    select(deletions)
    .where(_DELETION.agent_id > bindparam("after"))
    .order_by(_DELETION.agent_id)
    .limit(bindparam("most"))
)
_ADD_DELETION = insert(deletions)
_FINISH = delete(deletions).where(_DELETION.agent_id == bindparam("the_id"))


class SqlDeletions(SqlRepository):
    """See `Deletions` in the ports."""

    async def page(self, *, most: int, after: str = "") -> tuple[Deletion, ...]:
        rows = await self._buffer.rows(_PAGE, {"after": after, "most": most})
        return tuple(
            Deletion(
                agent_id=AgentId(row.agent_id),
                channel=ChannelScope.parse(row.channel),
                head=AgentId(row.head) if row.head else None,
                index=row.index_name,
                at=row.at,
            )
            for row in rows
        )

    def add(self, deletion: Deletion) -> None:
        columns = {"agent_id": deletion.agent_id, "channel": deletion.channel.key, "head": deletion.head}
        self._buffer.queue(_ADD_DELETION, {**columns, "index_name": deletion.index, "at": deletion.at})

    def finish(self, deletions: Sequence[Deletion]) -> None:
        if deletions:
            self._buffer.queue(_FINISH, [{"the_id": each.agent_id} for each in deletions])

    async def empty_journal(self) -> bool:
        return await self._buffer.empty_journal()


_DRAFT = form_drafts.c
_KEY = tuple_(_DRAFT.channel, _DRAFT.person, _DRAFT.key)
_GET_DRAFT = select(_DRAFT.data).where(
    _DRAFT.channel == bindparam("in_channel"),
    _DRAFT.person == bindparam("of_person"),
    _DRAFT.key == bindparam("under"),
    _DRAFT.expires_at > bindparam("now"),
)
_PUT_DRAFT = text(
    "INSERT INTO form_drafts (channel, person, key, agent_id, expires_at, data)"
    " VALUES (:channel, :person, :key, :agent_id, :expires_at, :data)"
    " ON CONFLICT (channel, person, key) DO UPDATE"
    " SET agent_id = excluded.agent_id, expires_at = excluded.expires_at, data = excluded.data"
).bindparams(*(bindparam(column.name, type_=column.type) for column in _DRAFT))
_NEWEST_FIRST = select(_DRAFT.channel, _DRAFT.person, _DRAFT.key).order_by(_DRAFT.expires_at.desc(), _DRAFT.key)
_OF_PERSON = _DRAFT.person == bindparam("of_person")
_TRIM_OF_PERSON = delete(form_drafts).where(_KEY.in_(_NEWEST_FIRST.where(_OF_PERSON).offset(MAX_FORMS_OF_PERSON)))
_TRIM = delete(form_drafts).where(_KEY.in_(_NEWEST_FIRST.offset(MAX_FORMS)))
_IS_EXPIRED = _DRAFT.expires_at <= bindparam("now")
_HAS_EXPIRED = select(_DRAFT.key).where(_IS_EXPIRED).limit(1)
_EXPIRE_DRAFTS = delete(form_drafts).where(_IS_EXPIRED)


class SqlFormDrafts(SqlRepository):
    """See `FormDrafts` in the ports."""

    async def get(self, channel: ChannelScope, person: str, key: str, now: datetime) -> FormDraft | None:
        values = {"in_channel": channel.key, "of_person": person, "under": key, "now": now}
        found = await self._buffer.values(FormDraft, _GET_DRAFT, values)
        return found[0] if found else None

    def put(self, form: FormDraft) -> None:
        form.require_size()
        columns = {"channel": form.channel.key, "person": form.person, "key": form.key, "agent_id": form.agent_id}
        self._buffer.queue(_PUT_DRAFT, {**columns, "expires_at": form.expires_at, "data": encode(form)})
        self._buffer.queue(_TRIM_OF_PERSON, {"of_person": form.person})
        self._buffer.queue(_TRIM, {})

    async def expire(self, now: datetime) -> bool:
        if not await self._buffer.rows(_HAS_EXPIRED, {"now": now}):
            return False
        self._buffer.queue(_EXPIRE_DRAFTS, {"now": now})
        return True


_INSTALLATION = installations.c
_ON = _INSTALLATION.surface == bindparam("on_surface")
_THIS = _INSTALLATION.workspace == bindparam("in_workspace")
_OF = select(installations).where(_ON).order_by(_INSTALLATION.workspace)
_GET_INSTALLATION = select(installations).where(_ON, _THIS)
_PUT_INSTALLATION = text(
    "INSERT INTO installations (surface, workspace, name, sealed, installed_at)"
    " VALUES (:surface, :workspace, :name, :sealed, :installed_at)"
    " ON CONFLICT (surface, workspace) DO UPDATE"
    " SET name = excluded.name, sealed = excluded.sealed, installed_at = excluded.installed_at"
).bindparams(*(bindparam(column.name, type_=column.type) for column in _INSTALLATION))
_REPLACE = update(installations).where(_ON, _THIS, _INSTALLATION.sealed == bindparam("replacing"))
_REMOVE = delete(installations).where(_ON, _THIS)


class SqlInstallations(SqlRepository):
    """See `Installations` in the ports."""

    async def get(self, surface: InstalledOn, workspace: str) -> Installation | None:
        rows = await self._buffer.rows(_GET_INSTALLATION, _key_values(surface, workspace))
        return _value(rows[0]) if rows else None

    async def of(self, surface: InstalledOn) -> tuple[Installation, ...]:
        return tuple(_value(row) for row in await self._buffer.rows(_OF, {"on_surface": surface}))

    def put(self, installation: Installation, *, replacing: str | None = None) -> None:
        key_values = _key_values(installation.surface, installation.workspace)
        values = {column.name: getattr(installation, column.name) for column in _INSTALLATION}
        if replacing is None:
            self._buffer.queue(_PUT_INSTALLATION, values, key=_key(key_values))
        else:
            values |= key_values | {"replacing": replacing}
            self._buffer.queue(_REPLACE, values, key=_key(key_values), checked=True)

    def remove(self, surface: InstalledOn, workspace: str) -> None:
        key_values = _key_values(surface, workspace)
        self._buffer.queue(_REMOVE, key_values, key=_key(key_values))


def _key_values(surface: InstalledOn, workspace: str) -> dict[str, object]:
    return {"on_surface": surface, "in_workspace": workspace}


def _key(key_values: dict[str, object]) -> tuple[object, ...]:
    return ("installation", *key_values.values())


def _value(row: Row[Any]) -> Installation:
    return Installation(
        surface=row.surface, workspace=row.workspace, name=row.name, sealed=row.sealed, installed_at=row.installed_at
    )
