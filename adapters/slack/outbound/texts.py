"""Measures, truncates and escapes texts for Slack."""

from adapters.text_fit import beginning, units
from adapters.visible_text import readable, visible

NOTHING = "–"  # Slack rejects empty texts


def weight(text: str) -> int:
    """The size of a text in a message, if Slack counts the escapes of & < and >."""
    return units(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


def clean(text: str) -> str:
    """The text with invisible, reordering and unsendable characters replaced by visible marks."""
    return readable(text)


def carried(text: str) -> str:
    """The text for a form field, with invisible and unsendable characters replaced by visible marks."""
    return visible(text)


def escaped(text: str) -> str:
    """The text with the characters of mentions and links escaped."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def beginning_by_weight(text: str, most: int) -> str:
    """The longest beginning of the text within the size limit."""
    part = beginning(text, most)
    while part and (over := weight(part)) > most:
        part = beginning(part, min(units(part) - 1, units(part) * most // over))
    return part
