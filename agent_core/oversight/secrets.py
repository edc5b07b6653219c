"""The operator's keys and tokens, wherever they turn up: a text that leaves a command or goes to a model has none."""

import base64
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, quote_plus

HIDDEN = "[secret]"
SHORTEST = 6  # to hide a shorter one would blot out ordinary words
IN_BASE64 = 12  # below it, what a secret looks like in base64 could be anything


@dataclass(frozen=True, slots=True)
class Secrets:
    """Made of values, it knows them in the spellings that programs and pages use: plain, JSON, URL, base64, hex."""

    pattern: re.Pattern[str] | None = None

    @classmethod
    def of(cls, values: Iterable[str]) -> Self:
        """What hides these values. An empty or very short one is left out."""
        spellings = {each for value in values if len(value) >= SHORTEST for each in _spellings(value)}
        longest_first = sorted(spellings, key=lambda each: (-len(each), each))
        return cls(re.compile("|".join(map(re.escape, longest_first)))) if longest_first else cls()

    def hidden(self, text: str) -> str:
        """The text with a mark in place of every secret."""
        return self.pattern.sub(HIDDEN, text) if self.pattern else text

    def __repr__(self) -> str:
        return "Secrets()"


NO_SECRETS = Secrets()


def _spellings(value: str) -> Iterable[str]:
    yield from (value, json.dumps(value)[1:-1], quote(value, safe=""), quote_plus(value), value[::-1])
    if len(value) < IN_BASE64:
        return
    data = value.encode()
    yield from (data.hex(), data.hex().upper())
    for skipped in range(3):  # base64 of a text that holds it anywhere: the characters that depend on it alone
        start = -(-8 * skipped // 6)
        whole = base64.b64encode(bytes(skipped) + data).decode().rstrip("=")
        inner = whole[start : len(whole) - 1]
        yield from (inner, inner.replace("+", "-").replace("/", "_"))
