"""Builds Signoff's buttons as Slack elements: `action_id` is `signoff.` and the verb, `value` the whole button."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, get_args

from adapters.chat.extra_buttons import DeleteButton, UploadButton
from adapters.screens.buttons import Button, ViewButton, ViewVerb, foreign_button_error
from adapters.screens.cards import Card
from adapters.screens.text_fit import fits
from adapters.screens.turn_lines import TurnLine
from adapters.screens.ui_text import APPROVE_N, DELETE_MEANS, REPLY_DOES, STOP_MEANS
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

Pressable: TypeAlias = Button | ViewButton | UploadButton | DeleteButton | SlackDraftButton
PREFIX = "signoff."
SHOW_ALL_OF = "Show all of…"


def parse_action(action: Mapping[str, Any]) -> Pressable:
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


def element(pressable: Pressable, *, label: str = "", style: str = "", confirm: Block | None = None) -> Block:
    return button(label or pressable.label, action_id(pressable), str(pressable), style=style, confirm=confirm)


def link_button(subject: str, url: str) -> Block:
    """A button that opens a web address; Slack sends a click event for it too."""
    return button(ViewButton("open", subject).label, f"{PREFIX}open", str(ViewButton("open", subject)), url=url)


def stop_button(agent: Agent) -> Block:
    """The Stop button. Its confirmation says that the running command is ended."""
    asked = confirmation(f"Stop {agent.name}?", STOP_MEANS, yes="Stop", no="Keep going", danger=True)
    return element(Button("stop", agent.id), style="danger", confirm=asked)


def delete_button(agent: Agent) -> Block:
    """The Delete button. Its confirmation says that the agent and its data are removed."""
    asked = confirmation(f"Delete {agent.name}?", DELETE_MEANS, yes="Delete", no="Keep it", danger=True)
    return element(DeleteButton(agent.id), style="danger", confirm=asked)


def rest_button(agent: Agent) -> Block:
    """The Resume button for an agent that is paused, stopped or finished, else the Stop button."""
    return element(Button("resume", agent.id)) if agent.is_at_rest else stop_button(agent)


def upload_button(agent: Agent, path: str) -> Block | None:
    """A button that uploads a file to the thread; None if the path is too long or not printable."""
    upload = UploadButton(agent.id, path)
    return element(upload) if fits(str(upload), MAX_VALUE) and path.isprintable() else None


def card_controls(agent: Agent, card: Card, covered: str) -> list[Block]:
    """The buttons of a card in its current state, as blocks: the decisions, and apart from them Stop and Revoke.

    `covered`: what Approve ×N covers, for its confirmation.
    """
    several = [each for each in card.buttons if each.verb == "approve" and each.times > 1]
    chosen: list[Block] = []
    stops: list[Block] = []
    for each in card.buttons:
        match each:
            case Button("approve", _, 1):
                chosen.append(element(each, style="primary"))
                chosen += [_times(each, several, covered)] if several else []
            case Button("approve" | "review"):
                pass
            case Button("answer"):
                chosen.append(element(each, style="primary"))
            case Button("stop"):
                stops.append(stop_button(agent))
            case Button("revoke"):
                stops.append(element(each))
            case _:
                chosen.append(element(each))
    (chosen or stops).extend(_more(card))
    return [actions(*row) for row in (chosen, stops) if row]


def _more(card: Card) -> list[Block]:
    """The menu of a card that is open or running: what is seldom needed."""
    inside: list[Pressable] = [each for each in card.buttons if each.verb == "review"]
    inside += [ViewButton("show all", card.turn)] if card.repeats_preview and card.tone in ("open", "busy") else []
    return [menu(f"{PREFIX}more", *(option(each.label, str(each)) for each in inside))] if inside else []


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
