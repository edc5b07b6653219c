"""Slack's buttons Create and Change, whose value holds the draft of an agent, and how it is packed into JSON."""

import json
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Self, get_args

from adapters.chat.extra_buttons import ExtraVerb
from adapters.screens.buttons import foreign_button_error
from adapters.screens.text_fit import beginning, fits, units
from adapters.screens.visible_text import readable
from adapters.slack.outbound.blocks import MAX_VALUE
from agent_core.model.command import RISK_CLASSES
from agent_core.model.decision import Approvers, Policy, Verbosity
from agent_core.model.draft import AgentDraft


@dataclass(frozen=True, slots=True)
class SlackDraftButton:
    """Creates a drafted agent or opens it in the form. The draft's free classes are left out.

    If a draft is too long for a button, its value has only the `sentence` that the draft was made from.
    """

    verb: ExtraVerb
    draft: AgentDraft | None
    sentence: str = ""

    @property
    def label(self) -> str:
        return self.verb.capitalize()

    @property
    def carries_draft(self) -> bool:
        """Whether the draft is short enough for the button's value."""
        return self.draft is not None and fits(_json([self.verb, _fields(self.draft), ""]), MAX_VALUE)

    def __str__(self) -> str:
        if self.draft is not None and self.carries_draft:
            return _json([self.verb, _fields(self.draft), ""])
        return _json(
            [self.verb, None, _shortened(readable(self.sentence), MAX_VALUE - units(_json([self.verb, None, ""])))]
        )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the output of `str`; raise InvalidInput for any other text."""
        try:
            verb, fields, sentence = json.loads(text)
            draft = None if fields is None else _draft(fields)
        except (ValueError, TypeError, KeyError, AttributeError, InvalidOperation, RecursionError):
            raise foreign_button_error() from None
        if verb not in get_args(ExtraVerb) or not isinstance(sentence, str):
            raise foreign_button_error()
        return cls(verb, draft, sentence)


def draft_buttons(draft: AgentDraft, sentence: str = "") -> tuple[SlackDraftButton, SlackDraftButton]:
    """Create and Change; `sentence`: what the draft was made from."""
    return SlackDraftButton("create", draft, sentence), SlackDraftButton("change", draft, sentence)


def _fields(draft: AgentDraft) -> list[Any]:
    # Without the classes that need no approval: the person who clicks has not chosen them.
    policy, budget = draft.policy, None if draft.budget is None else str(draft.budget)
    texts = [
        readable(draft.name),
        readable(draft.role),
        [readable(goal) for goal in draft.goals],
        readable(draft.model),
    ]
    return [*texts, budget, policy.approvers, policy.verbosity, draft.effort, [*policy.two], draft.dry_run]


def _draft(fields: Any) -> AgentDraft:
    name, role, goals, model, budget, approvers, verbosity, *rest = fields
    effort = rest[0] if rest else ""  # older buttons lack it, and the classes after it
    two = rest[1] if len(rest) > 1 else []
    is_dry = len(rest) > 2 and rest[2] is True
    texts = [name, role, model, effort, *goals]
    if not (all(isinstance(text, str) for text in texts) and isinstance(goals, list)):
        raise TypeError
    if approvers not in get_args(Approvers) or verbosity not in get_args(Verbosity):
        raise ValueError
    if not {*two} <= {*RISK_CLASSES}:
        raise ValueError
    return AgentDraft(
        name=name,
        role=role,
        goals=tuple(goals),
        model=model,
        effort=effort,
        budget=None if budget is None else Decimal(budget),
        policy=Policy(approvers=approvers, two=tuple(two), verbosity=verbosity),
        dry_run=is_dry,
    )


def _shortened(text: str, most: int) -> str:
    part = beginning(text, most)
    while (over := units(_json(part)) - 2 - most) > 0:
        part = beginning(part, units(part) - over) if over < units(part) else ""
    return part


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
