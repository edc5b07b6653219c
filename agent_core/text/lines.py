"""Puts texts on one line, quotes them, shortens names, and joins numbers with nouns, and names in a row."""

import unicodedata
from collections.abc import Iterable

QUOTATION_MARKS = {**dict.fromkeys(map(ord, "“”"), "'"), **dict.fromkeys(map(ord, "„‟″‶ʺˮ˝״〝〞〟❝❞＂🙶🙷🙸"), '"')}
WITHIN_A_NAME = "._-'’"
MAX_NAME_BYTES, MAX_WIDE_CHARACTERS = 24, 5  # five Chinese characters are a long name, eight a sentence


def one_line(text: str, most: int = 2**31) -> str:
    """The text with white space collapsed, cut to `most` characters with "…" as the last."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def quoted(text: str, most: int) -> str:
    """Somebody's words on one line in quotation marks that they cannot close."""
    return in_quotation_marks(one_line(text, most))


def in_quotation_marks(text: str) -> str:
    return f"“{unclosing(text)}”"


def unclosing(text: str) -> str:
    """A text that cannot close the quotation marks around it, nor seem to."""
    return text.translate(QUOTATION_MARKS).replace("’’", '"').replace("′′", '"')


def short_name(name: str) -> str:
    """The first word of a name that somebody chose, too short for a sentence; "somebody" if it has no word."""
    plain = unicodedata.normalize("NFC", name)
    line = "".join(each if unicodedata.category(each)[0] in "LMN" or each in WITHIN_A_NAME else " " for each in plain)
    first = next(iter(line.strip(f" {WITHIN_A_NAME}").split()), "somebody")
    if any(unicodedata.east_asian_width(each) in "WF" for each in first):
        first = first[:MAX_WIDE_CHARACTERS]
    return first.encode()[:MAX_NAME_BYTES].decode(errors="ignore").strip(WITHIN_A_NAME)


def unseparated(text: str) -> str:
    """A name or target without the mark that separates the parts of a line, so that it cannot stand as several."""
    return text.replace("·", "∙")


def counted(number: int, noun: str) -> str:
    """The number and its noun: "1 byte", "2,000 bytes", "2 memories"."""
    plural = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def listed(names: Iterable[str]) -> str:
    """The names as a part of a sentence: "a, b and c"."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
