"""Slack's blocks → HTML, as far as Signoff uses them: a drawing to explain from, not what Slack would draw."""

from collections.abc import Callable, Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

from adapters.slack.outbound.message import SlackMessage

Block: TypeAlias = Mapping[str, Any]
STYLE = (Path(__file__).parent / "block_kit.css").read_text(encoding="utf-8")
LABEL = "Drawn from the blocks that Signoff sends, not a screenshot of Slack"
RED = "<span style='display:inline-block;width:.8em;height:.8em;background:#d92d20'></span>"  # also without such a font
TAGS = {"bold": "b", "italic": "i", "code": "code"}


def page_of(message: SlackMessage, time: str) -> str:
    """A page with one message on it."""
    blocks = "".join(map(_block, message.blocks)).replace("🟥", RED)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Signoff</title><style>{STYLE}</style>'
        f"<main><p class=label>{LABEL}</p><article><div class=face aria-hidden=true>S</div><div class=said>"
        f"<p class=by><b>Signoff</b> <span class=app>APP</span> <time>{escape(time)}</time></p>{blocks}"
        "</div></article></main>"
    )


def _block(block: Block) -> str:
    return BLOCKS[block["type"]](block)


def _each(elements: Iterable[Block]) -> str:
    return "".join(map(_block, elements))


def _section(block: Block) -> str:
    beside = _block(block["accessory"]) if "accessory" in block else ""
    times = "".join(f"<br><small>{escape(_fallback(field['text']))}</small>" for field in block.get("fields", ()))
    return f"<div class=section><p>{_block(block['text'])}{times}</p>{beside}</div>"


def _fallback(date: str) -> str:
    """What a client shows that does not know Slack's date format."""
    return date.rpartition("|")[2].removesuffix(">")


def _run(element: Block) -> str:
    text = escape(element["text"])
    for style in element.get("style", {}):
        text = f"<{TAGS[style]}>{text}</{TAGS[style]}>"
    return text


def _list(element: Block) -> str:
    return f"<ol>{''.join(f'<li>{_block(line)}</li>' for line in element['elements'])}</ol>"


def _button(element: Block) -> str:
    asks = " title='asks first'" if "confirm" in element else ""
    return f"<span class='button {element.get('style', '')}'{asks}>{_block(element['text'])}</span>"


def _select(element: Block) -> str:
    return f"<span class='button select'>{_block(element['placeholder'])}</span>"


def _menu(element: Block) -> str:
    told = ", ".join(escape(option["text"]["text"]) for option in element["options"])
    return f"<span class=button title='{told}'>⋯</span>"


def _input(block: Block) -> str:
    return f"<div class=input><b>{_block(block['label'])}</b><span class=field>{_block(block['element'])}</span></div>"


def _placeholder(element: Block) -> str:
    return escape(element.get("placeholder", {}).get("text", ""))


BLOCKS: Mapping[str, Callable[[Block], str]] = {
    "plain_text": _run,
    "text": _run,
    "date": lambda element: escape(str(element["fallback"])),
    "section": _section,
    "context": lambda block: f"<div class=context>{_each(block['elements'])}</div>",
    "divider": lambda _: "<hr>",
    "header": lambda block: f"<h2>{_block(block['text'])}</h2>",
    "rich_text": lambda block: f"<div class=rich>{_each(block['elements'])}</div>",
    "rich_text_section": lambda block: f"<p>{_each(block['elements'])}</p>",
    "rich_text_quote": lambda block: f"<blockquote>{_each(block['elements'])}</blockquote>",
    "rich_text_preformatted": lambda block: f"<pre>{_each(block['elements'])}</pre>",
    "rich_text_list": _list,
    "actions": lambda block: f"<div class=actions>{_each(block['elements'])}</div>",
    "button": _button,
    "static_select": _select,
    "overflow": _menu,
    "input": _input,
    "plain_text_input": _placeholder,
}
