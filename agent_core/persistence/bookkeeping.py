"""Repositories of processed platform events, the decision log and preferences."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Integer, bindparam, delete, func, insert, or_, select
from sqlalchemy import text as sql

from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, new_id
from agent_core.model.origin import ChannelScope
from agent_core.model.records.audit import AuditEntry
from agent_core.persistence.json_codec import encode
from agent_core.persistence.tables import AnyText, audit, deliveries, preferences
from agent_core.persistence.write_buffer import SqlRepository, WriteBuffer, agent_values

_PROCESSED = select(deliveries.c.id).where(deliveries.c.id == bindparam("the_id"))
_CLAIM = insert(deliveries)
_FORGET = delete(deliveries).where(deliveries.c.at < bindparam("before"))
_IN_CHANNEL = select(audit.c.data).where(audit.c.channel == bindparam("in_channel")).order_by(audit.c.at, audit.c.id)
_ENTRIES = _IN_CHANNEL.where(audit.c.agent_id == bindparam("of_agent"))
_NEWEST = (
    select(audit.c.data)
    .where(audit.c.channel == bindparam("in_channel"))
    .order_by(audit.c.at.desc(), audit.c.id.desc())
    .limit(bindparam("last", type_=Integer))
)
_CURSOR = audit.alias("found")
_BEFORE = _NEWEST.where(
    _CURSOR.c.id == bindparam("before"),
    _CURSOR.c.channel == bindparam("in_channel"),
    audit.c.at <= _CURSOR.c.at,  # uses the index; the next condition breaks ties
    or_(audit.c.at < _CURSOR.c.at, audit.c.id < _CURSOR.c.id),
)
_OF_AGENT = audit.c.agent_id == bindparam("of_agent")
_PAGES = {  # by whether the page has a beginning, and is about one agent
    (False, False): _NEWEST,
    (True, False): _BEFORE,
    (False, True): _NEWEST.where(_OF_AGENT),
    (True, True): _BEFORE.where(_OF_AGENT),
}
_FOLLOWING = _ENTRIES.where(
    audit.c.at >= bindparam("since"), or_(audit.c.at > bindparam("since"), audit.c.id > bindparam("the_id"))
).limit(bindparam("first", type_=Integer))
_APPEND = insert(audit)
# Ids begin with their time, so the bound on the id spares a scan: there is no index on the time alone.
_EXPIRED = (
    select(audit.c.id)
    .where(audit.c.id < bindparam("before_id"), audit.c.at < bindparam("before"))
    .order_by(audit.c.id)
    .limit(bindparam("most", type_=Integer))
)
_EXPIRE = delete(audit).where(audit.c.id.in_(bindparam("ids", expanding=True)))
_PREFERENCE = select(preferences.c.text).where(
    preferences.c.channel == bindparam("in_channel"), preferences.c.key == bindparam("under")
)
_PREFIXED = select(preferences.c.key, preferences.c.text).where(
    preferences.c.channel == bindparam("in_channel"),
    func.substr(preferences.c.key, 1, bindparam("length", type_=Integer)) == bindparam("prefix", type_=AnyText),
)
_ADD = insert(preferences)
_PUT = sql(
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


class SqlAudit(SqlRepository):
    """See `Audit` in the ports."""

    async def of(self, agent: Agent) -> tuple[AuditEntry, ...]:
        return await self._buffer.values(AuditEntry, _ENTRIES, agent_values(agent))

    async def in_channel(self, channel: ChannelScope) -> tuple[AuditEntry, ...]:
        return await self._buffer.values(AuditEntry, _IN_CHANNEL, {"in_channel": channel.key})

    async def page(
        self, channel: ChannelScope, *, last: int, before: str = "", agent_id: AgentId | None = None
    ) -> tuple[AuditEntry, ...]:
        values = {"in_channel": channel.key, "last": last, "before": before, "of_agent": agent_id}
        return await self._buffer.values(AuditEntry, _PAGES[bool(before), agent_id is not None], values)

    async def list_after(self, entry: AuditEntry, *, first: int) -> tuple[AuditEntry, ...]:
        columns = {"of_agent": entry.agent_id, "in_channel": entry.channel.key, "since": entry.at, "the_id": entry.id}
        return await self._buffer.values(AuditEntry, _FOLLOWING, {**columns, "first": first})

    async def list_expired(self, before: datetime, *, most: int) -> tuple[str, ...]:
        values = {"before": before, "before_id": new_id(before), "most": most}
        return tuple(row.id for row in await self._buffer.rows(_EXPIRED, values))

    def expire(self, ids: Sequence[str]) -> None:
        self._buffer.queue(_EXPIRE, {"ids": list(ids)})

    def append(self, entry: AuditEntry) -> None:
        columns = {"id": entry.id, "channel": entry.channel.key, "agent_id": entry.agent_id}
        self._buffer.queue(_APPEND, {**columns, "at": entry.at, "data": encode(entry)})


class SqlPreferences(SqlRepository):
    """See `Preferences` in the ports."""

    async def get(self, channel: ChannelScope, key: str) -> str | None:
        rows = await self._buffer.rows(_PREFERENCE, {"in_channel": channel.key, "under": key})
        return str(rows[0].text) if rows else None

    async def list_by_prefix(self, channel: ChannelScope, prefix: str) -> Mapping[str, str]:
        values = {"in_channel": channel.key, "prefix": prefix, "length": len(prefix)}
        return {str(row.key): str(row.text) for row in await self._buffer.rows(_PREFIXED, values)}

    def add(self, channel: ChannelScope, key: str, text: str) -> None:
        self._buffer.queue(_ADD, {"channel": channel.key, "key": key, "text": text})

    def put(self, channel: ChannelScope, key: str, text: str) -> None:
        self._buffer.queue(_PUT, {"channel": channel.key, "key": key, "text": text}, key=("preference", channel, key))
