"""Menus in Slack's form for a new agent, of templates and of tool servers' prompts, and what was chosen in them."""

from collections.abc import Mapping, Sequence
from typing import Any

from adapters.screens.forms import FROM_PROMPT
from adapters.slack.outbound.blocks import (
    MAX_OPTION_TEXT,
    MAX_PLACEHOLDER,
    Block,
    chooser,
    context,
    option,
    plain,
    section,
)
from adapters.slack.outbound.controls import PREFIX
from adapters.slack.outbound.inputs import marked
from adapters.slack.outbound.views import sentence_view
from adapters.typed.agent_templates import AgentTemplate
from adapters.typed.prompt_drafts import PromptChoice, left_out_text, usable_by_source

PROMPT = "prompt"  # the menu's block id
PROMPT_ACTION = f"{PREFIX}{PROMPT}"
MAX_GROUPS, MAX_OF_GROUP, MAX_OFFERED = 100, 100, 500


def chosen_prompt(action: Mapping[str, Any]) -> str:
    """The key of the prompt that an action of a `block_actions` payload chooses, "" for any other action."""
    option = action.get("selected_option") or {}
    return str(option.get("value") or "") if action.get("action_id") == PROMPT_ACTION else ""


def with_prompts(form: Block, choices: Sequence[PromptChoice]) -> Block:
    """The form with a menu of prompts at its top, in a group for each server, and what is left out."""
    if not choices:
        return form
    groups = [
        {"label": plain(source, MAX_OPTION_TEXT), "options": [_option(each) for each in offered[:MAX_OF_GROUP]]}
        for source, offered in usable_by_source(choices[:MAX_OFFERED]).items()
    ][:MAX_GROUPS]
    head = []
    if groups:
        menu: Block = {"type": "static_select", "action_id": PROMPT_ACTION, "option_groups": groups}
        menu["placeholder"] = plain("Choose a prompt", MAX_PLACEHOLDER)
        head = [section("Start from a prompt of a tool server:", menu) | {"block_id": PROMPT}]
    more = [f"And {len(choices) - MAX_OFFERED:,} more prompts."] if len(choices) > MAX_OFFERED else []
    said = " ".join(filter(None, (left_out_text(choices), *more)))
    return form | {"blocks": [*head, *([context(said)] if said else []), *form["blocks"]]}


def asking_view(choice: PromptChoice) -> Block:
    """The placeholder while the server is asked."""
    return sentence_view(FROM_PROMPT, f"Asking {choice.source} for the text of {choice.title}…")


def _option(choice: PromptChoice) -> Block:
    return option(choice.title, choice.key)


TEMPLATE = "template"  # the menu's block id
TEMPLATE_ACTION = f"{PREFIX}{TEMPLATE}"
KEPT_BLOCKS = (TEMPLATE, "prompt", "channel")  # a choice of another template leaves them as they are


def chosen_template(action: Mapping[str, Any]) -> str:
    """The key of the template that an action of a `block_actions` payload chooses, "" for any other action."""
    key = (action.get("selected_option") or {}).get("value") if action.get("action_id") == TEMPLATE_ACTION else None
    return key if isinstance(key, str) else ""


def with_templates(form: Block, templates: Sequence[AgentTemplate], chosen: str = "") -> Block:
    """The form with the menu at its top; `chosen`: the key of the template that fills it in.

    Slack keeps what a person typed into a field as long as its id stays, so each template gives the fields other ids.
    """
    if not templates:
        return form
    menu = chooser("static_select", TEMPLATE_ACTION, [option(each.label, each.key) for each in templates], [chosen])
    menu["placeholder"] = plain("Choose a template", MAX_PLACEHOLDER)
    head = section("Start from a template, or fill in the form:", menu) | {"block_id": TEMPLATE}
    filled = with_mark(form, chosen) if chosen else form
    return filled | {"blocks": [head, *filled["blocks"]]}


def with_mark(form: Block, mark: str) -> Block:
    """The form with other ids of its fields, so that Slack does not keep what was typed into the one before."""
    return form | {"blocks": [_with_mark(block, mark) for block in form["blocks"]]}


def _with_mark(block: Block, mark: str) -> Block:
    block_id = block.get("block_id")
    return block | {"block_id": marked(block_id, mark)} if block_id and block_id not in KEPT_BLOCKS else block
