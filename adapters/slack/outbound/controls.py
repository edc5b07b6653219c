"""Builds Signoff's buttons as Slack elements, and the rows of a card; reads a button back from its action."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, get_args

from adapters.chat.extra_buttons import DeleteButton, UploadButton
from adapters.screens.buttons import Button, ViewButton, ViewVerb, foreign_button_error
from adapters.screens.message.pieces import Controls, Opens, Pressable
from adapters.screens.text_fit import fits
from adapters.screens.turn_lines import TurnLine
from adapters.screens.ui_text import APPROVE_N, DELETE_MEANS, REPLY_DOES, STOP_MEANS, covered_text
from adapters.slack.outbound.blocks import (
    MAX_ID,
    MAX_VALUE,
    Block,
    actions,
    button,
    chooser,
    confirmation,
    labelled,
    menu,
    option,
    plain,
    text_input,
)
from adapters.slack.outbound.extra_buttons import SlackDraftButton
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId

Pressed: TypeAlias = Button | ViewButton | UploadButton | DeleteButton | SlackDraftButton
PREFIX = "signoff."
SHOW_ALL_OF = "Show all of…"
IN_MENU = ("show all", "always allow")  # what is seldom needed


def parse_action(action: Mapping[str, Any]) -> Pressed:
    """The button of an action in a `block_actions` payload; raise InvalidInput if it is not Signoff's.

    For a reply box this is the reply button; the text is in the action's `value`.
    """
    name = str(action.get("action_id") or "")
    value: object = action.get("value")
    if action.get("type") in ("static_select", "overflow"):
        value = (action.get("selected_option") or {}).get("value")
    elif action.get("type") == "plain_text_input":
        value = action.get("block_id")
    if not name.startswith(PREFIX) or not isinstance(value, str):
        raise foreign_button_error()
    match name.removeprefix(PREFIX).partition(".")[0]:
        case verb if verb.replace("_", " ") in get_args(ViewVerb):
            return ViewButton.parse(value)
        case "upload":
            return UploadButton.parse(value)
        case "delete":
            return DeleteButton.parse(value)
        case "create" | "change":
            return SlackDraftButton.parse(value)
        case _:
            return ViewButton.parse(value) if value.partition(":")[0] in get_args(ViewVerb) else Button.parse(value)


def action_id(pressable: Pressable) -> str:
    """The `action_id` of a button, unique within its row."""
    match pressable:
        case ViewButton(verb, _, part) if part > 1:
            return f"{PREFIX}{verb.replace(' ', '_')}.{part}"
        case Button(verb) | ViewButton(verb) | SlackDraftButton(verb):
            return PREFIX + verb.replace(" ", "_")
        case UploadButton():
            return f"{PREFIX}upload"
        case DeleteButton():
            return f"{PREFIX}delete"
        case _:
            raise TypeError(f"Slack has no such button: {pressable!r}")


def element(pressable: Pressable, *, label: str = "", style: str = "", confirm: Block | None = None) -> Block:
    return button(label or pressable.label, action_id(pressable), str(pressable), style=style, confirm=confirm)


def main_element(pressable: Pressable, about: str) -> Block:
    """A button in a row of its own. What ends or deletes the agent named `about` asks again first."""
    match pressable:
        case Button("stop"):
            asked = confirmation(f"Stop {about}?", STOP_MEANS, yes="Stop", no="Keep going", danger=True)
            return element(pressable, style="danger", confirm=asked)
        case DeleteButton():
            asked = confirmation(f"Delete {about}?", DELETE_MEANS, yes="Delete", no="Keep it", danger=True)
            return element(pressable, style="danger", confirm=asked)
        case Button("approve" | "answer") | ViewButton("new agent") | SlackDraftButton("create"):
            return element(pressable, style="primary")
        case _:
            return element(pressable)


def link_button(opens: Opens) -> Block:
    """A button that opens a web address; Slack sends a click event for it too."""
    return button(opens.label, f"{PREFIX}open", str(ViewButton("open", opens.subject)), url=opens.url)


def upload_button(agent: AgentId, path: str) -> UploadButton | None:
    """The button that uploads a file to the thread; None if the path is too long or not printable."""
    upload = UploadButton(agent, path)
    return upload if fits(str(upload), MAX_VALUE) and path.isprintable() else None


def card_controls(controls: Controls, openings: Sequence[ViewButton] = ()) -> list[Block]:
    """The buttons of a card in its current state, as blocks; Stop and Revoke are the last of their row.

    `openings`: what shows more of the card. In an open card those of `IN_MENU` are behind the three dots, after Edit.
    """
    agent, card = controls.agent, controls.card
    is_open = card.tone in ("open", "busy")
    in_row = [each for each in openings if not (is_open and each.verb in IN_MENU)]
    in_menu: list[Pressable] = [each for each in card.buttons if each.verb in ("edit", "review", "fork")]
    in_menu += [each for each in openings if each not in in_row]
    several = [each for each in card.buttons if each.verb == "approve" and each.times > 1]
    chosen = [element(each) for each in in_row if not is_open]
    stops: list[Block] = []
    for each in card.buttons:
        if each in several or each in in_menu:
            continue
        (stops if each.verb in ("stop", "revoke") else chosen).append(main_element(each, agent.name))
        if each.verb == "approve" and several:
            chosen.append(_times(each, several, covered_text(controls.turn)))
    chosen += [element(each) for each in in_row if is_open]
    menus = [menu(f"{PREFIX}more", *(option(each.label, str(each)) for each in in_menu))] if in_menu else []
    row = [*chosen, *menus, *stops] if chosen else [*stops, *menus]
    if controls.earlier:
        row.append(turn_chooser(controls.earlier))
    replies = [reply_box(agent, each.shown) for each in card.buttons if each.verb == "approve" and each.times == 1]
    return [*([actions(*row)] if row else []), *replies]


def turn_chooser(lines: Sequence[TurnLine]) -> Block:
    """A menu of turns, newest first; choosing one shows all of it."""
    options = [option(line.signed_text, str(ViewButton("show all", line.turn))) for line in reversed(lines)]
    return chooser("static_select", f"{PREFIX}show_all_of", options) | {"placeholder": plain(SHOW_ALL_OF)}


def reply_box(agent: Agent, shown: str) -> Block:
    """An input that sends on Enter; its block id is the reply button as text: agent and proposal's hash."""
    reply = Button("reply", agent.id, shown=shown)
    typed = text_input(action_id(reply), placeholder=REPLY_DOES, multiline=False)
    typed["dispatch_action_config"] = {"trigger_actions_on": ["on_enter_pressed"]}
    block = labelled(f"Reply to {agent.name}", typed, str(reply)[:MAX_ID])
    return block | {"dispatch_action": True}


def _times(one: Button, several: Sequence[Button], covered: str) -> Block:
    options = [option(each.label, str(each)) for each in several]
    other = ViewButton("another number", one.subject, shown=one.shown)
    element = chooser("static_select", f"{PREFIX}approve_n", [*options, option(other.label, str(other))])
    asked = confirmation("Approve more than one?", covered, yes="Go on")
    return element | {"placeholder": plain(APPROVE_N), "confirm": asked}
