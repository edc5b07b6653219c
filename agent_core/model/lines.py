"""Texts on one line, for tables, notices and lists."""


def one_line(text: str, most: int) -> str:
    """The text with every run of white space as one space; cut to `most` characters, the last of them then "…"."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
