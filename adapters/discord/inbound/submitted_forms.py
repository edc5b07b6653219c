"""Reads submitted Discord forms into one value for each kind of form; `form_values` interprets the fields."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, get_args

from adapters.discord.outbound.inputs import arguments_of
from adapters.screens import form_parts as screens
from adapters.screens.buttons import Button, ViewButton
from adapters.screens.forms import agent_form, policy_form
from adapters.typed import form_values
from adapters.typed.form_values import FormValues
from adapters.typed.policies import FIELD_CHOICES
from agent_core.errors import ChangedSinceShown, InvalidInput
from agent_core.model.channel_policy import Need
from agent_core.model.command import Arguments, CommandSpec
from agent_core.model.draft import AgentDraft
from agent_core.model.turn import Turn

NOT_OUR_FORM = "This form is not one of Signoff's."
Values: TypeAlias = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class AgentForm:
    """The submitted form for a new agent, as typed."""

    place: str
    fields: FormValues

    def draft(self) -> AgentDraft:
        """The draft of the agent; raise InvalidInput if the budget is not an amount."""
        return form_values.draft_of(self.fields)


@dataclass(frozen=True, slots=True)
class EditForm:
    """Submitted arguments, as typed; the button carries the hash of the card when the form was opened."""

    button: Button
    fields: FormValues

    def arguments(self, turn: Turn, spec: CommandSpec) -> Arguments:
        """The changed arguments; unchanged ones keep their exact value.

        Raise InvalidInput for an unreadable argument, ChangedSinceShown if the turn has changed since the form
        was opened.
        """
        if turn.control_hash != self.button.shown:
            raise ChangedSinceShown(turn.number, turn.remark)
        return arguments_of(self.fields, turn, spec)


@dataclass(frozen=True, slots=True)
class TextForm:
    """The submitted form of one text: the reason of a rejection, a reply, or the N of Approve ×N, as typed."""

    button: Button
    text: str


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The submitted answer to a tool server; the button carries the id of the question."""

    button: Button
    values: Values


@dataclass(frozen=True, slots=True)
class DirectForm:
    """The submitted reason of a rejection in a direct message; `about` names the channel and the button."""

    about: str
    text: str


@dataclass(frozen=True, slots=True)
class PromptForm:
    """The submitted arguments of a tool server's prompt, as typed; `key` names the prompt."""

    key: str
    fields: FormValues


@dataclass(frozen=True, slots=True)
class PolicyForm:
    """The submitted form of the channel's policy; `packed`: what it had shown."""

    packed: str
    fields: FormValues


@dataclass(frozen=True, slots=True)
class RuleForm:
    """The submitted choice of a rule and its limits; the button carries the hash of the card."""

    button: ViewButton
    fields: FormValues


Submitted: TypeAlias = RuleForm | PolicyForm | AgentForm | EditForm | TextForm | AnswerForm | DirectForm | PromptForm


def submitted(components: object) -> dict[str, str | tuple[str, ...]]:
    """The value of each input of a submitted form, from the components that Discord sends."""
    return dict(_values(components))


def read(custom_id: str, values: Values) -> Submitted:
    """The submitted form by its `custom_id`; raise InvalidInput if Signoff did not make it.

    The values stay as typed: `draft` and `arguments` validate them.
    """
    mark, _, rest = custom_id.partition(":")
    kind, _, about = rest.partition(":")
    texts = {name: value for name, value in values.items() if isinstance(value, str)}
    match kind if mark == "form" and about else "":
        case "new":
            chosen = [choice for value in values.values() if not isinstance(value, str) for choice in value]
            return AgentForm(about, texts | _extras(agent_form({}, about), chosen))
        case "policy":
            needs = {f"{need}.{risk}": "on" for need in get_args(Need) for risk in values.get(need, ())}
            fields = dict.fromkeys(FIELD_CHOICES, "")
            return PolicyForm(about, needs | _extras(policy_form(fields, about), values.get("more", ())))
        case "prompt":
            return PromptForm(about, texts)
        case "dm":
            return DirectForm(rest, texts.get("text", ""))
        case "edit" | "answer" | "always allow" | "reject" | "reply" | "approve":
            return _of_button(rest, values, texts)
        case _:
            raise InvalidInput({"form": NOT_OUR_FORM})


def _of_button(about: str, values: Values, texts: FormValues) -> Submitted:
    """The submitted form that a button of a card opened."""
    match about.partition(":")[0]:
        case "always allow":
            return RuleForm(ViewButton.parse(about), {**texts, "suggested": "".join(values.get("suggested", ()))})
        case "edit":
            return EditForm(Button.parse(about), texts)
        case "answer":
            return AnswerForm(Button.parse(about), values)
        case _:
            return TextForm(Button.parse(about), next(iter(texts.values()), ""))


def _values(part: Any) -> Iterator[tuple[str, str | tuple[str, ...]]]:
    """Yield the inputs of a form, which may be nested in labels or rows."""
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


def _extras(form: screens.Form, choices: Sequence[str]) -> dict[str, str]:
    """What was chosen in the menu that the extra fields of a form share, by field."""
    several = {field.id for field in form.fields if field.kind == "several of"}
    found: dict[str, str] = {}
    for choice in choices:
        field, _, value = choice.partition(".")
        if field in several:
            found[choice] = "on"
        else:
            found[field] = f"{found[field]} and {value}" if field in found else value
    return found
