"""Repository of agents: SQL statements, and conversion of rows to Agent values and back."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Row,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    union,
    union_all,
    update,
)

from agent_core.errors import UnreadableRecord
from agent_core.model.agent import ARCHIVED as ARCHIVED_STATUS
from agent_core.model.agent import Agent, Headcount
from agent_core.model.channel_policy import POLICY_KEY, UNREADABLE, parse_channel_policy
from agent_core.model.ids import AgentId
from agent_core.model.origin import ChannelScope, SurfaceName, ThreadRef
from agent_core.model.permissions import RULES_KEY, parse_rules
from agent_core.persistence.connections import AGENTS
from agent_core.persistence.json_codec import UnknownFields, encode
from agent_core.persistence.tables import (
    ARCHIVED,
    AT_REST,
    AWAKE,
    LISTED,
    REMINDING,
    RESTING,
    SCHEDULED,
    UNSHOWN,
    UNTOLD,
    agents,
    notices,
    preferences,
    turns,
)
from agent_core.persistence.text_search import put_changed_text, put_text
from agent_core.persistence.write_buffer import SqlRepository, UnsavedRecords, WriteBuffer, read_value

logger = logging.getLogger(__name__)


def _of_channel(key: str) -> ColumnElement[str]:
    """A preference of the agent's channel, as a column of that name."""
    is_here = preferences.c.channel == agents.c.channel
    return select(preferences.c.text).where(is_here, preferences.c.key == key).scalar_subquery().label(key)


_COLUMNS = (agents.c.data, agents.c.revision, _of_channel(POLICY_KEY), _of_channel(RULES_KEY))
_READ = select(*_COLUMNS)
_ALL = _READ.order_by(agents.c.id)
_IN_CHANNEL = agents.c.channel == bindparam("in_channel")
_BY_ID = agents.c.id == bindparam("the_id")
_LOCATE = _READ.where(_BY_ID)
_GET = _LOCATE.where(_IN_CHANNEL)
_NAMED = _READ.where(_IN_CHANNEL, agents.c.name_key == bindparam("name_key"))
_OF = _ALL.where(_IN_CHANNEL, LISTED)
_ARCHIVED_OF = (
    _READ.where(_IN_CHANNEL, ARCHIVED).order_by(agents.c.archived_at.desc(), agents.c.id).limit(bindparam("most"))
)
_ARCHIVED_AT = _ALL.where(_IN_CHANNEL, ARCHIVED, agents.c.archived_at == bindparam("moment"))
_IN_THREAD = _READ.where(_IN_CHANNEL, agents.c.thread == bindparam("thread")).order_by(agents.c.id.desc())
_BY_OWNER = _ALL.where(agents.c.owner == bindparam("person"), agents.c.workspace == bindparam("in_workspace"), LISTED)
_ON_SURFACE = agents.c.surface == bindparam("on_surface")
_WITH_THREAD = union_all(
    select(agents.c.id, *_COLUMNS).where(AWAKE, _ON_SURFACE, agents.c.thread.is_not(None)),
    select(agents.c.id, *_COLUMNS).where(RESTING, _ON_SURFACE, agents.c.since >= bindparam("since")),
).order_by("id")
_CHANGED_LAST = (
    _READ.where(agents.c.surface.in_(bindparam("surfaces", expanding=True)), agents.c.thread.is_not(None), LISTED)
    .order_by(agents.c.since.desc(), agents.c.id.desc())
    .limit(bindparam("most"))
)
_AT_REST = _ALL.where(AT_REST, agents.c.since < bindparam("before"), agents.c.id > bindparam("after")).limit(
    bindparam("most")
)
_CHANNELS: BindParameter[Sequence[str]] = bindparam("channels", expanding=True)
# Of the agents that act, those whose tool server asks. A text in the JSON cannot hold this: its quotes are escaped.
_ASKS = or_(agents.c.status != "acting", agents.c.data.like('%"asks":true%'))
_AWAITING_PEOPLE = (
    _READ.where(agents.c.channel.in_(_CHANNELS), agents.c.status.in_(("awaiting", "paused", "acting")), _ASKS, LISTED)
    .order_by(agents.c.since, agents.c.id)
    .limit(bindparam("most"))
)
_CHANNEL_AND_STATUS = (agents.c.channel, agents.c.status)
_CENSUS = union_all(
    select(*_CHANNEL_AND_STATUS, func.count().label("number")).where(LISTED).group_by(*_CHANNEL_AND_STATUS),
    select(agents.c.channel, literal(ARCHIVED_STATUS).label("status"), func.count().label("number"))
    .where(ARCHIVED)
    .group_by(agents.c.channel),
).order_by("channel", "status")
_IN_STATUS = _READ.where(agents.c.status == bindparam("in_status"), LISTED).limit(bindparam("most"))
_LONGEST = _IN_STATUS.order_by(agents.c.since, agents.c.id)
_NEWEST = _IN_STATUS.order_by(agents.c.since.desc(), agents.c.id.desc())
# Here, too, a text in the JSON cannot hold these: see _ASKS.
_STUCK = (
    _READ.where(AWAKE, agents.c.since < bindparam("before"))
    .where(
        or_(
            and_(agents.c.status == "thinking", agents.c.data.like('%"waits_for":[]%')),
            and_(agents.c.status == "acting", agents.c.data.not_like('%"asks":true%')),
        )
    )
    .order_by(agents.c.since, agents.c.id)
    .limit(bindparam("most"))
)
_BY_IDS = _READ.where(agents.c.id.in_(bindparam("ids", expanding=True)))
_SURFACES: BindParameter[Sequence[str]] = bindparam("surfaces", expanding=True)


def _agents_with(record: Table, condition: ColumnElement[bool]) -> Select[str]:
    # A scalar subquery: with a join, query planners scan all agents first.
    surface = select(agents.c.surface).where(agents.c.id == record.c.agent_id).scalar_subquery()
    return select(record.c.agent_id.label("id")).where(condition, surface.in_(_SURFACES))


_DUE = union(
    select(agents.c.id).where(
        AWAKE,
        agents.c.status.in_(("thinking", "acting")),
        agents.c.surface.in_(_SURFACES),
        or_(agents.c.wake_at.is_(None), agents.c.wake_at <= bindparam("now")),
    ),
    select(agents.c.id).where(SCHEDULED, agents.c.surface.in_(_SURFACES), agents.c.scheduled_at <= bindparam("now")),
    select(agents.c.id).where(REMINDING, agents.c.surface.in_(_SURFACES), agents.c.wake_at <= bindparam("now")),
    _agents_with(turns, UNSHOWN),
    _agents_with(notices, UNTOLD),
).order_by("id")
_ADD = insert(agents)
_SAVE = update(agents).where(_BY_ID, _IN_CHANNEL, agents.c.revision == bindparam("read"))
_REMOVE = delete(agents).where(_BY_ID, _IN_CHANNEL)
_REMOVE_AS_READ = _REMOVE.where(agents.c.revision == bindparam("read"))


class SqlAgents(SqlRepository):
    """See `Agents` in the ports."""

    def __init__(self, buffer: WriteBuffer) -> None:
        super().__init__(buffer)
        self._pending: UnsavedRecords[Agent] = UnsavedRecords("agent", buffer.check_open)

    async def get(self, channel: ChannelScope, agent_id: AgentId) -> Agent:
        if agent := self._pending.find(agent_id, channel):
            return agent
        return self._one(agent_id, await self._buffer.rows(_GET, {"in_channel": channel.key, "the_id": agent_id}))

    async def locate(self, agent_id: AgentId) -> Agent:
        if agent := self._pending.find(agent_id):
            return agent
        return self._one(agent_id, await self._buffer.rows(_LOCATE, {"the_id": agent_id}))

    async def find_by_name(self, channel: ChannelScope, name: str) -> Agent | None:
        values = {"in_channel": channel.key, "name_key": name.casefold()}
        found = self._read(await self._buffer.rows(_NAMED, values))
        return self._pending.latest(found[0]) if found else None

    async def of(self, channel: ChannelScope) -> tuple[Agent, ...]:
        return self._read_some(await self._buffer.rows(_OF, {"in_channel": channel.key}))

    async def list_archived(self, channel: ChannelScope, *, most: int) -> tuple[Agent, ...]:
        return self._read_some(await self._buffer.rows(_ARCHIVED_OF, {"in_channel": channel.key, "most": most}))

    async def list_archived_at(self, channel: ChannelScope, moment: datetime) -> tuple[Agent, ...]:
        return self._read_some(await self._buffer.rows(_ARCHIVED_AT, {"in_channel": channel.key, "moment": moment}))

    async def in_thread(self, thread: ThreadRef) -> Agent | None:
        values = {"in_channel": thread.channel.key, "thread": thread.thread}
        found = [agent for agent in self._read(await self._buffer.rows(_IN_THREAD, values)) if not agent.parent]
        return self._pending.latest(found[0]) if found else None

    async def list_by_owner(self, surface: SurfaceName, workspace: str, person: str) -> tuple[Agent, ...]:
        workspace_key = _workspace(ChannelScope(surface, workspace, ""))
        return self._read_some(await self._buffer.rows(_BY_OWNER, {"in_workspace": workspace_key, "person": person}))

    async def list_with_thread(self, surface: SurfaceName, since: datetime) -> tuple[Agent, ...]:
        found = self._read_some(await self._buffer.rows(_WITH_THREAD, {"on_surface": surface, "since": since}))
        return tuple(agent for agent in found if not agent.parent)

    async def list_changed_last(self, surfaces: Sequence[SurfaceName], most: int) -> tuple[Agent, ...]:
        return self._read_some(await self._buffer.rows(_CHANGED_LAST, {"surfaces": list(surfaces), "most": most}))

    async def list_at_rest(self, before: datetime, *, most: int, after: str = "") -> tuple[Agent, ...]:
        return self._read_some(await self._buffer.rows(_AT_REST, {"before": before, "after": after, "most": most}))

    async def census(self) -> tuple[Headcount, ...]:
        rows = await self._buffer.rows(_CENSUS, {})
        return tuple(Headcount(ChannelScope.parse(row.channel), row.status, row.number) for row in rows)

    async def list_awaiting_people(self, channels: Sequence[ChannelScope], most: int) -> tuple[Agent, ...]:
        values = {"channels": [channel.key for channel in channels], "most": most}
        return self._read_some(await self._buffer.rows(_AWAITING_PEOPLE, values))

    async def list_longest(self, status: str, most: int) -> tuple[Agent, ...]:
        return self._read_some(await self._buffer.rows(_LONGEST, {"in_status": status, "most": most}))

    async def list_newest(self, status: str, most: int) -> tuple[Agent, ...]:
        return self._read_some(await self._buffer.rows(_NEWEST, {"in_status": status, "most": most}))

    async def list_stuck(self, before: datetime, most: int) -> tuple[Agent, ...]:
        return self._read_some(await self._buffer.rows(_STUCK, {"before": before, "most": most}))

    async def list_by_id(self, agent_ids: Sequence[AgentId]) -> tuple[Agent, ...]:
        return self._read_some(await self._buffer.rows(_BY_IDS, {"ids": list(agent_ids)})) if agent_ids else ()

    async def due(self, surfaces: Sequence[SurfaceName], now: datetime) -> tuple[AgentId, ...]:
        rows = await self._buffer.rows(_DUE, {"surfaces": list(surfaces), "now": now})
        return tuple(AgentId(row.id) for row in rows)

    def add(self, agent: Agent) -> None:
        self._pending.add(agent)
        self._insert(agent)
        put_text(self._buffer, agent)

    def save(self, agent: Agent) -> None:
        read = self._pending.save(agent)
        put_changed_text(self._buffer, self._pending, agent)
        if read is None:
            self._insert(agent)
            return
        where = {"the_id": agent.id, "in_channel": agent.channel.key, "read": read}
        data = encode(_alone(agent), self._pending.unknown_fields(agent))
        values = {**_changed_columns(self._pending.as_read(agent), agent), "data": data, "revision": read + 1, **where}
        self._buffer.queue(_SAVE, values, key=("agent", agent.id), checked=True, rank=AGENTS)

    def remove(self, agent: Agent) -> None:
        read = self._pending.remove(agent)
        values = {"the_id": agent.id, "in_channel": agent.channel.key, "read": read}
        if read is None:
            self._buffer.queue(_REMOVE, values, key=("agent", agent.id))
        else:
            self._buffer.queue(_REMOVE_AS_READ, values, key=("agent", agent.id), checked=True)

    def _insert(self, agent: Agent) -> None:
        columns = {"surface": agent.channel.surface, "workspace": _workspace(agent.channel)}
        fixed = {"id": agent.id, "channel": agent.channel.key, **columns}
        self._buffer.queue(
            _ADD, {**_columns(agent), **fixed, "data": encode(_alone(agent))}, key=("agent", agent.id), rank=AGENTS
        )

    def _one(self, agent_id: AgentId, rows: Sequence[Row[Any]]) -> Agent:
        if not rows:
            raise self._pending.missing(agent_id)
        return self._read(rows)[0]

    def _read(self, rows: Sequence[Row[Any]]) -> tuple[Agent, ...]:
        return tuple(self._pending.read(*_value(row)) for row in rows)

    def _read_some(self, rows: Sequence[Row[Any]]) -> tuple[Agent, ...]:
        """The agents without those that this release cannot read."""
        found: list[Agent] = []
        for row in rows:
            try:
                found += self._read([row])
            except UnreadableRecord as unreadable:
                logger.warning("an agent is left out of a list", extra={"why": str(unreadable)})
        return tuple(found)


def _value(row: Row[Any]) -> tuple[Agent, int, UnknownFields | None]:
    agent, unknown = read_value(Agent, row.data)
    if row.policy or row.rules:
        agent = replace(agent, read_policy=parse_channel_policy(row.policy) if row.policy else None)
        agent = _with_rules(agent, row.rules)
    return agent, row.revision, unknown


def _with_rules(agent: Agent, text: str | None) -> Agent:
    """The agent with the rules of its channel; nothing runs there while these cannot be read."""
    try:
        return replace(agent, read_rules=parse_rules(text))
    except ValueError:
        return replace(agent, read_policy=UNREADABLE)


def _alone(agent: Agent) -> Agent:
    """The agent without the policy and the rules of its channel, which are saved with the channel."""
    return replace(agent, read_policy=None, read_rules=()) if agent.read_policy or agent.read_rules else agent


def _columns(agent: Agent) -> dict[str, object]:
    """The columns that copy parts of the agent."""
    return {
        "name_key": agent.name.casefold(),
        "thread": agent.thread.thread if agent.thread else None,
        "owner": agent.owner.id,
        "status": agent.status.kind,
        "since": agent.since,
        "wake_at": agent.wake_at,
        "archived_at": agent.archived_at,
        "scheduled_at": agent.scheduled_at,
        "fence": agent.fence,
    }


def _changed_columns(before: Agent | None, agent: Agent) -> dict[str, object]:
    """The columns that differ. A database renews the indexes of each column that a statement names."""
    old = _columns(before) if before else {}
    return {name: value for name, value in _columns(agent).items() if name not in old or value != old[name]}


def _workspace(channel: ChannelScope) -> str:
    return channel.key.rpartition("/")[0]
