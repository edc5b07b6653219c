"""Discord's components → HTML, as far as Signoff uses them: a drawing to explain from, not what Discord would draw."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

from adapters.discord.outbound.message import DiscordMessage
from docs.pictures.block_kit import RED

Component: TypeAlias = Mapping[str, Any]
STYLE = (Path(__file__).parent / "components.css").read_text(encoding="utf-8")
LABEL = "Drawn from the components that Signoff sends, not a screenshot of Discord"
STYLES = {1: "primary", 2: "", 3: "success", 4: "danger", 5: ""}
SIGNS = {"+": "plus", "-": "minus", "@": "place"}
BOX = re.compile(r"^```(\w*)\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
# What is marked within a line; a backslash makes a character plain.
MARKED = re.compile(
    r"\\(?P<plain>.)|\*\*(?P<b>.+?)\*\*|`(?P<code>[^`]+)`|\*(?P<i>[^*]+)\*|<t:(?P<time>\d+):\w>", re.DOTALL
)


def page_of(message: DiscordMessage, time: str) -> str:
    """A page with one message on it."""
    components = message.view.to_components()  # type: ignore[no-untyped-call]  # discord.py leaves it without types
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Signoff</title><style>{STYLE}</style>'
        f"<main><p class=label>{LABEL}</p><article><div class=face aria-hidden=true>S</div><div class=said>"
        f"<p class=by><b>Signoff</b> <span class=app>APP</span> <time>{escape(time)}</time></p>"
        f"{_each(components)}</div></article></main>".replace("🟥", RED)
    )


def _each(components: Iterable[Component]) -> str:
    return "".join(COMPONENTS[each["type"]](each) for each in components)


def _text(component: Component) -> str:
    parts, end = [], 0
    for box in BOX.finditer(component["content"]):
        parts += [_lines(component["content"][end : box.start()]), _box(box[1], box[2])]
        end = box.end()
    return f"<div>{''.join((*parts, _lines(component['content'][end:])))}</div>"


def _box(language: str, body: str) -> str:
    lines = (
        f"<span class={SIGNS.get(line[:1], 'same') if language == 'diff' else 'same'}>{escape(line)}</span>"
        for line in body.split("\n")
    )
    return f"<pre>{'<br>'.join(lines)}</pre>"


def _lines(text: str) -> str:
    """Lines with the same mark at their beginning are one paragraph or one quotation."""
    told = []
    for mark, lines in groupby(text.strip("\n").split("\n"), lambda line: line[: line.find(" ") + 1]):
        tag = {"-# ": "small", "> ": "blockquote"}.get(mark, "p")
        cut = len(mark) if tag != "p" else 0
        told.append(f"<{tag}>{'<br>'.join(_marked(line[cut:]) for line in lines)}</{tag}>")
    return "".join(told) if text.strip() else ""


def _marked(line: str) -> str:
    parts, end = [], 0
    for found in MARKED.finditer(line):
        parts += [escape(line[end : found.start()]), _mark(found)]
        end = found.end()
    return "".join((*parts, escape(line[end:])))


def _mark(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "plain":
            return escape(found["plain"])
        case "time":
            at = datetime.fromtimestamp(int(found["time"]), UTC)
            return f"<span class=time>{at.day} {at:%B %Y %H:%M}</span>"
        case "code":
            return f"<code>{escape(found['code'])}</code>"
        case tag:
            return f"<{tag}>{_marked(found[tag or 0])}</{tag}>"


def _container(component: Component) -> str:
    edge = f"border-left-color: #{component['accent_color']:06x}"
    return f'<section style="{edge}">{_each(component["components"])}</section>'


def _section(component: Component) -> str:
    beside = _each([component["accessory"]])
    return f"<div class=beside><div>{_each(component['components'])}</div>{beside}</div>"


COMPONENTS: Mapping[int, Callable[[Component], str]] = {
    1: lambda row: f"<div class=row>{_each(row['components'])}</div>",
    2: lambda button: f"<span class='button {STYLES[button['style']]}'>{escape(button['label'])}</span>",
    3: lambda menu: f"<span class=menu>{escape(menu['placeholder'])}</span>",
    9: _section,
    10: _text,
    17: _container,
}
