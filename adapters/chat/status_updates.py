"""Sends an agent's status line soon after a change; functions to send two things, and to record what is shown."""

from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar

from adapters.chat.background import BackgroundTasks
from adapters.screens.cards import status_text
from agent_core.errors import DatabaseAway, SignoffError, SurfaceBusy, SurfaceError
from agent_core.model.agent import Agent, Thinking
from agent_core.model.ids import AgentId
from agent_core.ports.clock import Clock

K = TypeVar("K")
V = TypeVar("V")

MAX_TRIES = 10  # while the platform is busy, or the database away
BUSY_SECONDS = 1.0  # before the next try, if the platform does not say how long it is busy


@dataclass(slots=True, kw_only=True)
class StatusUpdates:
    """Sends each agent's newest status line `delay` seconds after a change, so that most short states are not shown.

    `facts_of`: what `send` shows of an agent beside its status.
    `shown`: the facts last sent for each agent. Empty after a restart, so an unchanged line is sent once more.
    `to_send`: the newest state of each agent whose line is about to be sent.
    """

    send: Callable[[Agent], Awaitable[None]]
    facts_of: Callable[[Agent], object]
    soon: BackgroundTasks
    clock: Clock
    delay: float
    shown: dict[AgentId, object] = field(default_factory=dict)
    to_send: dict[AgentId, Agent] = field(default_factory=dict)

    def update(self, agent: Agent) -> None:
        """Send the agent's status soon, unless it is shown already or the agent has no thread of its own."""
        is_under_way = agent.id in self.to_send
        is_shown = not is_under_way and self.shown.get(agent.id) == self._facts(agent)
        if agent.thread is None or agent.parent or is_shown:  # a helper uses the thread of the agent it helps
            return
        self.to_send[agent.id] = agent
        if not is_under_way:
            self.soon(self._send_last(agent.id))

    def forget(self, agent_id: AgentId) -> None:
        """Forget which line is visible, so that the next `update` sends the line even if it is unchanged."""
        self.shown.pop(agent_id, None)

    async def _send_last(self, agent_id: AgentId) -> None:
        try:
            await self.soon.delay(self.clock.sleep(self.delay))
            await self._send_until_shown(agent_id)
        finally:
            del self.to_send[agent_id]

    async def _send_until_shown(self, agent_id: AgentId) -> None:
        """Send lines until the newest is shown; raise SignoffError if that one cannot be sent."""
        tries, tried = 0, None
        while (facts := self._facts(agent := self.to_send[agent_id])) != self.shown.get(agent_id):
            tries, tried = tries + 1 if facts == tried else 1, facts
            try:
                with recorded(self.shown, agent_id, facts):
                    await self.send(agent)
            except (SurfaceBusy, DatabaseAway) as away:
                is_last_try = tries >= MAX_TRIES or self.soon.is_closing
                if is_last_try and self.to_send[agent_id] is agent:
                    raise
                seconds = away.retry_after if isinstance(away, SurfaceBusy) else None
                await self.soon.delay(self.clock.sleep(seconds or BUSY_SECONDS))
            except SignoffError:
                if self.to_send[agent_id] is agent:
                    raise

    def _facts(self, agent: Agent) -> object:
        return agent.turns, status_text(agent), self.facts_of(agent)


def is_kept_waiting(agent: Agent) -> bool:
    """Whether a thinking agent waits for helpers or for a retry, or its model has been thinking for some seconds."""
    status = agent.status
    return isinstance(status, Thinking) and bool(status.held_up or status.waits_for or status.activity)


@contextmanager
def recorded(shown: MutableMapping[K, V], key: K, value: V) -> Iterator[None]:
    """Record that the with-block shows this value; take it back if the block fails.

    Who forgets the key meanwhile finds it forgotten afterwards. If blocks of a key overlap and one fails, the value
    counts as not shown, which costs one more send.
    """
    shown[key] = value
    is_sent = False
    try:
        yield
        is_sent = True
    finally:
        if not is_sent:
            shown.pop(key, None)


async def send_both(first: Callable[[], Awaitable[None]], second: Callable[[], Awaitable[None]]) -> None:
    """Send both, then raise the error of one of them: rather one after which it can be tried again."""
    try:
        await first()
    except (SurfaceBusy, DatabaseAway):
        with suppress(SurfaceError):
            await second()
        raise
    except SurfaceError:
        await second()
        raise
    await second()
