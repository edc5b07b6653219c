"""Refuses what demo mode could not carry out, before it is saved. A connected model has no such limits."""

from collections.abc import Sequence

from agent_core.errors import InvalidInput
from agent_core.ports.rehearsal import Rehearsal


def require_rehearsed(rehearsal: Rehearsal | None, *, goals: Sequence[str] = (), model: str = "") -> None:
    """Raise InvalidInput for goals and a model that the script does not have; `rehearsal` is None without demo mode."""
    if rehearsal is None:
        return
    found = {"goals": rehearsal.goals_problem(goals), "model": rehearsal.model_problem(model)}
    if problems := {field: problem for field, problem in found.items() if problem}:
        raise InvalidInput(problems)
