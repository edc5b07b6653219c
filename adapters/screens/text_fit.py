"""Measures texts in UTF-16 code units, as chat platforms count them; cuts and splits texts to fit a limit."""

from collections.abc import Callable, Sequence

import regex

MARK = "…"
# A grapheme cluster of Unicode annex 29. A zero-width non-joiner stays with the next letter: at the end it is hidden.
GRAPHEME: regex.Pattern[str] = regex.compile(r"(?:\X(?<=\u200C))*\X")
MAX_CLUSTER_CODE_POINTS = 64  # code points looked at before a cut; `visible` leaves no longer sequence whole


def units(text: str) -> int:
    """The length of a text in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def fits(text: str, most: int) -> bool:
    """Whether a text has at most `most` units."""
    return len(text) <= most and units(text) <= most


def cut(text: str, most: int, mark: str = MARK) -> str:
    """The text if it has at most `most` units; otherwise its `beginning`, as long as fits with `mark` after it."""
    return text if fits(text, most) else beginning(text, most - units(mark)) + mark


def beginning(text: str, most: int) -> str:
    """The longest beginning of at most `most` units; no grapheme cluster is split unless the first one is too long."""
    head = text[: max(most, 0)]
    part = head.encode("utf-16-le", "surrogatepass")[: 2 * most].decode("utf-16-le", "ignore") if head else ""
    end = len(part)
    if end == len(text):
        return text
    start = max(part.rfind("\n") + 1, end - MAX_CLUSTER_CODE_POINTS)
    *_, last = GRAPHEME.finditer(text[start : end + 1])
    return part[: start + last.start()] or part


def ending(text: str, most: int) -> str:
    """The longest ending of at most `most` units that splits no grapheme cluster."""
    start = len(text) - len(
        text[-most:].encode("utf-16-le", "surrogatepass")[-2 * most :].decode("utf-16-le", "ignore")
    )
    near = max(start - MAX_CLUSTER_CODE_POINTS, 0)
    starts = (near + cluster.start() for cluster in GRAPHEME.finditer(text[near:]))
    return text[next((each for each in starts if each >= start), len(text)) :]


def beginning_by_size(text: str, most: int, size: Callable[[str], int]) -> str:
    """A beginning of the text whose `size` is at most `most`; `size` must never be smaller than `units`."""
    part = beginning(text, most)
    while part and (over := size(part)) > most:
        part = beginning(part, min(units(part) - 1, units(part) * most // over))
    return part


def cut_by_size(text: str, most: int, size: Callable[[str], int]) -> str:
    """The text if its `size` is at most `most`, else a beginning that fits with an ellipsis."""
    return text if len(text) <= most and size(text) <= most else beginning_by_size(text, most - len(MARK), size) + MARK


def pieces(text: str, most: int) -> list[str]:
    """Split the text into pieces of at most `most` units, after line ends where possible; no character is lost."""
    found, start = [], 0
    while not fits(text[start : start + most + 1], most):
        part = beginning(text[start : start + most + 1], most) or text[start]
        end = part.rfind("\n") + 1 or len(part)
        found.append(part[:end])
        start += end
    return [*found, text[start:]] if start < len(text) or not found else found


def shares(wanted: Sequence[int], room: int) -> list[int]:
    """Divide `room` fairly: small wishes are granted in full, and the others share the rest equally."""
    given = [0] * len(wanted)
    by_size = sorted(range(len(wanted)), key=wanted.__getitem__)
    for place, which in enumerate(by_size):
        given[which] = min(wanted[which], max(room, 0) // (len(wanted) - place))
        room -= given[which]
    return given
