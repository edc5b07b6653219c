"""Lengths of texts as Discord may count them, how a text is made to fit, and how it is written so that it stays text.

Discord draws markdown in every text of a message, so a text of somebody else's stands in a block of code, which ends
only at three backticks, or with a backslash before whatever could begin something.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from adapters.text_fit import MARK, beginning, units
from adapters.visible_text import readable

NOTHING = "–"  # Discord takes no empty text
FENCE = "```"
# https://discord.com/developers/docs/reference#message-formatting-timestamp-styles
TimestampStyle: TypeAlias = Literal["f", "R"]
# What draws anywhere, what does so before certain words, and what begins a line: a list, a heading, a quotation.
SPECIAL = re.compile(
    r"[\\*_~`|<\[\]]|:(?=//|[\w+-]+:)|@(?=everyone|here)|(?m:^(?P<before>[^\S\n]*\d*))(?P<mark>[-+.#>])"
)


def clean(text: str) -> str:
    """A text with everything spelled out that hides, reorders or could not be sent; line ends are plain."""
    return readable(text).replace("\r\n", "\n")


def one_line(text: str) -> str:
    """The text on one line with nothing hidden in it."""
    return " ".join(clean(text).split())


def escaped(text: str) -> str:
    """A text in which Discord draws nothing: what is read is what was written."""
    return SPECIAL.sub(_escape, text)


def escaped_size(text: str) -> int:
    """How long a text is with its backslashes."""
    return units(escaped(text))


def timestamp(at: datetime, style: TimestampStyle = "f") -> str:
    """A time that Discord draws in the reader's time zone and language: "f" as date and time, "R" as "2 hours ago"."""
    return f"<t:{int(at.timestamp())}:{style}>"


def quoted(text: str) -> str:
    """A text as a quotation: no line of it can pass for one of ours."""
    return "\n".join(f"> {line}" for line in escaped(text).split("\n"))


def quoted_size(text: str) -> int:
    """How long a text is as a quotation."""
    return units(quoted(text))


def can_be_boxed(text: str) -> bool:
    """Whether a block of code shows the text as it is: nothing in it ends the block, or is swallowed at its ends."""
    return FENCE not in text and text.strip("\n") == text and bool(text)


def boxed(text: str, language: str = "") -> str:
    """A text in a block of code; only where `can_be_boxed`."""
    return f"{FENCE}{language}\n{text}\n{FENCE}"


def beginning_by_size(text: str, most: int, size: Callable[[str], int]) -> str:
    """As much of the beginning as has at most so much of a size."""
    part = beginning(text, most)
    while part and (over := size(part)) > most:
        part = beginning(part, min(units(part) - 1, units(part) * most // over))
    return part


def cut_by_size(text: str, most: int, size: Callable[[str], int] = escaped_size) -> str:
    """The text, or its beginning with a mark, of at most so much of a size."""
    return text if len(text) <= most and size(text) <= most else beginning_by_size(text, most - len(MARK), size) + MARK


def listed(lines: Sequence[str], what: str, room: int) -> str:
    """As many lines as there is room for, and how many there are more."""
    shown: list[str] = []
    for line in lines:
        room -= units(line) + 1
        if room < 0:
            break
        shown.append(line)
    left = len(lines) - len(shown)
    return "\n".join([*shown, *([f"-# and {left:,} more {what}"] if left else [])])


def _escape(special: re.Match[str]) -> str:
    if special["mark"]:
        return f"{special['before']}\\{special['mark']}"
    return f"\\{special[0]}"
