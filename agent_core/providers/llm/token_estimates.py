"""Token counts without a tokenizer, and what remembers the counts of any."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

BYTES_A_TOKEN = 3
MOST_REMEMBERED = 2_000_000
MOST_LOOKED_AT = 200_000  # characters, in about 20 ms
PIECE = re.compile(r"[A-Za-z]+|[0-9]{1,3}|[!-/:-@\[-`{-~\x00-\x08\x0e-\x1f\x7f]")
ENCODED = re.compile(r"[A-Za-z0-9+/=]{32,}")
# Tokens of one character in running text of these scripts, rounded up from what o200k_base and cl100k_base make of it.
SCRIPTS = (
    (re.compile("[\u0080-\u036f\u0400-\u052f\u3000-\udfff]"), 1),
    (re.compile("[\u0370-\u03ff\u0530-\u07ff\u2000-\u2fff\ue000-\uffff]"), 2),
    (re.compile("[\u0800-\u1fff\U00010000-\U0010ffff]"), 3),
)


class CachedCounts:
    """A way of counting that keeps its counts, as a prompt holds mostly what the one before held.

    At most `most` characters are kept, the latest asked for, and no text of an eighth of that. Any thread may ask.
    """

    def __init__(self, count: Callable[[str], int], most: int = MOST_REMEMBERED) -> None:
        self._count, self._most = count, most
        self._known: dict[str, int] = {}
        self._size, self._lock = 0, Lock()

    def of(self, text: str) -> int:
        """The count, asked for if it is not known."""
        with self._lock:
            count = self._known.pop(text, None)
            if count is not None:
                self._known[text] = count
                return count
        count = self._count(text)
        with self._lock:
            self._keep(text, count)
        return count

    def _keep(self, text: str, count: int) -> None:
        if len(text) * 8 > self._most or text in self._known:
            return
        self._size += len(text) + 1
        self._known[text] = count
        while self._size > self._most:
            oldest = next(iter(self._known))
            del self._known[oldest]
            self._size -= len(oldest) + 1


def estimate(text: str) -> int:
    """Tokens of a text by its bytes and signs: more likely too many than too few.

    Of what is beyond 200,000 characters every byte counts, as no tokenizer makes more of it.
    """
    if len(text) > MOST_LOOKED_AT:
        return estimate(text[:MOST_LOOKED_AT]) + len(text[MOST_LOOKED_AT:].encode(errors="replace"))
    size = len(text.encode(errors="replace"))
    signs = len(PIECE.findall(text)) + sum(len(run) // 2 for run in ENCODED.findall(text))
    if not text.isascii():
        signs += sum(len(script.findall(text)) * tokens for script, tokens in SCRIPTS)
    return max(-(-size // BYTES_A_TOKEN), signs)


_remembered = CachedCounts(estimate)


@dataclass(frozen=True, slots=True)
class EstimatedTokens:
    """An estimate that errs upwards: a third of the bytes, or every word, number and sign if those are more."""

    @property
    def is_exact(self) -> bool:
        """False: no tokenizer is asked."""
        return False

    def count(self, text: str) -> int:
        """Tokens of a text, more likely too many than too few."""
        return _remembered.of(text)


class Estimates:
    """The same estimate for every model."""

    def of(self, model: str) -> EstimatedTokens:
        """The estimate, whatever the model."""
        return EstimatedTokens()
