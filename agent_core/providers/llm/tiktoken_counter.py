"""Exact token counts by OpenAI's tokenizers, loaded in a thread from files on this machine. No network is asked."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING

from agent_core.providers.llm.token_estimates import CachedCounts, EstimatedTokens, estimate
from agent_core.providers.llm.tokenizer_files import ENCODINGS, EncodingFile, content_of, encoding_for, encoding_of

if TYPE_CHECKING:
    from tiktoken import Encoding

DEFAULT = "o200k_base"
PATIENCE = 20.0
# A text of one kind of sign takes tiktoken 0.14 up to 35 ms at this length; from about a million blanks on it breaks.
MOST_EXACT = 100_000
MOST_MODELS = 1_000

Read = Callable[[EncodingFile], bytes | None]
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A loaded encoding with the counts it made."""

    counts: CachedCounts

    @classmethod
    def of(cls, encoding: "Encoding") -> "Tokenizer":
        """Count with this; what a text has beyond 100,000 characters is estimated."""

        def count(text: str) -> int:
            beginning, rest = text[:MOST_EXACT], text[MOST_EXACT:]
            return len(encoding.encode_ordinary(beginning)) + estimate(rest)

        return cls(CachedCounts(count))


@dataclass(frozen=True, slots=True)
class Loaded:
    """What counts for a model; `is_own` says whether the tokenizer is the model's."""

    tokenizer: Tokenizer | None = None
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class TiktokenCounter:
    """Counts for one model: an estimate until its tokenizer is there."""

    loading: "Future[Loaded]"

    @property
    def is_exact(self) -> bool:
        """Whether the model's own tokenizer counts by now."""
        loaded = self._loaded
        return loaded.is_own and loaded.tokenizer is not None

    def count(self, text: str) -> int:
        """Tokens of a text in which every special token counts as ordinary text."""
        tokenizer = self._loaded.tokenizer
        return tokenizer.counts.of(text) if tokenizer else EstimatedTokens().count(text)

    @property
    def _loaded(self) -> Loaded:
        return self.loading.result() if self.loading.done() else Loaded()


class TiktokenCounters:
    """A counter for each model; a model that is none of OpenAI's is counted as their current ones would.

    `folder` may hold the encodings' files, which else come from the package. Each is loaded once, when first asked
    for; `read` is where from. A counter given out before then becomes exact by itself.
    """

    def __init__(self, folder: Path | None = None, *, seconds: float = PATIENCE, read: Read | None = None) -> None:
        self._seconds = seconds
        self._read: Read = read or (lambda encoding: content_of(encoding, folder))
        self._models: dict[str, Future[Loaded]] = {}
        self._tokenizers: dict[str, Tokenizer | None] = {}
        self._lock = Lock()

    def of(self, model: str) -> TiktokenCounter:
        """The model's counter, at once; its tokenizer begins to be loaded if it was not."""
        if model not in self._models and len(self._models) >= MOST_MODELS:
            self._models.clear()
        loading = self._models.get(model)
        if loading is None:
            loading = self._models[model] = Future()
            Thread(target=self._load, args=(model, loading), name=f"tokens of {model}", daemon=True).start()
        return TiktokenCounter(loading)

    async def prepare(self, model: str) -> None:
        """Wait until the model's tokenizer is there, cannot be had, or takes too long; then the estimate goes on."""
        loading = asyncio.wrap_future(self.of(model).loading)
        _, late = await asyncio.wait((loading,), timeout=self._seconds)
        if late:
            logger.warning("tokens are estimated: the tokenizer is not loaded in time", extra={"model": model})

    def _load(self, model: str, loading: "Future[Loaded]") -> None:
        loaded = Loaded()
        try:
            name = encoding_for(model)
            loaded = Loaded(self._tokenizer(name or DEFAULT), is_own=name is not None)
        except (ImportError, ValueError) as error:
            logger.warning("tokens are estimated", extra={"model": model, "why": type(error).__name__})
        finally:
            loading.set_result(loaded)

    def _tokenizer(self, name: str) -> Tokenizer | None:
        with self._lock:
            if name not in self._tokenizers:
                content = self._read(ENCODINGS[name])
                if content is None:
                    logger.warning("tokens are estimated: an encoding is not there", extra={"encoding": name})
                self._tokenizers[name] = Tokenizer.of(encoding_of(ENCODINGS[name], content)) if content else None
            return self._tokenizers[name]
