"""The inputs of a form in which people answer a tool server, of the kinds that Slack has for its fields."""

from adapters.question_form import NO_CHOICE, FormField, QuestionForm, option_value
from adapters.slack.outbound.blocks import (
    MAX_INPUT,
    MAX_OPTION_TEXT,
    MAX_PLACEHOLDER,
    Block,
    chooser,
    context,
    labelled,
    option,
    plain,
    quoted,
    rich,
    section,
    text_input,
)
from adapters.slack.outbound.inputs import FIELD
from adapters.text_fit import beginning, fits
from adapters.visible_text import visible

TYPED = {"email": "email_text_input", "uri": "url_text_input"}
LEFT_OUT = option("Leave out", NO_CHOICE)


def question_blocks(form: QuestionForm) -> list[Block]:
    """What is asked and an input for each field. A choice that a menu would cut is typed, as the thread lists it."""
    head = [section(form.whose), rich(quoted(form.message))]
    return [*head, *(_input(field) for field in form.fields), context(form.warning)]


def _input(field: FormField) -> Block:
    is_menu = field.choices and all(fits(choice, MAX_OPTION_TEXT) for choice in field.choices)
    element = _chooser(field) if is_menu else _entry(field)
    return labelled(field.label, element, field.id, hint=field.hint, optional=not field.is_required)


def _chooser(field: FormField) -> Block:
    options = [option(choice, option_value(number)) for number, choice in enumerate(field.choices)]
    chosen = [each for each, choice in zip(options, field.choices, strict=True) if choice in field.chosen]
    if field.takes_several:
        menu = chooser("multi_static_select", FIELD, options)
        menu |= {"initial_options": chosen} if chosen else {}
    else:
        offered = options if field.is_required else [*options, LEFT_OUT]
        menu = chooser("static_select", FIELD, offered, [each["value"] for each in chosen])
    return menu | {"placeholder": plain("Choose…", MAX_PLACEHOLDER)}


def _entry(field: FormField) -> Block:
    text = beginning(visible(field.text), MAX_INPUT)
    if field.format == "date":
        return {"type": "datepicker", "action_id": FIELD} | ({"initial_date": text} if text else {})
    if field.kind in ("number", "whole number"):
        element: Block = {"type": "number_input", "action_id": FIELD, "is_decimal_allowed": field.kind == "number"}
    elif field.format in TYPED:
        element = {"type": TYPED[field.format], "action_id": FIELD}
    else:
        return text_input(FIELD, text, multiline=not field.format)
    return element | ({"initial_value": text} if text else {})
