"""Draws a form as a Discord modal: text inputs, menus, and one menu for all extra fields. `submitted_forms` reads it.

The `custom_id` has everything a form refers to, so a form that was opened before a restart works after it. Discord
allows five components: in a longer form all extra fields share one menu.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import discord
from discord import ui

from adapters.discord.outbound.controls import MAX_OPTIONS
from adapters.discord.outbound.inputs import MAX_INPUTS
from adapters.discord.outbound.message import NOTHING, escaped, escaped_size, quoted, quoted_size
from adapters.screens.form_parts import Field, Form, Said
from adapters.screens.text_fit import beginning, cut, cut_by_size, fits
from adapters.screens.visible_text import one_line, visible
from agent_core.errors import NotPossible

# https://discord.com/developers/docs/components/reference: limits of a form's title, labels, descriptions and inputs.
MAX_TITLE, MAX_LABEL, MAX_HINT, MAX_INPUT, MAX_OPTION = 45, 45, 100, 4000, 100
MAX_QUOTE, MAX_LINE = 3_000, 450  # of a form's text, which has room for 4,000
MORE, NOT_ALL = "More", "Not all of it fits here."
KEYED = ("new", "prompt", "policy")  # kinds of forms that are about something else than a button


def draw_form(form: Form) -> ui.Modal:
    """The modal; raise NotPossible if it has too many fields."""
    fields, extras = form.fields, tuple[Field, ...]()
    if len(fields) > MAX_INPUTS:
        extras = tuple(field for field in fields if field.is_extra)
        fields = tuple(field for field in fields if not field.is_extra)
    rows = len(fields) + bool(extras)
    if rows > MAX_INPUTS:
        raise NotPossible(form.too_many)
    about = f"{form.kind}:{form.about}" if form.kind in KEYED else form.about
    shown = ui.Modal(title=cut(one_line(form.does or form.title), MAX_TITLE), custom_id=f"form:{about}")
    texts = [_text(each) for each in form.texts if not extras and each.look != "title"]
    if texts and rows < MAX_INPUTS:
        shown.add_item(ui.TextDisplay("\n".join(texts)))
    for number, field in enumerate(fields):
        is_alone = number == 0 and rows == MAX_INPUTS
        shown.add_item(_labelled(field, f"{form.brief} {field.hint}".strip() if is_alone else field.hint))
    if extras:
        problem = next((field.problem for field in extras if field.problem), "")
        shown.add_item(_label(MORE, _more(extras), problem or form.extras_hint))
    return shown


def _text(said: Said) -> str:
    if said.look == "quote":
        return quoted(cut_by_size(visible(said.text), MAX_QUOTE, quoted_size))
    return ("-# " if said.look == "small" else "") + escaped(cut_by_size(visible(said.text), MAX_LINE, escaped_size))


def _labelled(field: Field, hint: str) -> ui.Label[Any]:
    if 0 < len(field.options) <= MAX_OPTIONS and all(fits(option.label, MAX_OPTION) for option in field.options):
        return _label(field.label, _menu(field), field.problem or hint)
    is_whole = fits(field.text, MAX_INPUT)
    return _label(field.label, _entry(field), field.problem or (hint if is_whole else NOT_ALL))


def _label(label: str, component: ui.Item[Any], hint: str) -> ui.Label[Any]:
    said = cut(one_line(hint), MAX_HINT) or None
    return ui.Label(text=cut(one_line(label), MAX_LABEL) or NOTHING, component=component, description=said)


def _entry(field: Field) -> ui.TextInput[Any]:
    return ui.TextInput(
        custom_id=field.id,
        style=discord.TextStyle.paragraph if field.kind == "long text" else discord.TextStyle.short,
        default=beginning(field.text, MAX_INPUT) or None,
        placeholder=cut(field.placeholder, MAX_HINT) or None,
        required=field.is_required,
        max_length=MAX_INPUT,
    )


def _menu(field: Field) -> ui.Select[Any]:
    options = [
        discord.SelectOption(label=each.label, value=each.value, default=each.value in field.chosen)
        for each in field.options
    ]
    most = len(options) if field.kind == "several of" else 1
    least = 1 if field.is_required else 0
    return ui.Select(custom_id=field.id, options=options, min_values=least, max_values=most, required=field.is_required)


def _more(fields: Sequence[Field]) -> ui.Select[Any]:
    rights_first = sorted(fields, key=lambda field: field.is_menu or not field.options)
    options = [option for field in rights_first for option in _extras(field)]
    return ui.Select(custom_id="more", options=options, min_values=0, max_values=len(options), required=False)


def _extras(field: Field) -> Iterable[discord.SelectOption]:
    """What the shared menu has of a field. `submitted_forms` reads the values: the field, and what is chosen of it."""
    for each in field.options:
        if each.alone:
            name, is_chosen = f"{field.id}.{each.value}", each.value in field.chosen
            yield discord.SelectOption(label=cut(each.alone, MAX_OPTION), value=name, default=is_chosen)
    if not field.options and field.text and fits(name := f"{field.id}.{field.text}", MAX_OPTION):
        label = cut(f"{field.label}: {one_line(field.text)}", MAX_OPTION)
        yield discord.SelectOption(label=label, value=name, default=True)
