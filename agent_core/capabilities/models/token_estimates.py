"""Token estimates without a tokenizer, and an LRU cache for token counts."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from threading import Lock

from cachetools import LRUCache

BYTES_PER_TOKEN = 3
MAX_CACHED_CHARACTERS = 2_000_000
ENTRY_CHARACTERS = 100  # what an entry of the cache takes besides its text
MAX_SCANNED_CHARACTERS = 200_000  # characters, in about 20 ms
PIECE = re.compile(r"[A-Za-z]+|[0-9]{1,3}|[!-/:-@\[-`{-~\x00-\x08\x0e-\x1f\x7f]")
MIN_BASE64_RUN = 32
BASE64_RUN = re.compile(rf"[A-Za-z0-9+/=]{{{MIN_BASE64_RUN},}}")
# Tokens per character in text of these scripts, measured with o200k_base and cl100k_base and rounded up.
TOKENS_PER_CHARACTER = (
    (re.compile("[\u0080-\u036f\u0400-\u052f\u3000-\udfff]"), 1),
    (re.compile("[\u0370-\u03ff\u0530-\u07ff\u2000-\u2fff\ue000-\uffff]"), 2),
    (re.compile("[\u0800-\u1fff\U00010000-\U0010ffff]"), 3),
)


class CachedCounts:
    """A cache of token counts, because most of a prompt is unchanged from the previous one. Thread-safe.

    The texts used last are kept, of `max_characters` in all; a text of more than an eighth of that is not.
    """

    def __init__(self, count: Callable[[str], int], max_characters: int = MAX_CACHED_CHARACTERS) -> None:
        self._count, self._lock, self._longest = count, Lock(), max_characters // 8
        # Each count is kept with the length of its text, which is its size in the cache.
        self._counts = LRUCache[str, tuple[int, int]](max_characters, getsizeof=itemgetter(1))

    def of(self, text: str) -> int:
        with self._lock:
            if found := self._counts.get(text):
                return found[0]
        count = self._count(text)
        if len(text) <= self._longest:
            with self._lock:
                self._counts[text] = count, len(text) + ENTRY_CHARACTERS
        return count


def estimate(text: str) -> int:
    """Estimate the tokens, on the high side: a third of the bytes, or the tokens seen if these are more.

    Tokens seen: words, groups of up to 3 digits, symbols, half of a base64 run, and 1 to 3 for each character of other
    scripts. Beyond 200,000 characters every byte counts as a token, which no tokenizer exceeds.
    """
    if len(text) > MAX_SCANNED_CHARACTERS:
        return estimate(text[:MAX_SCANNED_CHARACTERS]) + len(text[MAX_SCANNED_CHARACTERS:].encode(errors="replace"))
    size = len(text.encode(errors="replace"))
    tokens_seen = len(PIECE.findall(text))
    if max(map(len, text.split()), default=0) >= MIN_BASE64_RUN:
        tokens_seen += sum(len(run) // 2 for run in BASE64_RUN.findall(text))
    if not text.isascii():
        tokens_seen += sum(len(script.findall(text)) * tokens for script, tokens in TOKENS_PER_CHARACTER)
    return max(-(-size // BYTES_PER_TOKEN), tokens_seen)


_cached_estimates = CachedCounts(estimate)


@dataclass(frozen=True, slots=True)
class EstimatedTokens:
    """Implements `TokenCounter` with `estimate` and a cache that all instances share."""

    is_exact = False

    def count(self, text: str) -> int:
        return _cached_estimates.of(text)


class Estimates:
    """Implements `TokenCounters` with the same estimate for every model."""

    def of(self, model: str) -> EstimatedTokens:
        return EstimatedTokens()
