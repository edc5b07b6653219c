"""Form fields → values of the core, with a sentence for each field that cannot be one."""

import json
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

from adapters.buttons import Button
from adapters.cards import as_text
from agent_core.errors import InvalidInput
from agent_core.model.command import RISK_CLASSES, Arguments, CommandSpec
from agent_core.model.draft import AgentDraft
from agent_core.model.policy import Policy
from agent_core.model.turn import Turn

Form: TypeAlias = Mapping[str, str]
ARGUMENT = "argument."


def draft_of(form: Form) -> AgentDraft:
    """The form of a new agent."""
    policy = Policy(
        approvers="owner" if form.get("approvers") == "owner" else "anyone",
        free=tuple(risk for risk in RISK_CLASSES if form.get(f"free.{risk}")),
        verbosity="brief" if form.get("verbosity") == "brief" else "full",
    )
    return AgentDraft(
        name=form.get("name", ""),
        role=form.get("role", ""),
        goals=tuple(form.get("goals", "").splitlines()),
        budget=dollars(form.get("budget", "")),
        model=form.get("model", "").strip(),
        policy=policy,
    )


def fields_of(draft: AgentDraft) -> dict[str, str]:
    """A draft as the fields of the form: what `draft_of` reads back."""
    policy = draft.policy
    return {
        "name": draft.name,
        "role": draft.role,
        "goals": "\n".join(draft.goals),
        "budget": str(draft.budget) if draft.budget is not None else "",
        "model": draft.model,
        "approvers": policy.approvers,
        "verbosity": policy.verbosity,
        **{f"free.{risk}": "on" for risk in policy.free},
    }


def dollars(text: str) -> Decimal | None:
    """An amount, or None for an empty field."""
    tidy = text.strip().lstrip("$").replace(",", ".")
    if not tidy:
        return None
    try:
        return Decimal(tidy)
    except InvalidOperation:
        raise InvalidInput(
            {"budget": f"Budget: {text.strip()!r} is not an amount in US dollars, such as 2.50."}
        ) from None


def pressed(form: Form) -> Button:
    """The button, with the number written beside it for `Another number…`."""
    button = Button.parse(form.get("button", ""))
    if button.verb != "approve" or button.times:
        return button
    number = form.get("times", "").strip()
    if not (number.isascii() and number.isdigit()):
        raise InvalidInput({"times": "Approve ×N: write a number from 2 to 50."})
    return replace(button, times=int(number[:6]))


def edited_arguments(form: Form, turn: Turn, spec: CommandSpec) -> Arguments:
    """The arguments as they were changed; one that was not text before is read as JSON."""
    given = turn.call.arguments
    fields = {name.removeprefix(ARGUMENT): text for name, text in form.items() if name.startswith(ARGUMENT)}
    return {name: _value(name, text, given.get(name), spec) for name, text in fields.items() if name in given or text}


def kept_of(form: Form) -> str:
    """What a person wrote into a form that was refused, to give it back."""
    written = {name.removeprefix(ARGUMENT): text for name, text in form.items() if name.startswith(ARGUMENT)}
    if written:
        return "\n\n".join(f"{name}:\n{text}" for name, text in written.items())
    return form.get("text", "")


def _value(name: str, text: str, before: object, spec: CommandSpec) -> object:
    # A browser sends every line end as CRLF, whatever was there before.
    sent = text.replace("\r\n", "\n")
    if sent == as_text(before).replace("\r\n", "\n"):
        return before
    if isinstance(before, str) or _takes_text(name, spec):
        return sent
    try:
        return json.loads(sent)
    except ValueError:
        raise InvalidInput({name: f"{name}: this is not valid JSON, such as 7, true or [1, 2]."}) from None


def _takes_text(name: str, spec: CommandSpec) -> bool:
    properties = spec.parameters.get("properties")
    described = properties.get(name) if isinstance(properties, dict) else None
    return isinstance(described, dict) and described.get("type") == "string"
