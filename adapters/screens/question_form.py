"""Makes a form of what a tool server asks people, with its buttons, and reads the texts that the form sends."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from adapters.screens.buttons import Button
from adapters.screens.form_parts import Field, FieldKind, Form, Option, Said
from adapters.screens.visible_text import one_line, visible
from agent_core.model.question import (
    AskedQuestion,
    QuestionField,
    chosen_label,
    chosen_labels,
    field_id,
    hint_text,
    labels_text,
)
from agent_core.model.turn import Turn

YES_OR_NO = ("yes", "no")
CHOICE = "choice."
NO_PASSWORDS = "Goes to that server: no passwords."
TOO_MANY = "The server asks for more fields than a form here has room for: press Decline."


def question_form(turn: Turn, typed: Mapping[str, str] | None = None) -> Form | None:
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


def _sent_text(field: Field, form: Mapping[str, str | Sequence[str]]) -> str:
    sent = form.get(field.id, "")
    values = [sent] if isinstance(sent, str) else [*sent]
    labels = {option.value: option.label for option in field.options}
    values += [value for value in labels if form.get(f"{field.id}.{value}")]
    chosen = [labels[value] for value in values if value in labels]
    if chosen:
        return labels_text(chosen) if field.kind == "several of" else chosen[0]
    return " ".join(value for value in values if not (field.options and value.startswith(CHOICE)))


def _form_of(turn: Turn, asked: AskedQuestion, typed: Mapping[str, str] | None) -> Form:
    fields = tuple(
        _field(each, field_id(number), each.default if typed is None else typed.get(field_id(number), ""))
        for number, each in enumerate(asked.question.fields)
    )
    whose = f"The tool server {asked.server} asks"
    warning = _warning(one_line(asked.place), has_fields=bool(fields))
    message = visible(asked.question.message)
    parts: tuple[Said | Field, ...] = (Said(whose, "title"), Said(message, "quote"), *fields, Said(warning, "small"))
    about = str(question_buttons(turn)[0])
    return Form("answer", "Answer", "Answer", parts, about, does=whose, brief=NO_PASSWORDS, too_many=TOO_MANY)


def _warning(place: str, *, has_fields: bool) -> str:
    goes = f"Your answer goes to {place}."
    return f"{goes} Write no passwords." if has_fields else f"Nothing has to be filled in: Answer says yes. {goes}"


def _field(asked: QuestionField, id_: str, text: str) -> Field:
    """The input for one field. `text`: what it is filled in with, as a person would write it."""
    labels = YES_OR_NO if asked.kind == "yes or no" else tuple(asked.choices)
    options = tuple(Option(option_value(number), label) for number, label in enumerate(labels))
    chosen = _chosen(labels, chosen_labels(text) if asked.kind == "choices" else [text])
    hint = one_line(" · ".join(filter(None, (asked.description, hint_text(asked)))))
    first = tuple(option.value for option in options if option.label in chosen)
    return Field(
        id_,
        one_line(asked.label),
        _kind(asked),
        text,
        hint,
        options=options,
        chosen=first,
        is_menu=True,
        is_required=asked.is_required,
    )


def _kind(asked: QuestionField) -> FieldKind:
    match asked.kind, asked.format:
        case "yes or no" | "choice", _:
            return "one of"
        case "choices", _:
            return "several of"
        case "number" | "whole number" as number, _:
            return number
        case _, "email" | "uri" | "date" as text:
            return text
        case _, "date-time":
            return "text"
        case _:
            return "long text"


def _chosen(labels: Sequence[str], written: Iterable[str]) -> set[str]:
    chosen = set[str]()
    for each in written:
        with suppress(KeyError):
            chosen.add(chosen_label(labels, each))
    return chosen
