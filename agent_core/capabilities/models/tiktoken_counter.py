"""Counts tokens with tiktoken. Tokenizers are loaded in threads, from local files only."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING

from agent_core.capabilities.models.token_estimates import CachedCounts, EstimatedTokens, estimate
from agent_core.capabilities.models.tokenizer_files import (
    ENCODINGS,
    EncodingFile,
    build_encoding,
    encoding_for,
    read_encoding,
)

if TYPE_CHECKING:
    from tiktoken import Encoding

DEFAULT_ENCODING = "o200k_base"
LOAD_TIMEOUT_SECONDS = 20.0
# One repeated character takes tiktoken 0.14 up to 35 ms at this length; at about a million blanks it fails.
MAX_EXACT_CHARACTERS = 100_000
MAX_MODELS = 1_000

ReadEncoding = Callable[[EncodingFile], bytes | None]
logger = logging.getLogger(__name__)


def cached_counts(encoding: "Encoding") -> CachedCounts:
    """A cached function that counts tokens in this encoding; text beyond 100,000 characters is estimated."""

    def count(text: str) -> int:
        beginning, rest = text[:MAX_EXACT_CHARACTERS], text[MAX_EXACT_CHARACTERS:]
        return len(encoding.encode_ordinary(beginning)) + estimate(rest)

    return CachedCounts(count)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A tokenizer's load result: its counting function, None if loading failed, and whether it is the model's own."""

    counts: CachedCounts | None = None
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class TiktokenCounter:
    """Implements `TokenCounter` for one model; estimates until the tokenizer is loaded."""

    loading: "Future[Loaded]"

    @property
    def is_exact(self) -> bool:
        loaded = self._loaded
        return loaded.is_own and loaded.counts is not None

    def count(self, text: str) -> int:
        """Number of tokens; the text of special tokens counts as ordinary text."""
        counts = self._loaded.counts
        return counts.of(text) if counts else EstimatedTokens().count(text)

    @property
    def _loaded(self) -> Loaded:
        return self.loading.result() if self.loading.done() else Loaded()


class TiktokenCounters:
    """Implements `TokenCounters`. For models of other providers, OpenAI's current encoding gives approximate counts.

    `folder` may contain the encodings' files; otherwise the package's files are used. Each tokenizer is loaded once, on
    first use. Counters returned before that become exact when it is loaded.
    """

    def __init__(
        self, folder: Path | None = None, *, seconds: float = LOAD_TIMEOUT_SECONDS, read: ReadEncoding | None = None
    ) -> None:
        self._seconds = seconds
        self._read: ReadEncoding = read or (lambda encoding: read_encoding(encoding, folder))
        self._models: dict[str, Future[Loaded]] = {}
        self._counts: dict[str, CachedCounts | None] = {}
        self._lock = Lock()

    def of(self, model: str) -> TiktokenCounter:
        """The model's counter; starts loading its tokenizer if needed."""
        if model not in self._models and len(self._models) >= MAX_MODELS:
            self._models.clear()
        loading = self._models.get(model)
        if loading is None:
            loading = self._models[model] = Future()
            Thread(target=self._load, args=(model, loading), name=f"tokens of {model}", daemon=True).start()
        return TiktokenCounter(loading)

    async def prepare(self, model: str) -> None:
        """Wait until the model's tokenizer is loaded, has failed, or the timeout expires."""
        loading = asyncio.wrap_future(self.of(model).loading)
        _, late = await asyncio.wait((loading,), timeout=self._seconds)
        if late:
            logger.warning("tokens are estimated: loading the tokenizer timed out", extra={"model": model})

    def _load(self, model: str, loading: "Future[Loaded]") -> None:
        loaded = Loaded()
        try:
            name = encoding_for(model)
            loaded = Loaded(self._counts_of(name or DEFAULT_ENCODING), is_own=name is not None)
        except (ImportError, ValueError) as error:
            logger.warning("tokens are estimated", extra={"model": model, "why": type(error).__name__})
        finally:
            loading.set_result(loaded)

    def _counts_of(self, name: str) -> CachedCounts | None:
        with self._lock:
            if name not in self._counts:
                content = self._read(ENCODINGS[name])
                if content is None:
                    logger.warning("tokens are estimated: encoding not found", extra={"encoding": name})
                self._counts[name] = cached_counts(build_encoding(ENCODINGS[name], content)) if content else None
            return self._counts[name]
