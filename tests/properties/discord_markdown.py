"""A small reader of Discord's markdown: what people see of a text, and what of it is drawn in any other way than text.

It takes after the rules of Discord's clients, and where those are unknown it draws more than they do.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

PLAIN = re.compile(r"[^\\`*_~|<@\[:\n]+")  # nothing of it begins anything, save what stands before ://
BLOCK = re.compile(r"```(?:[A-Za-z0-9_+\-.#]+?\n)?\n*([^\n][\s\S]*?)\n*```")
ESCAPE = re.compile(r"\\([^0-9A-Za-z\s])")
CODE = re.compile(r"(`+)([\s\S]*?[^`])\1(?!`)")
BOLD = re.compile(r"\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)")
ITALIC = re.compile(r"\*((?:\\[\s\S]|[^\\*])+?)\*(?!\*)|_((?:\\[\s\S]|[^\\_])+?)_")
OTHERS = {
    "underline": re.compile(r"__(?:\\[\s\S]|[^\\])+?__"),
    "strike": re.compile(r"~~?\S[\s\S]*?~~?"),
    "spoiler": re.compile(r"\|\|[\s\S]+?\|\|"),
    "link": re.compile(r"<[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE),
    "masked link": re.compile(r"\[(?:\\[\s\S]|[^\\\]])+\]\([^)]*\)"),
    "mention": re.compile(r"<(?:@[!&]?|#)\d+>|@everyone|@here"),
    "timestamp": re.compile(r"<t:\d{1,12}:[tTdDfFR]>"),
    "tag": re.compile(r"<(?:a?:\w+:\d+|t:-?\d+(?::\w)?|/[^>]+:\d+|id:\w+|mailto:[^>]+|tel:[^>]+)>"),
    "shortcode": re.compile(r":[\w+-]+:"),
}
HEADING = re.compile(r" *#{1,3}\s")
LIST = re.compile(r"\s*(?:[-*+]|\d+\.)\s")
SUBTEXT = re.compile(r"-# +(?=\S)")
QUOTE = re.compile(r" *>(?!>>) ?")
WHOLE_QUOTE = re.compile(r" *>>> ")


@dataclass
class Read:
    """What is seen. `drawn` names what is more than text, `boxes`, `bold` and `quotes` are what stands in each."""

    text: str = ""
    drawn: set[str] = field(default_factory=set)
    boxes: list[str] = field(default_factory=list)
    bold: list[str] = field(default_factory=list)
    quotes: list[str] = field(default_factory=list)


def read(content: str) -> Read:
    """Read a text of a message."""
    found = Read()
    rest, at_start, in_quote = content, True, False
    while rest:
        if at_start:
            is_quote = bool(QUOTE.match(rest))
            rest = _line_start(rest, found, in_quote=in_quote)
            in_quote = is_quote
        shown, size = _next(rest, found)
        found.text += shown
        if in_quote:
            found.quotes[-1] += shown
        at_start = rest[:size].endswith("\n")
        rest = rest[size:]
    return found


def _line_start(rest: str, found: Read, *, in_quote: bool) -> str:
    if QUOTE.match(rest):
        if not in_quote:
            found.quotes.append("")
        rest = QUOTE.sub("", rest, count=1)
    elif in_quote:
        found.quotes[-1] = found.quotes[-1].removesuffix("\n")
    for name, rule in {"heading": HEADING, "list": LIST, "subtext": SUBTEXT, "whole quote": WHOLE_QUOTE}.items():
        if begun := rule.match(rest):
            found.drawn.add(name)
            return rest[begun.end() :]
    return rest


def _next(rest: str, found: Read) -> tuple[str, int]:
    """What is seen next, and how much of the text that is."""
    if plain := PLAIN.match(rest):
        if rest.startswith("://", plain.end()):
            found.drawn.add("link")
        return plain[0], plain.end()
    if escape := ESCAPE.match(rest):
        return escape[1], escape.end()
    for rule, which in ((BLOCK, 1), (CODE, 2)):
        if box := rule.match(rest):
            found.boxes.append(box[which])
            return box[which], box.end()
    return _drawn(rest, found)


def _drawn(rest: str, found: Read) -> tuple[str, int]:
    if bold := BOLD.match(rest):
        inner = read_inline(bold[1], found)
        found.bold.append(inner)
        return inner, bold.end()
    for name, rule in OTHERS.items():
        if other := rule.match(rest):
            found.drawn.add(name)
            return other[0], other.end()
    if italic := ITALIC.match(rest):
        found.drawn.add("italic")
        return read_inline(italic[1] or italic[2], found), italic.end()
    return rest[:1], 1


def read_inline(content: str, found: Read) -> str:
    """The text of something drawn, with what is drawn in it."""
    inner = Read()
    shown = "".join(_all(content, inner))
    found.drawn |= inner.drawn | ({"code"} if inner.boxes else set()) | ({"bold"} if inner.bold else set())
    return shown


def _all(content: str, inner: Read) -> Iterator[str]:
    while content:
        shown, size = _next(content, inner)
        yield shown
        content = content[size:]
