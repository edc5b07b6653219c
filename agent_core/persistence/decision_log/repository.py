"""The repository of the decision log: each commit appends its records to the chain of their channel."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Executable, Integer, Row, bindparam, delete, exists, insert, or_, select, text, true, update

from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, new_id
from agent_core.model.origin import ChannelScope
from agent_core.model.records.audit import AuditEntry
from agent_core.persistence.connections import HEADS, DecidedWrite, Values, Write
from agent_core.persistence.decision_log.chain import NO_HASH, blank, seal, unseal
from agent_core.persistence.tables import AnyText, audit, audit_heads
from agent_core.persistence.write_buffer import SqlRepository, WriteBuffer, agent_values

_ALL = select(audit.c.data, audit.c.texts, audit.c.seq).where(audit.c.channel == bindparam("in_channel"))
_OF_AGENT = audit.c.agent_id == bindparam("of_agent")
_OF_CHANNEL = _ALL.where(text("audit.is_listed"))  # literally the condition of the index of channels
_LISTED_OF_AGENT = _ALL.where(_OF_AGENT, audit.c.is_listed == true())  # another, so that SQLite takes that of agents
_CURSOR = audit.alias("found")
_IS_BEFORE = (
    _CURSOR.c.id == bindparam("before"),
    _CURSOR.c.channel == bindparam("in_channel"),
    audit.c.at <= _CURSOR.c.at,  # uses the index; the next condition breaks ties
    or_(audit.c.at < _CURSOR.c.at, audit.c.id < _CURSOR.c.id, audit.c.id == bindparam("upto")),
)
_NEWEST_FIRST = audit.c.at.desc(), audit.c.id.desc()
_PAGES = {  # by whether the page has a beginning, and is about one agent
    (has_beginning, is_of_agent): entries.where(*(_IS_BEFORE if has_beginning else ()))
    .order_by(*_NEWEST_FIRST)
    .limit(bindparam("last", type_=Integer))
    for has_beginning in (False, True)
    for is_of_agent, entries in ((False, _OF_CHANNEL), (True, _LISTED_OF_AGENT))
}
_IN_CHANNEL = _OF_CHANNEL.order_by(audit.c.at, audit.c.id)
_ENTRIES = _LISTED_OF_AGENT.order_by(audit.c.at, audit.c.id)
_FOLLOWING = _ENTRIES.where(
    audit.c.at >= bindparam("since"), or_(audit.c.at > bindparam("since"), audit.c.id > bindparam("the_id"))
).limit(bindparam("first", type_=Integer))

_APPEND = insert(audit)
_LOCK_HEAD = text(  # an update of nothing locks the row
    "INSERT INTO audit_heads (channel, seq, hash, first_seq, first_previous)"
    " VALUES (:in_channel, 0, :no_hash, 1, :no_hash)"
    " ON CONFLICT (channel) DO UPDATE SET channel = excluded.channel RETURNING seq, hash"
).bindparams(bindparam("in_channel", type_=AnyText))
_IS_CHANNEL = audit_heads.c.channel == bindparam("in_channel")
_HEAD = select(audit_heads.c.seq, audit_heads.c.hash).where(_IS_CHANNEL)
_MOVE_HEAD = update(audit_heads).where(_IS_CHANNEL).values(seq=bindparam("new_seq"), hash=bindparam("new_hash"))
_APPEND_LAST = (  # for a server: one round trip instead of two, which is a third of what the chain costs
    insert(audit).values({each: bindparam(f"last_{each.name}") for each in audit.c}).add_cte(_MOVE_HEAD.cte("moved"))
)

_OLD = select(audit.c.id, audit.c.data).where(_OF_AGENT, audit.c.seq.is_(None))
_REPLACE = update(audit).where(audit.c.id == bindparam("the_id")).values(data=bindparam("new_data"))
_BLANK = update(audit).where(_OF_AGENT).values(texts=None)

_EXPIRED = audit.c.at < bindparam("before")
_FIRST = audit.alias("first")
_FIRST_AT = (
    select(_FIRST.c.at)
    .where(_FIRST.c.channel == audit_heads.c.channel, _FIRST.c.seq == audit_heads.c.first_seq)
    .scalar_subquery()
)
_OLD_ENTRY = audit.alias("old_entry")
# Ids begin with their time, so the bound on the id spares a scan: there is no index on the time alone.
_IS_EXPIRED_OUTSIDE = (
    _OLD_ENTRY.c.id < bindparam("before_id"),
    _OLD_ENTRY.c.at < bindparam("before"),
    _OLD_ENTRY.c.seq.is_(None),
)
_EXPIRED_CHANNEL = (  # a check finds no cut chain beside entries that should be gone
    select(audit_heads.c.channel)
    .where(
        bindparam("before") > _FIRST_AT,
        ~exists().where(_OLD_ENTRY.c.channel == audit_heads.c.channel, *_IS_EXPIRED_OUTSIDE),
    )
    .limit(1)
    .scalar_subquery()
)
_CUT: Executable = (  # the first records of a chain whose first one is expired
    select(audit.c.id, audit.c.channel, audit.c.seq, audit.c.hash, _EXPIRED.label("is_expired"))
    .where(audit.c.channel == _EXPIRED_CHANNEL, audit.c.seq.is_not(None))
    .order_by(audit.c.seq)
    .limit(bindparam("most", type_=Integer))
)
_OLDEST = (
    select(_OLD_ENTRY.c.id)
    .where(*_IS_EXPIRED_OUTSIDE)
    .order_by(_OLD_ENTRY.c.id)
    .limit(bindparam("most", type_=Integer))
)
_EXPIRE = delete(audit).where(audit.c.id.in_(bindparam("ids", expanding=True)))
_MOVE_FIRST = (
    update(audit_heads)
    .where(_IS_CHANNEL, audit_heads.c.first_seq < bindparam("new_seq"))
    .values(first_seq=bindparam("new_seq"), first_previous=bindparam("new_previous"))
)


class SqlAudit(SqlRepository):
    """See `Audit` in the ports."""

    def __init__(self, buffer: WriteBuffer) -> None:
        super().__init__(buffer)
        self._new: dict[str, list[AuditEntry]] = {}

    async def of(self, agent: Agent) -> tuple[AuditEntry, ...]:
        return await self._entries(_ENTRIES, agent_values(agent))

    async def in_channel(self, channel: ChannelScope) -> tuple[AuditEntry, ...]:
        return await self._entries(_IN_CHANNEL, {"in_channel": channel.key})

    async def page(
        self, channel: ChannelScope, *, last: int, before: str = "", upto: str = "", agent_id: AgentId | None = None
    ) -> tuple[AuditEntry, ...]:
        cursor = {"before": upto or before, "upto": upto}
        values = {"in_channel": channel.key, "last": last, "of_agent": agent_id, **cursor}
        return await self._entries(_PAGES[bool(upto or before), agent_id is not None], values)

    async def list_after(self, entry: AuditEntry, *, first: int) -> tuple[AuditEntry, ...]:
        columns = {"of_agent": entry.agent_id, "in_channel": entry.channel.key, "since": entry.at, "the_id": entry.id}
        return await self._entries(_FOLLOWING, {**columns, "first": first})

    def append(self, entry: AuditEntry) -> None:
        self._buffer.check_open()
        key = entry.channel.key
        if key not in self._new:
            values, decide = {"in_channel": key, "no_hash": NO_HASH}, partial(self._chain, key)
            write = DecidedWrite(query=_LOCK_HEAD, values=values, decide=decide, rank=HEADS, place=key)
            self._buffer.queue_decided(write)
        self._new.setdefault(key, []).append(entry)

    async def head(self, channel: ChannelScope) -> tuple[int, str]:
        rows = await self._buffer.rows(_HEAD, {"in_channel": channel.key})
        return (rows[0].seq, rows[0].hash) if rows else (0, NO_HASH)

    async def blank(self, agent: Agent) -> None:
        old = await self._buffer.rows(_OLD, {"of_agent": agent.id})
        if old:
            self._buffer.queue(_REPLACE, [{"the_id": row.id, "new_data": blank(row.data)} for row in old])
        self._buffer.queue(_BLANK, {"of_agent": agent.id})

    async def expire(self, before: datetime, *, most: int) -> int:
        first, values = [], {"before": before, "before_id": new_id(before), "most": most}
        for row in await self._buffer.rows(_CUT, values):
            if not row.is_expired:
                break
            first.append(row)
        expired = first or await self._buffer.rows(_OLDEST, values)
        if expired:
            self._buffer.queue(_EXPIRE, {"ids": [row.id for row in expired]})
        if first:
            last = first[-1]
            moved = {"in_channel": last.channel, "new_seq": last.seq + 1, "new_previous": last.hash}
            self._buffer.queue(_MOVE_FIRST, moved, rank=HEADS)
        return len(expired)

    async def _entries(self, query: Executable, values: Values) -> tuple[AuditEntry, ...]:
        return tuple(map(unseal, await self._buffer.rows(query, values)))

    def _chain(self, channel: str, rows: Sequence[Row[Any]]) -> Sequence[Write]:
        """Append the entries of this unit of work to the channel's chain, in their order."""
        last, records = rows[0].hash, []
        for seq, entry in enumerate(self._new[channel], start=rows[0].seq + 1):
            records.append(record := seal(entry, seq, last))
            last = record["hash"]
        moved = {"in_channel": channel, "new_seq": records[-1]["seq"], "new_hash": last}
        if not self._buffer.is_on_server:
            return Write(_APPEND, records), Write(_MOVE_HEAD, moved)
        at_end = Write(_APPEND_LAST, {**moved, **{f"last_{name}": value for name, value in records.pop().items()}})
        return (Write(_APPEND, records), at_end) if records else (at_end,)
