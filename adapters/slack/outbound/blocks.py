"""Builders for Slack's Block Kit (texts, buttons, inputs, menus) that keep to its limits.

Texts are plain or rich text, so nothing in them can mention, link or format; only `date_field` is mrkdwn. Only
`mention_run` and `mention_text` mention, and take ids, never text. Lengths are in UTF-16 code units, as Slack counts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from adapters.screens.decision_log import time_text
from adapters.screens.text_fit import cut, pieces, units
from adapters.screens.visible_text import readable

Block: TypeAlias = dict[str, Any]
NOTHING = "–"  # Slack rejects empty texts

# docs.slack.dev/reference/block-kit/blocks, …/block-elements, …/composition-objects, …/views
MAX_MESSAGE_BLOCKS, MAX_VIEW_BLOCKS = 50, 100
MAX_TEXT, MAX_LABEL, MAX_HINT, MAX_PLACEHOLDER = 3000, 2000, 2000, 150
MAX_BUTTON_TEXT, MAX_VALUE = 75, 2000
MAX_OPTION_TEXT = 75
MAX_CONTEXT_ELEMENTS, MAX_ACTION_ELEMENTS = 10, 25
MAX_CONFIRM_TITLE, MAX_CONFIRM_TEXT, MAX_CONFIRM_BUTTON = 100, 300, 30
MAX_ID = 255
MAX_INPUT = 3000
MAX_VIEW_TITLE, MAX_VIEW_BUTTON = 24, 24
MAX_VIEW_BYTES = 250_000
# A message is refused with msg_blocks_too_long from about 13,200 on (github.com/slackapi/bolt-js/issues/2509).
MAX_MESSAGE_TEXT = 12_000
# docs.slack.dev/messaging/formatting-message-text#date-formatting
DATE_FORMAT = "{date_short_pretty} {time}"
# docs.slack.dev/reference/methods/chat.postMessage advises a shorter text; Signoff's is one line.
MAX_NOTIFICATION = 300

SLACK_ID = re.compile(r"[USW][A-Z0-9]+")


def weight(text: str) -> int:
    """The length of a text in a message, on the assumption that Slack counts & < > in their escaped form."""
    return units(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


def escaped(text: str) -> str:
    """The text with &, < and > escaped, so that Slack reads no mention or link in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def notification(text: str) -> str:
    """A message's `text`: one line, escaped so that nothing in it formats or mentions, and cut."""
    return escaped(cut(" ".join(readable(text).split()), MAX_NOTIFICATION)) or NOTHING


def plain(text: str, most: int = MAX_TEXT) -> Block:
    """A plain text, never empty."""
    shown = cut(readable(text), most)
    return {"type": "plain_text", "text": shown if shown.strip() else NOTHING, "emoji": False}


def section(text: str, accessory: Block | None = None, *, most: int = MAX_TEXT, at: datetime | None = None) -> Block:
    """A section: a text cut to `most` units, which Slack shows in full, and optionally a button and a time."""
    block: Block = {"type": "section", "text": plain(text, most), "expand": True}
    block |= {"fields": [date_field(at)]} if at else {}
    return block | {"accessory": accessory} if accessory else block


def date_field(at: datetime) -> Block:
    """A time as mrkdwn in Slack's own date format, without text of people or models."""
    return {"type": "mrkdwn", "text": f"<!date^{int(at.timestamp())}^{DATE_FORMAT}|{time_text(at)}>"}


def context(*texts: str, most: int = MAX_TEXT) -> Block:
    return {"type": "context", "elements": [plain(text, most) for text in texts[:MAX_CONTEXT_ELEMENTS]]}


def rich(*elements: Block) -> Block:
    """A block of lines, lists and preformatted texts."""
    return {"type": "rich_text", "elements": list(elements)}


def line(*runs: Block) -> Block:
    """One line of rich text, made of runs."""
    return {"type": "rich_text_section", "elements": list(runs)}


def run(text: str, *styles: str) -> Block:
    """A piece of a line in these styles: bold, italic, code."""
    element: Block = {"type": "text", "text": readable(text) or NOTHING}
    return element | {"style": dict.fromkeys(styles, True)} if styles else element


def date_run(at: datetime) -> Block:
    """A time as a piece of a line, in the reader's time zone. Clients that cannot convert it show the time in UTC."""
    return {"type": "date", "timestamp": int(at.timestamp()), "format": DATE_FORMAT, "fallback": time_text(at)}


def link_run(url: str, label: str) -> Block:
    return {"type": "link", "url": url, "text": label}


def mention_run(mentioned: str) -> Block:
    """A mention of a person or, by an id that begins with S, of a user group."""
    if mentioned.startswith("S"):
        return {"type": "usergroup", "usergroup_id": mentioned}
    return {"type": "user", "user_id": mentioned}


def mention_text(mentioned: str) -> str:
    """The mention in a message's `text`; "" for what is no id of Slack."""
    if not SLACK_ID.fullmatch(mentioned):
        return ""
    return f"<!subteam^{mentioned}>" if mentioned.startswith("S") else f"<@{mentioned}>"


def numbered(*texts: str) -> Block:
    lines = [line(*map(run, pieces(text, MAX_TEXT))) for text in texts]
    return {"type": "rich_text_list", "style": "ordered", "elements": lines}


def quoted(*texts: str) -> Block:
    return {"type": "rich_text_quote", "elements": [*map(run, texts)]}


def preformatted(text: str) -> Block:
    """The text in a preformatted block. Nothing in the text, such as ```, is read as markup or ends the block."""
    return {
        "type": "rich_text_preformatted",
        "elements": [run(piece) for piece in pieces(readable(text) or NOTHING, MAX_TEXT)],
    }


def actions(*elements: Block, block_id: str = "") -> Block:
    block: Block = {"type": "actions", "elements": list(elements[:MAX_ACTION_ELEMENTS])}
    return block | {"block_id": block_id} if block_id else block


def divider() -> Block:
    return {"type": "divider"}


def heading(text: str) -> Block:
    return rich(line(run(text, "bold")))


def confirmation(title: str, text: str, *, yes: str, no: str = "Cancel", danger: bool = False) -> Block:
    asked = {
        "title": plain(title, MAX_CONFIRM_TITLE),
        "text": plain(text, MAX_CONFIRM_TEXT),
        "confirm": plain(yes, MAX_CONFIRM_BUTTON),
        "deny": plain(no, MAX_CONFIRM_BUTTON),
    }
    return asked | {"style": "danger"} if danger else asked


def button(label: str, action_id: str, value: str, **more: Any) -> Block:
    """A button; `more` may contain style, confirm and url."""
    given = {"type": "button", "text": plain(label, MAX_BUTTON_TEXT), "action_id": action_id, "value": value}
    return given | {name: what for name, what in more.items() if what}


def option(label: str, value: str) -> Block:
    return {"text": plain(label, MAX_OPTION_TEXT), "value": value}


def chooser(kind: str, action_id: str, options: Sequence[Block], chosen: Sequence[str] = ()) -> Block:
    """A choice among options. `kind`: static_select, radio_buttons or checkboxes; `chosen`: the initial values."""
    first = [option for option in options if option["value"] in chosen]
    element: Block = {"type": kind, "action_id": action_id, "options": list(options)}
    if first and kind == "checkboxes":
        return element | {"initial_options": first}
    return element | {"initial_option": first[0]} if first else element


def menu(action_id: str, *options: Block) -> Block:
    """An overflow menu of at most five options."""
    return {"type": "overflow", "action_id": action_id, "options": list(options)}


def text_input(action_id: str, initial: str = "", *, placeholder: str = "", multiline: bool = False) -> Block:
    element: Block = {"type": "plain_text_input", "action_id": action_id, "multiline": multiline}
    if initial:
        element["initial_value"] = initial
    return element | {"placeholder": plain(placeholder, MAX_PLACEHOLDER)} if placeholder else element


def labelled(label: str, element: Block, block_id: str, *, hint: str = "", optional: bool = True) -> Block:
    block = {
        "type": "input",
        "block_id": block_id,
        "label": plain(label, MAX_LABEL),
        "optional": optional,
        "element": element,
    }
    return block | {"hint": plain(hint, MAX_HINT)} if hint else block


def texts_in(blocks: object) -> Iterator[str]:
    """Every displayed text, in order."""
    if isinstance(blocks, Mapping):
        for name, value in blocks.items():
            if name == "text" and isinstance(value, str):
                yield value
            else:
                yield from texts_in(value)
    elif isinstance(blocks, list):
        for value in blocks:
            yield from texts_in(value)
