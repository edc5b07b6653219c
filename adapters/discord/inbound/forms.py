"""Discord's forms from values, and what was submitted back to values. What fields mean is adapters.forms'.

Everything that a form is about stands in its `custom_id`, so that one opened before a restart works after it. A form
has five fields: what a new agent has besides its texts and budget is one choice of several.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import discord
from discord import ui

from adapters import forms
from adapters.buttons import Button
from adapters.discord.inbound.argument_fields import arguments_of, fields_of
from adapters.discord.outbound.controls import APPROVE_N
from adapters.discord.outbound.texts import NOTHING, one_line
from adapters.forms import Form
from adapters.text_fit import beginning, cut, fits
from adapters.ui_text import REPLY_DOES, covered_text
from adapters.visible_text import readable, visible
from agent_core.errors import ChangedSinceShown, InvalidInput
from agent_core.model.agent import Agent
from agent_core.model.command import RISK_CLASSES, Arguments, CommandSpec
from agent_core.model.decision import MAX_LEASE_COMMANDS, MIN_LEASE_COMMANDS
from agent_core.model.draft import DEFAULT_NAME, DEFAULT_ROLE, AgentDraft
from agent_core.model.turn import Turn

# https://discord.com/developers/docs/components/reference: a form's title and labels, the lines under them, inputs.
TITLE, LABEL, HINT, INPUT, OPTION = 45, 45, 100, 4000, 100
FOREIGN = "This form is not one of Signoff's."
GOALS = "One per line, 1 to 5."
MORE = "More"
MORE_HINT = "Where nothing is chosen every command asks, and anyone here may approve."
REASON_HINT = "Optional. The agent reads it and thinks again."
OWNER, BRIEF = "approvers.owner", "verbosity.brief"
Values: TypeAlias = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class AgentForm:
    """The form of a new agent as it was typed."""

    place: str
    fields: Form

    def draft(self) -> AgentDraft:
        """What it makes; raise InvalidInput for a budget that is no amount."""
        return forms.draft_of(self.fields)


@dataclass(frozen=True, slots=True)
class EditForm:
    """Arguments as they were typed; the button carries the hash of what the card showed when the form was opened."""

    button: Button
    fields: Form

    def arguments(self, turn: Turn, spec: CommandSpec) -> Arguments:
        """The arguments as they were changed; what was not touched is the very value it was.

        Raise InvalidInput for what cannot be read, ChangedSinceShown where the turn is not what was shown.
        """
        if turn.control_hash != self.button.shown:
            raise ChangedSinceShown(turn.number, turn.remark)
        return arguments_of(self.fields, turn, spec)


@dataclass(frozen=True, slots=True)
class RejectForm:
    """A turn is rejected, and why."""

    button: Button
    reason: str


@dataclass(frozen=True, slots=True)
class ReplyForm:
    """A reply to an agent."""

    button: Button
    text: str


@dataclass(frozen=True, slots=True)
class NumberForm:
    """How many commands may run, as it was typed."""

    button: Button
    text: str

    @property
    def number(self) -> int:
        """The N of Approve ×N; raise InvalidInput for what is no number."""
        return forms.times_of(self.text)


Submitted: TypeAlias = AgentForm | EditForm | RejectForm | ReplyForm | NumberForm


def agent_form(given: AgentDraft | Form | None, *, place: str, problems: Mapping[str, str] | None = None) -> ui.Modal:
    """The form of a new agent, filled in from a draft or from what was typed; `problems` stand under their fields."""
    form = forms.fields_of(given) if isinstance(given, AgentDraft) else given or {}
    wrong = problems or {}
    modal = _modal("New agent", f"form:new:{place}")
    texts = (
        ("name", "Name", DEFAULT_NAME, ""),
        ("role", "Role", DEFAULT_ROLE, ""),
        ("goals", "Goals", "", GOALS),
        ("budget", "Budget in US dollars", "No limit", ""),
    )
    for field, label, placeholder, hint in texts:
        is_long = field in ("role", "goals")
        text = readable(form.get(field, "")) if is_long else one_line(form.get(field, ""))
        entry = _input(field, text, is_long=is_long, placeholder=placeholder)
        entry.required = field == "goals"
        said = wrong.get(field) or ("Not all of it fits here." if not fits(text, INPUT) else hint)
        modal.add_item(_labelled(label, entry, said))
    modal.add_item(_labelled(MORE, _more(form), wrong.get("model") or MORE_HINT))
    return modal


def edit_form(
    turn: Turn, spec: CommandSpec, *, typed: Form | None = None, problems: Mapping[str, str] | None = None
) -> ui.Modal:
    """Every argument to be changed, as it is or as it was `typed`; raise NotPossible where they are too long for one.

    `problems` are by the names of arguments.
    """
    modal = _modal(f"Run edited: {spec.label}", _form_id(Button("edit", turn.id, shown=turn.control_hash)))
    wrong = {one_line(name): problem for name, problem in (problems or {}).items()}
    fields = fields_of(turn, spec)
    for field in fields:
        hint = wrong.get(field.label) or wrong.get("arguments") or field.hint
        for input_id, label, text in field.inputs:
            entry = _input(input_id, visible((typed or {}).get(input_id, text)), is_long=True)
            modal.add_item(_labelled(label, entry, hint))
    if not fields:
        modal.add_item(ui.TextDisplay("This command takes no arguments."))
    return modal


def reject_form(turn: Turn) -> ui.Modal:
    """Asks why not; the agent reads it."""
    modal = _modal(f"Reject turn {turn.number}", _form_id(Button("reject", turn.id, shown=turn.control_hash)))
    return modal.add_item(_labelled("Reason", _input("text", "", is_long=True), REASON_HINT))


def reply_form(agent: Agent, shown: str) -> ui.Modal:
    """Asks for a reply to the agent."""
    modal = _modal(f"Reply to {agent.name}", _form_id(Button("reply", agent.id, shown=shown)))
    entry = _input("text", "", is_long=True, placeholder="What should be different?")
    entry.required = True
    return modal.add_item(_labelled("Reply", entry, REPLY_DOES if shown else ""))


def number_form(turn: Turn) -> ui.Modal:
    """Asks how many commands may run."""
    modal = _modal(f"{APPROVE_N} · turn {turn.number}", _form_id(Button("approve", turn.id, shown=turn.control_hash)))
    entry = _input("text", "", placeholder=f"From {MIN_LEASE_COMMANDS} to {MAX_LEASE_COMMANDS}")
    entry.required = True
    modal.add_item(_labelled("How many commands", entry, "This command is the first of them."))
    return modal.add_item(ui.TextDisplay(covered_text(turn.risks)))


def submitted(components: object) -> dict[str, str | tuple[str, ...]]:
    """What stands in each input of a submitted form, from the components that Discord sends."""
    return dict(_values(components))


def read(custom_id: str, values: Values) -> Submitted:
    """What a submitted form says; raise InvalidInput for a form that is not ours.

    What was typed is kept as it is: values with `draft`, `arguments` or `number` say themselves what cannot be used.
    """
    mark, _, rest = custom_id.partition(":")
    kind, _, about = rest.partition(":")
    texts = {name: value for name, value in values.items() if isinstance(value, str)}
    match kind if mark == "form" and about else "":
        case "new":
            chosen = [choice for value in values.values() if not isinstance(value, str) for choice in value]
            return AgentForm(about, {**texts, **_chosen(chosen)})
        case "edit":
            return EditForm(Button.parse(rest), texts)
        case "reject":
            return RejectForm(Button.parse(rest), texts.get("text", ""))
        case "reply":
            return ReplyForm(Button.parse(rest), texts.get("text", ""))
        case "approve":
            return NumberForm(Button.parse(rest), texts.get("text", ""))
        case _:
            raise InvalidInput({"form": FOREIGN})


def _values(part: Any) -> Iterator[tuple[str, str | tuple[str, ...]]]:
    """Inputs stand in labels or rows, whichever way the form was made."""
    if isinstance(part, list):
        for each in part:
            yield from _values(each)
    elif isinstance(part, dict):
        name = str(part.get("custom_id") or "")
        if name and isinstance(value := part.get("value"), str):
            yield name, value
        elif name and isinstance(several := part.get("values"), list):
            yield name, tuple(map(str, several))
        yield from _values(part.get("component"))
        yield from _values(part.get("components"))


def _chosen(choices: Sequence[str]) -> dict[str, str]:
    """The choices under More as the fields that they stand for."""
    found = {choice: "on" for choice in choices if choice.startswith("free.")}
    found |= {"approvers": "owner"} if OWNER in choices else {}
    found |= {"verbosity": "brief"} if BRIEF in choices else {}
    models = [choice.removeprefix("model.") for choice in choices if choice.startswith("model.")]
    return found | ({"model": models[0]} if models else {})


def _more(form: Form) -> ui.Select[Any]:
    options = [
        _option(f"Run without asking: {risk}", f"free.{risk}", is_on=bool(form.get(f"free.{risk}")))
        for risk in RISK_CLASSES
    ]
    options.append(_option("Only I may approve", OWNER, is_on=form.get("approvers") == "owner"))
    options.append(_option("Cards show the text, the rest behind Thoughts", BRIEF, is_on=_is_brief(form)))
    if (model := form.get("model", "").strip()) and fits(f"model.{model}", OPTION):
        options.append(_option(f"Model: {one_line(model)}", f"model.{model}", is_on=True))
    return ui.Select(custom_id="more", options=options, min_values=0, max_values=len(options), required=False)


def _is_brief(form: Form) -> bool:
    return form.get("verbosity") == "brief"


def _option(label: str, value: str, *, is_on: bool) -> discord.SelectOption:
    return discord.SelectOption(label=cut(label, OPTION), value=value, default=is_on)


def _modal(title: str, custom_id: str) -> ui.Modal:
    return ui.Modal(title=cut(one_line(title), TITLE), custom_id=custom_id)


def _labelled(label: str, entry: ui.Item[Any], hint: str = "") -> ui.Label[Any]:
    said = cut(one_line(hint), HINT) or None
    return ui.Label(text=cut(one_line(label), LABEL) or NOTHING, component=entry, description=said)


def _input(custom_id: str, text: str, *, is_long: bool = False, placeholder: str = "") -> ui.TextInput[Any]:
    return ui.TextInput(
        custom_id=custom_id,
        style=discord.TextStyle.paragraph if is_long else discord.TextStyle.short,
        default=beginning(text, INPUT) or None,
        placeholder=cut(placeholder, HINT) or None,
        required=False,
        max_length=INPUT,
    )


def _form_id(button: Button) -> str:
    """What Discord sends back with a form: the button that it stands for."""
    return f"form:{button}"
