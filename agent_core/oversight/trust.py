"""What of an agent's past others wrote than itself and its people: pages, hits, what programs print.

Whoever wrote it may have meant it for the agent. It is material to work on, and before it is acted on people look.
"""

from collections.abc import Sequence
from datetime import datetime

from agent_core.model.agent import Agent
from agent_core.model.command import CommandSpec
from agent_core.model.decision import Approve, Reject
from agent_core.model.result import Failed, Result, Succeeded
from agent_core.model.turn import Turn

KEEPING = ("files", "memory")  # categories whose commands bring back what came in before


def is_from_outside(result: Result | None) -> bool:
    """Whether others wrote some of it."""
    return isinstance(result, Succeeded | Failed) and result.outside


def brings_in(spec: CommandSpec, agent: Agent) -> bool:
    """Whether what the command gives may be others' words: its own, or what an exposed agent kept of them."""
    return spec.outside or (agent.exposed and spec.category in KEEPING and spec.risks == ("read",))


def has_read_since_decision(earlier: Sequence[Turn]) -> bool:
    """Whether the agent was given anything from outside by a turn that nobody has decided after; turns in order."""
    for turn in reversed(earlier):
        if is_from_outside(turn.result):
            return True
        if _was_decided(turn):
            return False
    return False


def has_read_since(earlier: Sequence[Turn], when: datetime) -> bool:
    """Whether anything from outside came to the agent from that moment on."""
    return any(is_from_outside(turn.result) and turn.ended_at and turn.ended_at >= when for turn in earlier)


def _was_decided(turn: Turn) -> bool:
    """Whether a person decided it, with the turn before their eyes."""
    last = turn.approvals[-1].decision if turn.approvals else None
    return isinstance(last, Reject) or (last is not None and not (isinstance(last, Approve) and last.under))
