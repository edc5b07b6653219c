"""Converts form fields to drafts, policies, amounts and arguments, and back, with an error for each invalid field."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

from adapters.screens.cards import as_text
from adapters.screens.visible_text import restore_invisible, visible
from agent_core.errors import InvalidInput
from agent_core.model.command import RISK_CLASSES, Arguments, CommandSpec, replace_lone_surrogates
from agent_core.model.decision import MAX_LEASE_COMMANDS, MIN_LEASE_COMMANDS, NO_LIMITS, LeaseLimits, Policy
from agent_core.model.draft import AgentDraft
from agent_core.model.turn import Turn

FormValues: TypeAlias = Mapping[str, str]
DRY_RUN = "dry.run"  # the field of a form that is ticked for a dry run
DEFAULT_EFFORT = "default"  # the form's value for an agent without an effort of its own
HOW_LIMITS = (
    "Approve ×N: after the number write until 18:00 (UTC), $2, or only CLASSES, as in !approve 20 until 18:00 $2."
)
JUST_PASSED = timedelta(hours=1)  # a line that is read late must not hold for a day longer
MAX_DOLLARS, MAX_QUOTED_CHARACTERS = 1_000_000_000, 40


def draft_of(form: FormValues) -> AgentDraft:
    """The draft in the form. Raise InvalidInput only if the budget is no amount; it then names every invalid field."""
    draft = AgentDraft(
        name=form.get("name", ""),
        role=form.get("role", ""),
        goals=tuple(form.get("goals", "").splitlines()),
        model=form.get("model", "").strip(),
        effort=effort_of(form.get("effort", "")),
        policy=policy_of(form),
        dry_run=bool(form.get(DRY_RUN)),
    )
    try:
        return replace(draft, budget=dollars(form.get("budget", "")))
    except InvalidInput as wrong:
        raise InvalidInput({**_problems(draft), **wrong.problems}) from None


def policy_of(form: FormValues) -> Policy:
    """The policy in the form."""
    return Policy(
        approvers="owner" if form.get("approvers") == "owner" else "anyone",
        free=tuple(risk for risk in RISK_CLASSES if form.get(f"free.{risk}")),
        two=tuple(risk for risk in RISK_CLASSES if form.get(f"two.{risk}")),
        verbosity="full" if form.get("verbosity") == "full" else "brief",
    )


def fields_of_policy(policy: Policy) -> dict[str, str]:
    """The form fields of a policy: the inverse of `policy_of`."""
    free = {f"free.{risk}": "on" for risk in policy.free}
    two = {f"two.{risk}": "on" for risk in policy.two}
    return {"approvers": policy.approvers, "verbosity": policy.verbosity, **free, **two}


def _problems(draft: AgentDraft) -> dict[str, str]:
    try:
        draft.tidied()
    except InvalidInput as wrong:
        return wrong.problems
    return {}


def fields_of(draft: AgentDraft) -> dict[str, str]:
    """The form fields of a draft: the inverse of `draft_of`."""
    return {
        "name": draft.name,
        "role": draft.role,
        "goals": "\n".join(draft.goals),
        "budget": str(draft.budget) if draft.budget is not None else "",
        "model": draft.model,
        "effort": draft.effort,
        **({DRY_RUN: "on"} if draft.dry_run else {}),
        **fields_of_policy(draft.policy),
    }


def model_name(text: str) -> str:
    """The model that a person wrote; "" for an empty text and for `default`, the operator's."""
    name = text.strip()
    return "" if name.casefold() == "default" else name


def effort_of(text: str) -> str:
    """The reasoning effort in a form; "" for the operator's."""
    effort = text.strip().lower()
    return "" if effort == DEFAULT_EFFORT else effort


def dollars(text: str) -> Decimal | None:
    """An amount in US dollars, or None for an empty field; raise InvalidInput for any other text."""
    tidy = text.strip().lstrip("$").replace(",", ".")
    if not tidy:
        return None
    try:
        amount = Decimal(tidy)
    except InvalidOperation:
        amount = Decimal("nan")
    if not (amount.is_finite() and abs(amount) < MAX_DOLLARS):
        said = text.strip()[:MAX_QUOTED_CHARACTERS]
        raise InvalidInput({"budget": f"Budget: {said!r} is not an amount in US dollars. Write one such as 2.50."})
    return amount


def times_of(text: str) -> int:
    """The N of Approve ×N that a person typed; raise InvalidInput if it is no number. The service checks its range."""
    number = text.strip()
    if not (number.isascii() and number.isdigit()):
        raise InvalidInput({"times": f"Approve ×N: write a number from {MIN_LEASE_COMMANDS} to {MAX_LEASE_COMMANDS}."})
    return int(number[:6])


def parse_limits(text: str, now: datetime) -> LeaseLimits:
    """The limits after the number of Approve ×N, such as `until 18:00 $2 only read`; raise InvalidInput. In UTC."""
    words, limits = text.casefold().replace(",", " ").split(), NO_LIMITS
    while words:
        word = words.pop(0)
        if word == "until" and words:
            limits = replace(limits, until=_time_of(words.pop(0), now))
        elif word.startswith("$") and word != "$":
            limits = replace(limits, dollars=dollars(word))
        elif word == "only" and words and all(each in RISK_CLASSES for each in words):
            limits = replace(limits, only=tuple(risk for risk in RISK_CLASSES if risk in words))
            words = []
        else:
            raise InvalidInput({"times": HOW_LIMITS})
    return limits


def _time_of(text: str, now: datetime) -> datetime:
    """The next time of this hour, in UTC; raise InvalidInput also for one that has just passed."""
    try:
        hour = time.fromisoformat(text.zfill(5))
    except ValueError:
        raise InvalidInput({"times": HOW_LIMITS}) from None
    at = datetime.combine(now.date(), hour.replace(tzinfo=UTC))
    if hour.tzinfo or timedelta(0) <= now - at < JUST_PASSED:
        raise InvalidInput({"times": f"Approve ×N: {text} has just passed, or is no time in UTC. {HOW_LIMITS}"})
    return at if at > now else at + timedelta(days=1)


def argument_names(turn: Turn, spec: CommandSpec) -> tuple[str, ...]:
    """The fields of the Edit form: the arguments that were given, then the optional ones that were not."""
    given, properties = turn.call.arguments, spec.parameters.get("properties")
    others = [name for name in properties if name not in given] if isinstance(properties, dict) else []
    return (*given, *others)


def edited_arguments(fields: FormValues, shown: FormValues, turn: Turn, spec: CommandSpec) -> Arguments:
    """The arguments after the edit. Arguments that are not text are parsed as JSON; raise InvalidInput if that fails.

    `shown`: the initial texts of fields, where they differ from the values' visible texts. An unchanged field keeps its
    exact value, and an unchanged mark such as ⟨U+200B⟩ becomes its hidden character again.
    """
    given = turn.call.arguments
    return {
        name: given[name]
        if name in given and _is_same(text, shown.get(name, visible(as_text(given[name]))))
        else _value(name, text, given.get(name), spec)
        for name, text in fields.items()
        if name in given or text
    }


def _is_same(sent: str, shown: str) -> bool:
    # Browsers and platforms change line ends.
    return sent.replace("\r\n", "\n") == shown.replace("\r\n", "\n")


def _value(name: str, text: str, before: object, spec: CommandSpec) -> object:
    sent = restore_invisible(text.replace("\r\n", "\n"), as_text(before))
    if isinstance(before, str) or _takes_text(name, spec):
        return sent
    try:
        return replace_lone_surrogates(json.loads(sent))
    except ValueError:
        raise InvalidInput({name: f"{name}: this is not valid JSON. Examples: 7, true, [1, 2]."}) from None


def _takes_text(name: str, spec: CommandSpec) -> bool:
    properties = spec.parameters.get("properties")
    described = properties.get(name) if isinstance(properties, dict) else None
    return isinstance(described, dict) and described.get("type") == "string"
