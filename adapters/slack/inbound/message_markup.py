"""Converts Slack's message markup to text and mentions."""

import html
import re
from collections.abc import Callable, Iterator

from adapters.typed.typed_text import Mention, TypedText

ENTITY = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")
GROUPS = ("here", "channel", "everyone", "subteam")


def typed_text(text: str, names: Callable[[str], str], *, bot: str = "") -> TypedText:
    """The text with its mentions as tokens and links as displayed, without the bot's own mention."""
    return TypedText.of(_parts(text, names, bot))


def _parts(text: str, names: Callable[[str], str], bot: str) -> Iterator[str | Mention]:
    end, plain = 0, ""
    for found in ENTITY.finditer(text):
        plain += html.unescape(text[end : found.start()])
        end, read = found.end(), _read(found, names, bot)
        if isinstance(read, str):
            plain += read
            continue
        yield from (plain, read)
        plain = ""
    yield plain + html.unescape(text[end:])


def _read(found: re.Match[str], names: Callable[[str], str], bot: str) -> str | Mention:
    sign, what, label = found.groups()
    label = html.unescape(label or "")
    match sign:
        case "@":
            return "" if what == bot else Mention(label or names(what), id=what)
        case "#":
            return Mention(label or what, "#", is_somebody=False)
        case "!":
            kind, _, group = what.partition("^")
            return Mention((label or kind).lstrip("@"), is_somebody=kind in GROUPS, id=group)
        case _:
            address = html.unescape(what.removeprefix("mailto:"))
            return address if not label or label in address else f"{label} ({address})"
