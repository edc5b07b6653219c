"""The menu of templates in Slack's form for a new agent: a choice fills the form in."""

from collections.abc import Mapping, Sequence
from typing import Any

from adapters.slack.outbound.blocks import MAX_PLACEHOLDER, Block, chooser, option, plain, section
from adapters.slack.outbound.controls import PREFIX
from adapters.slack.outbound.inputs import marked
from adapters.typed.agent_templates import AgentTemplate

TEMPLATE = "template"  # the menu's block id
ACTION = f"{PREFIX}{TEMPLATE}"
KEPT_BLOCKS = (TEMPLATE, "prompt", "channel")  # a choice of another template leaves them as they are


def chosen_template(action: Mapping[str, Any]) -> str:
    """The key of the template that an action of a `block_actions` payload chooses, "" for any other action."""
    key = (action.get("selected_option") or {}).get("value") if action.get("action_id") == ACTION else None
    return key if isinstance(key, str) else ""


def with_templates(form: Block, templates: Sequence[AgentTemplate], chosen: str = "") -> Block:
    """The form with the menu at its top; `chosen`: the key of the template that fills it in.

    Slack keeps what a person typed into a field as long as its id stays, so each template gives the fields other ids.
    """
    if not templates:
        return form
    menu = chooser("static_select", ACTION, [option(each.label, each.key) for each in templates], [chosen])
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
