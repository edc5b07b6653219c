"""Lengths of texts as Slack counts them, and how a text is made to fit."""

from adapters.text_fit import beginning, units
from adapters.visible_text import readable, visible

NOTHING = "–"  # Slack takes no empty text


def weight(text: str) -> int:
    """What a text adds to a message, if Slack counts what stands for & < and > in it."""
    return units(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


def clean(text: str) -> str:
    """A text with everything spelled out that hides, reorders or could not be sent."""
    return readable(text)


def carried(text: str) -> str:
    """A text as a form shows it: what nobody could see there is spelled out, and so is what could not be sent."""
    return visible(text)


def escaped(text: str) -> str:
    """A text in which nothing is a mention or a link where Slack would look for one."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def beginning_by_weight(text: str, most: int) -> str:
    """As much of the beginning as adds at most so much to a message."""
    part = beginning(text, most)
    while part and (over := weight(part)) > most:
        part = beginning(part, min(units(part) - 1, units(part) * most // over))
    return part
