"""Wakes an engine without a unit of work."""

from collections.abc import Callable
from typing import cast

from agent_core.model.ids import AgentId
from agent_core.ports.database import UnitOfWork
from agent_core.ports.engine import Waker


class Committed:
    """A unit of work that is committed already."""

    def after_commit(self, act: Callable[[], object]) -> None:
        act()


COMMITTED = cast("UnitOfWork", Committed())


def wake(engine: Waker, agent_id: AgentId) -> None:
    """Wake the agent now."""
    engine.wake(COMMITTED, agent_id)


def interrupt(engine: Waker, agent_id: AgentId) -> None:
    """Interrupt the agent's step now."""
    engine.interrupt(COMMITTED, agent_id)
