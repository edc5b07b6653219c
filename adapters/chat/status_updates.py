"""Sends an agent's status line shortly after it changed; of several changes only the last."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from adapters.cards import status_text
from adapters.chat.background import BackgroundTasks
from adapters.chat.recorded import recorded
from agent_core.errors import SurfaceError
from agent_core.model.agent import Agent, Thinking
from agent_core.model.ids import AgentId
from agent_core.ports.clock import Clock


@dataclass(slots=True, kw_only=True)
class StatusUpdates:
    """Sends each agent's newest status line `delay` seconds after a change, so that most short states are not shown.

    `shown`: the turn and line last sent for each agent. Empty after a restart, so an unchanged line is sent once more.
    `to_send`: the newest state of each agent whose line is about to be sent.
    """

    send: Callable[[Agent], Awaitable[None]]
    soon: BackgroundTasks
    clock: Clock
    delay: float
    shown: dict[AgentId, tuple[int, str]] = field(default_factory=dict)
    to_send: dict[AgentId, Agent] = field(default_factory=dict)

    def update(self, agent: Agent) -> None:
        """Send the agent's status soon, unless it is shown already or the agent has no thread of its own."""
        is_under_way = agent.id in self.to_send
        is_shown = not is_under_way and self.shown.get(agent.id) == _standing(agent)
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
            while (standing := _standing(self.to_send[agent_id])) != self.shown.get(agent_id):
                await self._send(self.to_send[agent_id], standing)
        finally:
            del self.to_send[agent_id]

    async def _send(self, agent: Agent, standing: tuple[int, str]) -> None:
        """Send a line. If it is refused, raise SurfaceError, unless there is a newer one."""
        try:
            with recorded(self.shown, agent.id, standing):
                await self.send(agent)
        except SurfaceError:
            if self.to_send[agent.id] is agent:
                raise


def is_kept_waiting(agent: Agent) -> bool:
    """Whether a thinking agent waits for helpers or for a retry, or its model has been thinking for some seconds."""
    status = agent.status
    return isinstance(status, Thinking) and bool(status.held_up or status.waits_for or status.activity)


def _standing(agent: Agent) -> tuple[int, str]:
    return agent.turns, status_text(agent)
