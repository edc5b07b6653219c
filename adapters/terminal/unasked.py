"""Refuses to run an open turn unasked at the terminal, unless the agent's lease covers it."""

from agent_core.errors import NotPossible
from agent_core.model.agent import Agent
from agent_core.model.command import CommandSpec
from agent_core.model.turn import Turn

NOT_COVERED = "--continuous covers this command no more, so it was not run. Start without it to decide."


def require_covered(agent: Agent, turn: Turn, spec: CommandSpec) -> None:
    """Raise NotPossible unless the lease covers this open turn, and nothing else requires a person."""
    is_for_people = bool(turn.remark) or turn.exposed or spec.always_asks
    if agent.lease is None or not agent.lease.covers(turn) or is_for_people:
        raise NotPossible(NOT_COVERED)
