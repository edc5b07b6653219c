"""Durations as text."""

from datetime import timedelta

SECOND, MINUTE, HOUR, DAY = 1, 60, 3_600, 86_400  # in seconds


def span_text(duration: timedelta | None) -> str:
    """A duration in its two largest units: `3 d 4 h`, `12 min 5 s`, `1.4 s`, `under 1 s`; "" for None."""
    if duration is None:
        return ""
    seconds = duration.total_seconds()
    if seconds < SECOND:
        return "under 1 s"
    if seconds < MINUTE:
        return f"{int(seconds * 10) / 10:.1f} s" if seconds < 10 else f"{int(seconds)} s"
    units = (("d", DAY), ("h", HOUR), ("min", MINUTE), ("s", SECOND))
    first = next(number for number, (_, size) in enumerate(units) if seconds >= size)
    (large, size), (small, part) = units[first], units[first + 1]
    more = int(seconds % size // part)
    return f"{int(seconds // size)} {large}" + (f" {more} {small}" if more else "")
