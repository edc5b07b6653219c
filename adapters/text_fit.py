"""Lengths of texts in UTF-16 units, as chat platforms count them, and how a text is made to fit."""

import unicodedata
from collections.abc import Sequence

MARK = "…"
JOINERS = "\u200c\u200d"
MOST_DRAWN_TOGETHER = 16  # more than the longest sequence that `visible` leaves whole


def units(text: str) -> int:
    """The length of a text in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


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


def _is_drawn_together(before: str, after: str) -> bool:
    is_line_end = (before, after) == ("\r", "\n")  # a lone return is spelled out, which takes more room
    is_joined = (
        before in JOINERS or after in JOINERS or after in "\ufe0f\u20e3" or "\U000e0020" <= after <= "\U000e007f"
    )
    return is_line_end or is_joined or bool(unicodedata.combining(after))
