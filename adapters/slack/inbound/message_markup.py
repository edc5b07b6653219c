"""Converts Slack's message markup to the text that people saw."""

import html
import re
from collections.abc import Callable

ENTITY = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")


def plain_text(text: str, names: Callable[[str], str], *, bot: str = "") -> str:
    """The text with mentions, channels and links as displayed, without the bot's own mention."""
    return html.unescape(ENTITY.sub(lambda found: _shown(found, names, bot), text)).strip()


def _shown(found: re.Match[str], names: Callable[[str], str], bot: str) -> str:
    sign, what, label = found.groups()
    match sign:
        case "@":
            return "" if what == bot else f"@{label or names(what)}"
        case "#":
            return f"#{label or what}"
        case "!":
            return label or f"@{what.partition('^')[0]}"
        case _:
            address = what.removeprefix("mailto:")
            return address if not label or label in address else f"{label} ({address})"
