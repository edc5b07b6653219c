"""Checks of JSON, to be put together: each yields what is wrong, in Slack's words, with the place of it."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeAlias

from tests.standins.slack.values import length

Check: TypeAlias = Callable[[Any, str], Iterator[str]]

# docs.slack.dev/messaging/formatting-message-text#date-formatting
DATE_TOKENS = frozenset(
    {
        *("date_num", "date_slash", "date_long", "date_long_full", "date_long_pretty", "date", "date_pretty"),
        *("date_short", "date_short_pretty", "day_divider_pretty", "time", "time_secs", "ago"),
    }
)
TOKEN = re.compile(r"\{([^{}]*)\}")
DATE = re.compile(r"<!date([^<>]*)>")
DATE_PARTS = re.compile(r"\^\d{1,10}\^(?P<format>[^^|]+)(\^https?://[^|]+)?\|[^|]+")


def wrong(words: str, at: str) -> str:
    """A message of `response_metadata`."""
    return f"[ERROR] {words} [json-pointer:{at}]"


def anything(value: Any, at: str) -> Iterator[str]:
    """Nothing is wrong."""
    yield from ()


def boolean(value: Any, at: str) -> Iterator[str]:
    """True or false."""
    if not isinstance(value, bool):
        yield wrong("must be a boolean", at)


def string(most: int, least: int = 1) -> Check:
    """A string of a length."""

    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield wrong("must be a string", at)
        elif length(value) > most:
            yield wrong(f"must be less than {most + 1} characters", at)
        elif length(value) < least:
            yield wrong(f"must be more than {least - 1} characters", at)

    return check


def whole(least: int, most: int) -> Check:
    """A whole number in a range."""

    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, int) or isinstance(value, bool):
            yield wrong("must be an integer", at)
        elif not least <= value <= most:
            yield wrong(f"must be between {least} and {most}", at)

    return check


def word(*words: str | int) -> Check:
    """One of these."""

    def check(value: Any, at: str) -> Iterator[str]:
        if value not in words:
            yield wrong(f"must be one of: {', '.join(map(str, words))}", at)

    return check


def listing(inner: Check, most: int, least: int = 1) -> Check:
    """A list of so many."""

    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield wrong("must provide an array", at)
            return
        if len(value) > most:
            yield wrong(f"no more than {most} items allowed", at)
        if len(value) < least:
            yield wrong(f"no fewer than {least} items allowed", at)
        for number, item in enumerate(value):
            yield from inner(item, f"{at}/{number}")

    return check


def shape(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """An object with these keys and no others; a `type` is always allowed."""
    known = {"type": anything, **required, **(optional or {})}

    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield wrong("must provide an object", at)
            return
        for name in required:
            if name not in value:
                yield wrong(f"missing required field: {name}", at)
        for name, item in value.items():
            if name in known:
                yield from known[name](item, f"{at}/{name}")
            else:
                yield wrong(f"invalid additional property: {name}", at)

    return check


def kinds(checks: Mapping[str, Check], only: Collection[str] = ()) -> Check:
    """An object whose `type` says how it is checked; with `only`, no other types are taken here."""

    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield wrong("must provide an object", at)
            return
        kind = value.get("type")
        if kind is None:
            yield wrong("missing required field: type", at)
        elif kind not in checks or (only and kind not in only):
            yield wrong(f"unsupported type: {kind}", f"{at}/type")
        else:
            yield from checks[kind](value, at)

    return check


def both(first: Check, second: Check) -> Check:
    """Both checks; the second only where the first finds nothing."""

    def check(value: Any, at: str) -> Iterator[str]:
        faults = list(first(value, at))
        yield from faults or second(value, at)

    return check


def date_format(value: Any, at: str) -> Iterator[str]:
    """A date format with at least one token, and only tokens of docs.slack.dev's list."""
    found = TOKEN.findall(value)
    if not found or {*found} - DATE_TOKENS:
        yield wrong("must be a date format", at)


def dates(value: Any, at: str) -> Iterator[str]:
    """Dates in mrkdwn are written as `<!date^timestamp^format^link|fallback>`, the link being optional."""
    for inner in DATE.findall(value):
        parts = DATE_PARTS.fullmatch(inner)
        if parts is None:
            yield wrong(f"invalid date: {inner}", at)
        else:
            yield from date_format(parts["format"], at)


def text(most: int, least: int = 1, *, plain: bool = True, mrkdwn: bool = False) -> Check:
    """A text object of a length."""
    body = string(most, least)
    types: dict[str, Check] = {}
    if plain:
        types["plain_text"] = shape({"text": body}, {"emoji": boolean})
    if mrkdwn:
        types["mrkdwn"] = shape({"text": both(body, dates)}, {"verbatim": boolean})
    return kinds(types)
