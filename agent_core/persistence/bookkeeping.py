"""Repositories of processed platform events, the decision log and preferences."""

from datetime import datetime

from sqlalchemy import Integer, bindparam, delete, insert, or_, select
from sqlalchemy import text as sql

from agent_core.model.agent import Agent
from agent_core.model.audit import AuditEntry
from agent_core.model.channels import ChannelScope
from agent_core.model.ids import AgentId
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
_FOLLOWING = _ENTRIES.where(
    audit.c.at >= bindparam("since"), or_(audit.c.at > bindparam("since"), audit.c.id > bindparam("the_id"))
).limit(bindparam("first", type_=Integer))
_APPEND = insert(audit)
_PREFERENCE = select(preferences.c.text).where(
    preferences.c.channel == bindparam("in_channel"), preferences.c.key == bindparam("under")
)
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
        statement, given = _NEWEST, {"in_channel": channel.key, "last": last}
        if before:
            statement, given = _BEFORE, given | {"before": before}
        if agent_id is not None:
            statement, given = statement.where(_OF_AGENT), given | {"of_agent": agent_id}
        return await self._buffer.values(AuditEntry, statement, given)

    async def list_after(self, entry: AuditEntry, *, first: int) -> tuple[AuditEntry, ...]:
        columns = {"of_agent": entry.agent_id, "in_channel": entry.channel.key, "since": entry.at, "the_id": entry.id}
        return await self._buffer.values(AuditEntry, _FOLLOWING, {**columns, "first": first})

    def append(self, entry: AuditEntry) -> None:
        columns = {"id": entry.id, "channel": entry.channel.key, "agent_id": entry.agent_id}
        self._buffer.queue(_APPEND, {**columns, "at": entry.at, "data": encode(entry)})


class SqlPreferences(SqlRepository):
    """See `Preferences` in the ports."""

    async def get(self, channel: ChannelScope, key: str) -> str | None:
        rows = await self._buffer.rows(_PREFERENCE, {"in_channel": channel.key, "under": key})
        return str(rows[0].text) if rows else None

    def put(self, channel: ChannelScope, key: str, text: str) -> None:
        self._buffer.queue(_PUT, {"channel": channel.key, "key": key, "text": text}, key=("preference", channel, key))
