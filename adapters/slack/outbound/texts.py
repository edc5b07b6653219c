"""Measures and escapes texts for Slack."""

from adapters.screens.text_fit import units

NOTHING = "–"  # Slack rejects empty texts


def weight(text: str) -> int:
    """The length of a text in a message, on the assumption that Slack counts & < > in their escaped form."""
    return units(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


def escaped(text: str) -> str:
    """The text with &, < and > escaped, so that Slack reads no mention or link in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
