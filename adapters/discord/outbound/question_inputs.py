"""The form in which people answer a tool server. Discord allows five components."""

from collections.abc import Mapping
from typing import Any

import discord
from discord import ui

from adapters.discord.outbound.controls import MAX_OPTIONS
from adapters.discord.outbound.inputs import MAX_INPUTS
from adapters.discord.outbound.texts import quoted
from adapters.discord.outbound.views import MAX_OPTION, form_id, labelled, modal, text_entry
from adapters.question_form import FormField, QuestionForm, option_value
from adapters.text_fit import cut, fits
from agent_core.errors import NotPossible

MAX_MESSAGE = 3_000  # a form's text has room for 4,000, with what is around it
TOO_MANY = f"A form of Discord has at most {MAX_INPUTS} fields, and the server asks for more: press Decline."


def question_modal(form: QuestionForm, problems: Mapping[str, str]) -> ui.Modal:
    """The form, with errors by field; raise NotPossible if it has too many fields.

    With five fields the message of the server stands on the card only.
    """
    if len(form.fields) > MAX_INPUTS:
        raise NotPossible(TOO_MANY)
    shown = modal(form.whose, form_id(form.answer))
    if len(form.fields) < MAX_INPUTS:
        shown.add_item(ui.TextDisplay(f"{quoted(cut(form.message, MAX_MESSAGE))}\n-# {form.warning}"))
    for number, field in enumerate(form.fields):
        is_alone = number == 0 and len(form.fields) == MAX_INPUTS
        hint = f"Goes to that server: no passwords. {field.hint}" if is_alone else field.hint
        shown.add_item(labelled(field.label, _entry(field), problems.get(field.id) or hint))
    return shown


def _entry(field: FormField) -> ui.Item[Any]:
    if field.choices and len(field.choices) <= MAX_OPTIONS and all(fits(each, MAX_OPTION) for each in field.choices):
        return _menu(field)
    entry = text_entry(field.id, field.text, is_long=field.kind == "text" and not field.format)
    entry.required = field.is_required
    return entry


def _menu(field: FormField) -> ui.Select[Any]:
    options = [
        discord.SelectOption(label=choice, value=option_value(number), default=choice in field.chosen)
        for number, choice in enumerate(field.choices)
    ]
    most = len(options) if field.takes_several else 1
    least = 1 if field.is_required else 0
    return ui.Select(custom_id=field.id, options=options, min_values=least, max_values=most, required=field.is_required)
