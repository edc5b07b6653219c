"""Finds the operator's keys and tokens in texts, also encoded ones, and redacts them."""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, quote_plus

REDACTED = "[secret]"
MIN_SECRET_CHARACTERS = 6  # shorter ones would match ordinary words
PIECE_CHARACTERS = 100_000  # are searched in 20 ms
MIN_BASE64_CHARACTERS = 12  # the base64 of a shorter one matches by chance


@dataclass(frozen=True, slots=True)
class Secrets:
    """Matches secret values in the encodings that programs and pages use: plain, reversed, JSON, URL, base64, hex."""

    pattern: re.Pattern[str] | None = None
    longest: int = 0  # characters of the longest spelling

    @classmethod
    def of(cls, values: Iterable[str]) -> Self:
        """The pattern for these values. Values shorter than MIN_SECRET_CHARACTERS are ignored."""
        spellings = {each for value in values if len(value) >= MIN_SECRET_CHARACTERS for each in _spellings(value)}
        longest_first = sorted(spellings, key=lambda each: (-len(each), each))
        if not longest_first:
            return cls()
        return cls(re.compile("|".join(map(re.escape, longest_first))), len(longest_first[0]))

    def redact(self, text: str) -> str:
        """The text with every secret replaced by `[secret]`."""
        if self.pattern is None:
            return text
        if len(text) <= PIECE_CHARACTERS:
            return self.pattern.sub(REDACTED, text)
        return "".join(self._pieces(self.pattern, text))

    def _pieces(self, pattern: re.Pattern[str], text: str) -> Iterator[str]:
        """The same of a long text, piece by piece: a search lets no other thread run, the event loop's neither."""
        done = 0
        for begin in range(0, len(text), PIECE_CHARACTERS):
            end = begin + PIECE_CHARACTERS
            for found in pattern.finditer(text, max(begin, done), end + self.longest):
                if found.start() >= end:
                    break
                yield text[done : found.start()]
                yield REDACTED
                done = found.end()
        yield text[done:]

    def __repr__(self) -> str:
        return "Secrets()"


NO_SECRETS = Secrets()


def _spellings(value: str) -> Iterable[str]:
    yield from (value, json.dumps(value)[1:-1], quote(value, safe=""), quote_plus(value), value[::-1])
    if len(value) < MIN_BASE64_CHARACTERS:
        return
    data = value.encode()
    yield from (data.hex(), data.hex().upper())
    for skipped in range(3):  # at each offset modulo 3, the base64 characters that depend on the secret alone
        start = -(-8 * skipped // 6)
        whole = base64.b64encode(bytes(skipped) + data).decode().rstrip("=")
        inner = whole[start : len(whole) - 1]
        yield from (inner, inner.replace("+", "-").replace("/", "_"))
