"""The words for what a message carries beside what its author typed. It is kept as a note and decides nothing."""

from adapters.screens.text_fit import cut

FORWARDS = "I forward a message of"
MAX_SHARED = 18_000  # UTF-16 units


def forwarded_text(author: str, text: str) -> str:
    """A forwarded message, quoted line by line: these are not the words of the person who sent it."""
    quoted = "\n".join(f"> {line}" for line in text.splitlines())
    return f"{FORWARDS} {author}, whose words are not mine:\n{quoted}"


def table_text(table: str) -> str:
    return f"I add a table:\n{table}"


def joined(parts: list[str]) -> str:
    """The parts as one text that fits into a note."""
    return cut("\n\n".join(parts), MAX_SHARED)
