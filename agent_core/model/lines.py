"""Texts on one line, for tables, notices and lists."""


def one_line(text: str, most: int) -> str:
    """The text with white space collapsed, cut to `most` characters with "…" as the last."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
