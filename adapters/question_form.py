"""What a tool server asks people, as a form that every surface draws in its own way. All of it is the server's text."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from adapters.buttons import Button
from adapters.visible_text import one_line, visible
from agent_core.model.question_field import (
    FieldFormat,
    FieldKind,
    chosen_label,
    chosen_labels,
    field_id,
    hint_text,
    labels_text,
)
from agent_core.model.server_question import AskedQuestion
from agent_core.model.turn import Turn

YES_OR_NO = ("yes", "no")
CHOICE = "choice."
NO_CHOICE = f"{CHOICE}none"  # what a menu sends for nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """One input. `choices`: what can be chosen; () for what is typed. `chosen`: those that the server suggests.

    `text`: what the server suggests, or what a person typed before.
    """

    id: str
    label: str
    hint: str
    kind: FieldKind
    format: FieldFormat
    choices: tuple[str, ...]
    text: str
    is_required: bool

    @property
    def chosen(self) -> tuple[str, ...]:
        written = chosen_labels(self.text) if self.kind == "choices" else [self.text]
        chosen = set[str]()
        for each in written:
            with suppress(KeyError):
                chosen.add(chosen_label(self.choices, each))
        return tuple(choice for choice in self.choices if choice in chosen)

    @property
    def takes_several(self) -> bool:
        return self.kind == "choices"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionForm:
    """A form for a person. `whose` says who asks, `message` what, and `warning` to where the answer goes."""

    answer: Button
    decline: Button
    whose: str
    message: str
    warning: str
    fields: tuple[FormField, ...]


def question_form(turn: Turn, typed: Mapping[str, str] | None = None) -> QuestionForm | None:
    """The form of the question that is open on the turn, with what was typed before; None if nothing is asked."""
    return _form_of(turn, turn.open_question, typed) if turn.open_question else None


def question_buttons(turn: Turn) -> tuple[Button, ...]:
    """Answer and Decline, while the tool server of a running command asks people."""
    asked = turn.open_question
    return (Button("answer", turn.id, shown=asked.id), Button("decline", turn.id, shown=asked.id)) if asked else ()


def option_value(number: int) -> str:
    """What a menu sends for a choice: servers do not choose it."""
    return f"{CHOICE}{number}"


def sent_texts(turn: Turn, form: Mapping[str, str | Sequence[str]]) -> dict[str, str]:
    """The text of each field, by its id, from what a form sent: a text, the value of an option, or several of them.

    Of ticked boxes each may come by itself, as `ID.VALUE`. Empty if nothing is asked any more.
    """
    asked = question_form(turn)
    return {field.id: _sent_text(field, form) for field in (asked.fields if asked else ())}


def _sent_text(field: FormField, form: Mapping[str, str | Sequence[str]]) -> str:
    sent = form.get(field.id, "")
    values = [sent] if isinstance(sent, str) else [*sent]
    labels = {option_value(number): label for number, label in enumerate(field.choices)}
    values += [value for value in labels if form.get(f"{field.id}.{value}")]
    chosen = [labels[value] for value in values if value in labels]
    if chosen:
        return labels_text(chosen) if field.takes_several else chosen[0]
    return " ".join(value for value in values if not (field.choices and value.startswith(CHOICE)))


def _form_of(turn: Turn, asked: AskedQuestion, typed: Mapping[str, str] | None) -> QuestionForm:
    answer, decline = question_buttons(turn)
    return QuestionForm(
        answer=answer,
        decline=decline,
        whose=f"The tool server {asked.server} asks",
        message=visible(asked.question.message),
        warning=_warning(one_line(asked.place), has_fields=bool(asked.question.fields)),
        fields=_fields(asked, typed),
    )


def _warning(place: str, *, has_fields: bool) -> str:
    goes = f"Your answer goes to {place}."
    return f"{goes} Write no passwords." if has_fields else f"Nothing has to be filled in: Answer says yes. {goes}"


def _fields(asked: AskedQuestion, typed: Mapping[str, str] | None) -> tuple[FormField, ...]:
    return tuple(
        FormField(
            id=field_id(number),
            label=one_line(each.label),
            hint=one_line(" · ".join(filter(None, (each.description, hint_text(each))))),
            kind=each.kind,
            format=each.format,
            choices=YES_OR_NO if each.kind == "yes or no" else tuple(each.choices),
            text=each.default if typed is None else typed.get(field_id(number), ""),
            is_required=each.is_required,
        )
        for number, each in enumerate(asked.question.fields)
    )
