"""Texts on one line, and numbers with their nouns, for tables, notices and lists."""


def one_line(text: str, most: int = 2**31) -> str:
    """The text with white space collapsed, cut to `most` characters with "…" as the last."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def quoted(text: str, most: int) -> str:
    """Somebody's words on one line in quotation marks that they cannot close."""
    return f"“{one_line(text, most).replace('“', chr(39)).replace('”', chr(39))}”"


def counted(number: int, noun: str) -> str:
    """The number and its noun: "1 byte", "2,000 bytes"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
