"""Posts the head of a channel's decision log in a thread once a day, where the channel's policy says so.

A head that is kept outside the database tells later whether the log up to it was changed or cut.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from agent_core.model.channel_policy import POLICY_KEY, parse_channel_policy
from agent_core.model.note import Notice
from agent_core.model.origin import ChannelScope
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.ports.engine import Waker
from agent_core.text.own_commands import command_text

POSTED_KEY = "posted head"  # the channel's preference with the day (UTC) and the number of the record posted last


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadPosting:
    """Posts heads. Of several processes at once, one posts. A notice is no record, so a quiet channel stays quiet."""

    database: Database
    waker: Waker
    clock: Clock

    async def post_all(self) -> int:
        """Post the heads that are due; return how many."""
        async with self.database.begin() as work:
            channels = dict.fromkeys(count.channel for count in await work.agents.census())
        return sum([await in_one_unit(self.database, partial(self._post, channel)) for channel in channels])

    async def _post(self, channel: ChannelScope, work: UnitOfWork) -> bool:
        """Post it in the thread of the agent that acted last, unless none has one or all are archived."""
        if not parse_channel_policy(await work.preferences.get(channel, POLICY_KEY)).posts_heads:
            return False
        (seq, digest), now = await work.audit.head(channel), self.clock.now()
        before = await work.preferences.get(channel, POSTED_KEY)
        agents = [agent for agent in await work.agents.of(channel) if agent.thread and not agent.head]
        if not agents or not _is_due(before, seq, now):
            return False
        work.preferences.exchange(channel, POSTED_KEY, before, f"{now:%Y-%m-%d} {seq}")
        newest = max(agents, key=lambda agent: agent.since)
        work.notes.announce(Notice.to(newest, "changed", head_text(channel, seq, digest), now))
        self.waker.wake(work, newest.id)
        return True


def head_text(channel: ChannelScope, seq: int, digest: str) -> str:
    """The posted line. It ends with the head as `audit heads` prints it."""
    kept = f"Keep this line: with it, {command_text('audit verify')} finds whether this record or one before it"
    return f"Head of the decision log, record {seq:,}. {kept} was changed or cut off. {channel.key}={seq}:{digest}"


def _is_due(before: str | None, seq: int, now: datetime) -> bool:
    """Whether the log has changed since the last posting, on another day: a clock that was ahead silences nothing."""
    day, _, last = (before or " 0").partition(" ")
    return day != f"{now:%Y-%m-%d}" and last != str(seq)
