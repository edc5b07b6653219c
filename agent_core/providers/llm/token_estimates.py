"""Token estimates without a tokenizer, and an LRU cache for token counts."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from threading import Lock

from cachetools import LRUCache

BYTES_PER_TOKEN = 3
MAX_CACHED_CHARACTERS = 2_000_000
MAX_SHORT_TEXTS = 1_000
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
    """LRU caches of token counts, because most of a prompt is unchanged from the previous one. Thread-safe.

    The cached texts have at most `max_characters` in all: short texts half of them, and long ones the other half, an
    eighth of which is the longest text that is cached.
    """

    def __init__(self, count: Callable[[str], int], max_characters: int = MAX_CACHED_CHARACTERS) -> None:
        self._count, self._lock = count, Lock()
        self._count_short = lru_cache(MAX_SHORT_TEXTS)(count)
        self._longest_short = max_characters // 2 // MAX_SHORT_TEXTS
        self._max_long = max_characters - self._longest_short * MAX_SHORT_TEXTS
        # Each count is kept with the length of its text, which is its size in the cache.
        self._counts = LRUCache[str, tuple[int, int]](self._max_long, getsizeof=itemgetter(1))

    def of(self, text: str) -> int:
        if len(text) <= self._longest_short:
            return self._count_short(text)
        with self._lock:
            if found := self._counts.get(text):
                return found[0]
        count = self._count(text)
        if len(text) * 8 <= self._max_long:
            with self._lock:
                self._counts[text] = count, len(text) + 1
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
