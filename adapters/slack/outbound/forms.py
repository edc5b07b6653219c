"""Draws a form as a Slack view: texts, menus, typed choices; the form for an agent. `submitted_forms` reads it."""

import json
from collections.abc import Iterator
from typing import Any

from adapters.screens.form_parts import NO_CHOICE, Field, Form, Said
from adapters.screens.forms import agent_form
from adapters.screens.text_fit import beginning, fits
from adapters.screens.visible_text import visible
from adapters.slack.inbound.submitted_forms import FormContext
from adapters.slack.outbound.blocks import (
    MAX_INPUT,
    MAX_OPTION_TEXT,
    MAX_PLACEHOLDER,
    MAX_VIEW_BLOCKS,
    MAX_VIEW_BYTES,
    Block,
    chooser,
    context,
    divider,
    heading,
    labelled,
    option,
    plain,
    quoted,
    rich,
    section,
)
from adapters.slack.outbound.inputs import FIELD, entries
from adapters.slack.outbound.views import form_view
from adapters.typed.form_values import fields_of
from agent_core.errors import NotPossible
from agent_core.model.draft import AgentDraft

CHANNELS: Block = {
    "type": "conversations_select",
    "action_id": FIELD,
    "filter": {"include": ["public", "private"], "exclude_external_shared_channels": True},
}
TYPED = {"email": "email_text_input", "uri": "url_text_input"}
LEFT_OUT = option("Leave out", NO_CHOICE)


def draw_form(form: Form, channel: str, thread: str = "") -> Block:
    """The view. `channel`: the key of the channel that it belongs to, "" if it asks for one.

    Raise NotPossible if it is too long for a view.
    """
    if sum(len(field.text) for field in form.fields) > MAX_VIEW_BYTES:
        raise NotPossible(form.too_long)
    blocks = [block for part in form.parts for block in _drawn(part)]
    place = FormContext(channel, form.about, thread)
    view = form_view(form.title, form.kind, blocks, place, form.submit)
    if len(blocks) > MAX_VIEW_BLOCKS or len(json.dumps(view)) > MAX_VIEW_BYTES:
        raise NotPossible(form.too_long)
    return view


def agent_view(
    draft: AgentDraft | None, last: AgentDraft | None, channel: str, *, said: str = "", thread: str = ""
) -> Block:
    """The form for a new agent. `draft`: values to fill in; `last`: the settings last used in the channel."""
    given = (draft or AgentDraft()).like(last)
    return draw_form(agent_form(fields_of(given), channel, said=said, like=last.name if last else ""), channel, thread)


def _drawn(part: Said | Field) -> Iterator[Block]:
    match part:
        case Said(text, "heading"):
            yield divider()
            yield heading(text)
        case Said(text, "quote"):
            yield rich(quoted(text))
        case Said(text, "small"):
            yield context(text)
        case Said(text):
            yield section(text)
        case Field():
            yield from _input(part)


def _input(field: Field) -> Iterator[Block]:
    def around(element: Block) -> Block:
        return labelled(field.label, element, field.id, hint=field.hint, optional=not field.is_required)

    if field.options and all(fits(each.label, MAX_OPTION_TEXT) for each in field.options):
        yield around(_chooser(field))
    elif field.kind in ("text", "long text", "one of", "several of"):
        look: dict[str, Any] = {"placeholder": field.placeholder} if field.placeholder else {}
        look |= {"hint": field.hint, "multiline": field.kind != "text", "optional": not field.is_required}
        yield from entries(field.id, field.label, field.text, **look)
    else:
        yield around(_typed(field))


def _chooser(field: Field) -> Block:
    """A menu, or all options in sight. A choice that a menu would cut is typed, as the thread lists it."""
    options = [option(each.label, each.value) for each in field.options]
    if not field.is_menu:
        kind = "checkboxes" if field.kind == "several of" else "radio_buttons"
        return chooser(kind, FIELD, options, field.chosen)
    if field.kind == "several of":
        menu = chooser("multi_static_select", FIELD, options)
        chosen = [each for each in options if each["value"] in field.chosen]
        menu |= {"initial_options": chosen} if chosen else {}
    else:
        offered = options if field.is_required else [*options, LEFT_OUT]
        menu = chooser("static_select", FIELD, offered, field.chosen)
    return menu | {"placeholder": plain("Choose…", MAX_PLACEHOLDER)}


def _typed(field: Field) -> Block:
    text = beginning(visible(field.text), MAX_INPUT)
    if field.kind == "channel":
        return CHANNELS
    if field.kind == "date":
        return {"type": "datepicker", "action_id": FIELD} | ({"initial_date": text} if text else {})
    element: Block = {"type": TYPED.get(field.kind, "number_input"), "action_id": FIELD}
    if field.kind in ("number", "whole number"):
        bounds = {"min_value": field.least, "max_value": field.most}
        element |= {"is_decimal_allowed": field.kind == "number"}
        element |= {name: str(bound) for name, bound in bounds.items() if bound is not None}
    return element | ({"initial_value": text} if text else {})
