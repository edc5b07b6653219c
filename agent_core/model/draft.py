"""What a person fills in to make an agent, and what is wrong with it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Self

from agent_core.errors import InvalidInput
from agent_core.model.actors import Origin
from agent_core.model.agent import Agent
from agent_core.model.agent_policy import Policy
from agent_core.model.ids import AgentId, new_id
from agent_core.model.usage import Budget

NAME_LENGTH, ROLE_LENGTH, GOAL_LENGTH, MOST_GOALS = 80, 1000, 2000, 5
DEFAULT_NAME = "Helper"
DEFAULT_ROLE = "an assistant that works on its goals one careful step at a time"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDraft:
    """The form of `/agent new`; an empty name and role take the defaults that the form shows."""

    name: str = ""
    role: str = ""
    goals: tuple[str, ...] = ()
    budget: Decimal | None = None
    model: str = ""
    policy: Policy = Policy()

    def tidied(self) -> Self:
        """The draft with blanks trimmed and defaults filled in; raise InvalidInput with every field at fault."""
        draft = replace(
            self,
            name=" ".join(self.name.split()) or DEFAULT_NAME,
            role=" ".join(self.role.split()) or DEFAULT_ROLE,
            goals=goals_of(self.goals),
        )
        if problems := problems_of(draft):
            raise InvalidInput(problems)
        return draft

    def like(self, last: Self | None) -> Self:
        """The draft with the budget, model and policy of `last` where it has none of its own.

        Classes that need no approval are chosen by the person who makes the agent, and never taken from another draft.
        """
        if last is None:
            return self
        return replace(
            self,
            budget=last.budget if self.budget is None else self.budget,
            model=self.model or last.model,
            policy=replace(last.policy, free=()) if self.policy == Policy() else self.policy,
        )

    def made(self, origin: Origin, at: datetime) -> Agent:
        """The agent of a tidied draft; whoever asks owns it."""
        return Agent(
            id=AgentId(new_id(at)),
            channel=origin.channel,
            name=self.name,
            role=self.role,
            goals=self.goals,
            owner=origin.by,
            created_at=at,
            since=at,
            model=self.model,
            budget=Budget(limit=self.budget),
            policy=self.policy,
        )


def goals_of(lines: Iterable[str]) -> tuple[str, ...]:
    """The goals that were written, without blanks around them."""
    return tuple(goal for goal in (line.strip() for line in lines) if goal)


def problem_of_goals(goals: Sequence[str]) -> str:
    """What is wrong with them, or ""."""
    if not goals:
        return "Goals: write at least one, one per line."
    if len(goals) > MOST_GOALS:
        return f"Goals: at most {MOST_GOALS}, one per line; there are {len(goals)}."
    longest = max(map(len, goals))
    return f"Goals: at most {GOAL_LENGTH} characters each; the longest has {longest}." if longest > GOAL_LENGTH else ""


def problems_of(draft: AgentDraft) -> dict[str, str]:
    """A sentence for each field that cannot be used."""
    problems = {}
    if len(draft.name) > NAME_LENGTH:
        problems["name"] = f"Name: at most {NAME_LENGTH} characters, this one has {len(draft.name)}."
    if len(draft.role) > ROLE_LENGTH:
        problems["role"] = f"Role: at most {ROLE_LENGTH} characters, this one has {len(draft.role)}."
    if problem := problem_of_goals(draft.goals):
        problems["goals"] = problem
    if draft.budget is not None and not (draft.budget.is_finite() and draft.budget > 0):
        problems["budget"] = "Budget: an amount in US dollars above 0, or nothing for no limit."
    return problems
