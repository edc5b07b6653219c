"""The form for a new agent and its validation, and the filled-in form that a button opens again."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Self

import regex

from agent_core.errors import InvalidInput
from agent_core.model.agent import Agent
from agent_core.model.decision import Policy, two_problem
from agent_core.model.ids import AgentId, new_id
from agent_core.model.model_calls import Budget
from agent_core.model.origin import ChannelScope, Origin

MAX_MODEL_CHARACTERS = 200
MAX_NAME_CHARACTERS, MAX_ROLE_CHARACTERS, MAX_GOAL_CHARACTERS, MAX_GOALS = 80, 1000, 2000, 5
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")  # of reasoning, as OpenAI's API names them
DEFAULT_NAME = "Helper"
# Control, format (zero-width and bidirectional), unassigned and other characters that are not seen, or seen as a blank.
_NOT_SEEN = regex.compile(r"[[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]--[\x20]]", regex.VERSION1)
DEFAULT_ROLE = "an assistant that works on its goals one careful step at a time"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDraft:
    """The form of `/agent new`. If name or role are empty, `tidied` fills in the defaults that the form shows."""

    name: str = ""
    role: str = ""
    goals: tuple[str, ...] = ()
    budget: Decimal | None = None
    model: str = ""
    effort: str = ""
    policy: Policy = Policy()
    dry_run: bool = False

    def tidied(self) -> Self:
        """The draft with white space trimmed and defaults filled in; raise InvalidInput with all invalid fields."""
        draft = replace(
            self,
            name=" ".join(self.name.split()) or DEFAULT_NAME,
            role=" ".join(self.role.split()) or DEFAULT_ROLE,
            goals=clean_goals(self.goals),
        )
        if problems := draft_problems(draft):
            raise InvalidInput(problems)
        return draft

    def like(self, last: Self | None) -> Self:
        """The draft, with budget, model, effort and policy taken from `last` where this draft has none.

        Classes that need no approval are never copied: the person who creates the agent chooses them.
        """
        if last is None:
            return self
        return replace(
            self,
            budget=last.budget if self.budget is None else self.budget,
            model=self.model or last.model,
            effort=self.effort or last.effort,
            policy=replace(last.policy, free=()) if self.policy == Policy() else self.policy,
        )

    def made(self, origin: Origin, at: datetime) -> Agent:
        """A new agent with the values of this tidied draft; the person who asks is its owner."""
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
            effort=self.effort,
            budget=Budget(limit=self.budget),
            policy=self.policy,
            dry_run=self.dry_run,
        )


def clean_goals(lines: Iterable[str]) -> tuple[str, ...]:
    """The goals without surrounding white space and empty lines."""
    return tuple(goal for goal in (line.strip() for line in lines) if goal)


def goals_problem(goals: Sequence[str]) -> str:
    """What is wrong with the goals. Return "" if nothing is."""
    if not goals:
        return "Goals: write at least one, one per line."
    if len(goals) > MAX_GOALS:
        return f"Goals: at most {MAX_GOALS}, one per line; there are {len(goals)}."
    longest = max(map(len, goals))
    return (
        f"Goals: at most {MAX_GOAL_CHARACTERS} characters each; the longest has {longest}."
        if longest > MAX_GOAL_CHARACTERS
        else ""
    )


def model_problem(name: str) -> str:
    """What is wrong with the name of a model. Return "" if nothing is, also for "", the operator's model."""
    if len(name) > MAX_MODEL_CHARACTERS:
        return f"Model: at most {MAX_MODEL_CHARACTERS} characters, this name has {len(name)}."
    if hidden := _NOT_SEEN.search(name):
        return f"Model: one line of visible characters; this name has U+{ord(hidden[0]):04X}."
    return ""


def effort_problem(effort: str) -> str:
    """What is wrong with a reasoning effort. Return "" if nothing is, also for "", the operator's setting."""
    if effort and effort not in EFFORTS:
        return f"Reasoning effort: one of {', '.join(EFFORTS)}, or nothing for the operator's setting."
    return ""


def draft_problems(draft: AgentDraft) -> dict[str, str]:
    """A sentence for each invalid field."""
    problems = {}
    if len(draft.name) > MAX_NAME_CHARACTERS:
        problems["name"] = f"Name: at most {MAX_NAME_CHARACTERS} characters, this one has {len(draft.name)}."
    if len(draft.role) > MAX_ROLE_CHARACTERS:
        problems["role"] = f"Role: at most {MAX_ROLE_CHARACTERS} characters, this one has {len(draft.role)}."
    if problem := goals_problem(draft.goals):
        problems["goals"] = problem
    if problem := model_problem(draft.model):
        problems["model"] = problem
    if draft.budget is not None and not (draft.budget.is_finite() and draft.budget > 0):
        problems["budget"] = "Budget: an amount in US dollars above 0, or nothing for no limit."
    if problem := effort_problem(draft.effort):
        problems["effort"] = problem
    if problem := two_problem(draft.policy):
        problems["free" if set(draft.policy.two) & set(draft.policy.free) else "approvers"] = problem
    return problems


FORM_LIFETIME = timedelta(hours=1)
MAX_FORMS = 2_000  # of all people together
MAX_FORMS_OF_PERSON = 20  # so that nobody pushes out the forms of others
MAX_FORM_CHARACTERS = 40_000  # a form of Discord has up to 20,000


@dataclass(frozen=True, slots=True, kw_only=True)
class FormDraft:
    """A form of one person in one channel. Only that person can open it, in that channel, until `expires_at`.

    `person`: their id on the platform. `agent_id`: the agent that the form is about, with which it is deleted.
    `agent_draft`: the agent that the model drafted; without one, `fields` has the typed texts by field.
    `problems`: an error message for each invalid field.
    """

    channel: ChannelScope
    person: str
    key: str
    expires_at: datetime
    agent_id: AgentId | None = None
    agent_draft: AgentDraft | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)

    def require_size(self) -> None:
        """Raise InvalidInput if the texts have more than MAX_FORM_CHARACTERS together."""
        texts = [text for pair in (*self.fields.items(), *self.problems.items()) for text in pair]
        if draft := self.agent_draft:
            texts += (draft.name, draft.role, *draft.goals, draft.model)
        if (length := sum(map(len, texts))) > MAX_FORM_CHARACTERS:
            raise InvalidInput(
                {"form": f"This form has {length:,} characters, and at most {MAX_FORM_CHARACTERS:,} can be kept."}
            )
