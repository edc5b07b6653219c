"""Lengths of texts as Discord may count them, how a text is made to fit, and how it is written so that it stays text.

Discord draws markdown in every text of a message, so a text of somebody else's stands in a block of code, which ends
only at three backticks, or with a backslash before whatever could begin something.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence

from adapters.cards import visible

NOTHING = "–"  # Discord takes no empty text
MARK = "…"
FENCE = "```"
JOINER = "\u200d"
MOST_DRAWN_TOGETHER = 16
# What draws anywhere, what does so before certain words, and what begins a line: a list, a heading, a quotation.
SPECIAL = re.compile(
    r"[\\*_~`|<\[\]]|:(?=//|[\w+-]+:)|@(?=everyone|here)|(?m:^(?P<before>[^\S\n]*\d*))(?P<mark>[-+.#>])"
)


def units(text: str) -> int:
    """The length of a text in UTF-16 units, the most that Discord could count."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def clean(text: str) -> str:
    """A text with everything spelled out that hides, reorders or could not be sent; line ends are plain."""
    return visible(text).replace("\r\n", "\n")


def one_line(text: str) -> str:
    """The text on one line with nothing hidden in it."""
    return " ".join(clean(text).split())


def escaped(text: str) -> str:
    """A text in which Discord draws nothing: what is read is what was written."""
    return SPECIAL.sub(_escape, text)


def escaped_size(text: str) -> int:
    """How long a text is with its backslashes."""
    return units(escaped(text))


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


def fits(text: str, most: int) -> bool:
    """Whether a text has at most so many units."""
    return len(text) <= most and units(text) <= most


def cut(text: str, most: int, mark: str = MARK) -> str:
    """The text, or its beginning with a mark, in at most so many units; no character is split."""
    return text if fits(text, most) else beginning(text, most - units(mark)) + mark


def beginning(text: str, most: int) -> str:
    """As many of the first characters as there is room for; what is drawn as one stays together."""
    head = text[: max(most, 0)]
    part = head.encode("utf-16-le", "surrogatepass")[: 2 * most].decode("utf-16-le", "ignore") if head else ""
    end = len(part)
    if end == len(text):
        return text
    while end > max(len(part) - MOST_DRAWN_TOGETHER, 1) and _is_drawn_together(text[end - 1], text[end]):
        end -= 1
    return part[:end]


def beginning_by_size(text: str, most: int, size: Callable[[str], int]) -> str:
    """As much of the beginning as has at most so much of a size."""
    part = beginning(text, most)
    while part and (over := size(part)) > most:
        part = beginning(part, min(units(part) - 1, units(part) * most // over))
    return part


def cut_by_size(text: str, most: int, size: Callable[[str], int] = escaped_size) -> str:
    """The text, or its beginning with a mark, of at most so much of a size."""
    return text if len(text) <= most and size(text) <= most else beginning_by_size(text, most - len(MARK), size) + MARK


def pieces(text: str, most: int) -> list[str]:
    """The text in pieces of at most so many units, together exactly the text, each ending with a line if it can."""
    found, start = [], 0
    while not fits(text[start : start + most + 1], most):
        part = beginning(text[start : start + most + MOST_DRAWN_TOGETHER], most) or text[start]
        end = part.rfind("\n") + 1 or len(part)
        found.append(part[:end])
        start += end
    return [*found, text[start:]] if start < len(text) or not found else found


def shares(wanted: Sequence[int], room: int) -> list[int]:
    """How much each may have: all it wants where that is little, and an equal part of what is left."""
    given = [0] * len(wanted)
    by_size = sorted(range(len(wanted)), key=wanted.__getitem__)
    for place, which in enumerate(by_size):
        given[which] = min(wanted[which], max(room, 0) // (len(wanted) - place))
        room -= given[which]
    return given


def _escape(special: re.Match[str]) -> str:
    if special["mark"]:
        return f"{special['before']}\\{special['mark']}"
    return f"\\{special[0]}"


def _is_drawn_together(before: str, after: str) -> bool:
    is_line_end = (before, after) == ("\r", "\n")
    return is_line_end or JOINER in (before, after) or bool(unicodedata.combining(after)) or after in "\ufe0f\u20e3"
