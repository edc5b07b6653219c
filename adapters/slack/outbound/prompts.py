"""Prompts of tool servers in Slack's forms: the menu in the form for a new agent, and the form of a prompt."""

from collections.abc import Mapping, Sequence
from typing import Any

from adapters.screens.forms import FROM_PROMPT
from adapters.slack.outbound.blocks import (
    MAX_OPTION_TEXT,
    MAX_PLACEHOLDER,
    Block,
    context,
    option,
    plain,
    section,
)
from adapters.slack.outbound.controls import PREFIX
from adapters.slack.outbound.views import sentence_view
from adapters.typed.prompt_drafts import PromptChoice, left_out_text, usable_by_source

PROMPT = "prompt"  # the menu's block id
ACTION = f"{PREFIX}{PROMPT}"
MAX_GROUPS, MAX_OF_GROUP, MAX_OFFERED = 100, 100, 500


def chosen_prompt(action: Mapping[str, Any]) -> str:
    """The key of the prompt that an action of a `block_actions` payload chooses, "" for any other action."""
    option = action.get("selected_option") or {}
    return str(option.get("value") or "") if action.get("action_id") == ACTION else ""


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
        menu: Block = {"type": "static_select", "action_id": ACTION, "option_groups": groups}
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
