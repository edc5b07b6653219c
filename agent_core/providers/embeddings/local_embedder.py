"""Embeddings on this machine by the word vectors of the package wordllama, whose files are read directly.

The package itself is not imported: its loader asks a network for what it has. It knows English only; texts in other
languages get vectors that say little.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from agent_core.errors import ModelRefused
from agent_core.model.usage import FREE, Usage
from agent_core.ports.models import Embedding
from agent_core.providers.embeddings.unit_vectors import Rows, readable, somewhere, unit_vectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PACKAGE = "wordllama"
MATRIX, MATRIX_NAME, DIMENSION = "weights/l2_supercat_256.safetensors", "embedding.weight", 256
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
MOST_CHARACTERS = 32_000
LONGEST_HEADER = 1_000_000
NOT_INSTALLED = "Memory by meaning is not installed: run `pip install wordllama`, or set EMBEDDING_MODEL."
UNUSABLE = "The installed wordllama is not one that Signoff can read: run `pip install 'wordllama>=0.4,<0.5'`."


@dataclass(frozen=True, slots=True)
class WordVectors:
    """The vector of each token, in a file that is mapped and not read, and what makes tokens of a text."""

    tokenizer: "Tokenizer"
    matrix: NDArray[np.float16]

    @classmethod
    def loaded(cls, folder: Path) -> "WordVectors":
        """Those in the package's folder; raise OSError or ValueError when they are not there or not as expected."""
        from tokenizers import Tokenizer  # loaded when first asked

        tokenizer = Tokenizer.from_str((folder / TOKENIZER).read_text(encoding="utf-8"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return cls(tokenizer, mapped(folder / MATRIX))

    def of(self, text: str) -> tuple[Rows, int]:
        """The mean of its tokens' vectors, and how many those are."""
        tokens = self.tokenizer.encode(readable(text, MOST_CHARACTERS), add_special_tokens=False).ids
        known = [token for token in tokens if token < len(self.matrix)]
        mean = self.matrix[known].mean(axis=0, dtype=np.float64) if known else np.zeros(DIMENSION, np.float64)
        return somewhere(mean), len(tokens)


class LocalEmbedder:
    """Likeness of meaning for English, free of charge and without a network. Loaded in a thread when first used."""

    def __init__(self) -> None:
        self._words: WordVectors | None = None
        self._lock = Lock()

    @staticmethod
    def is_installed() -> bool:
        """Whether its two packages are there."""
        folder = _folder()
        return find_spec("tokenizers") is not None and folder is not None and (folder / MATRIX).is_file()

    @property
    def name(self) -> str:
        """The vectors' package and the number of coordinates."""
        return "wordllama-256"

    @property
    def is_semantic(self) -> bool:
        """True, in English."""
        return True

    async def embed(self, texts: Sequence[str]) -> Embedding:
        """One vector for each text; of a long one the first 32,000 characters count."""
        return await asyncio.to_thread(self._embedded, tuple(texts))

    def price(self, usage: Usage) -> Decimal | None:
        """Nothing."""
        return FREE

    def _embedded(self, texts: Sequence[str]) -> Embedding:
        words = self._loaded()
        found = [words.of(text) for text in texts]
        vectors = unit_vectors(np.stack([row for row, _ in found])) if found else ()
        return Embedding(vectors, Usage(prompt=sum(count for _, count in found)))

    def _loaded(self) -> WordVectors:
        with self._lock:
            if self._words is None:
                folder = _folder()
                if folder is None:
                    raise ModelRefused(NOT_INSTALLED)
                try:
                    self._words = WordVectors.loaded(folder)
                except ImportError:
                    raise ModelRefused(NOT_INSTALLED) from None
                except (OSError, ValueError):
                    raise ModelRefused(UNUSABLE) from None
            return self._words


def mapped(path: Path) -> NDArray[np.float16]:
    """The matrix in a safetensors file: 8 bytes of length, so many of JSON, then the numbers."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length)) if length <= LONGEST_HEADER else {}
    match header:
        case {"embedding.weight": {"dtype": "F16", "shape": [int(rows), 256], "data_offsets": [int(start), int()]}}:
            return np.memmap(path, dtype="<f2", mode="r", offset=8 + length + start, shape=(rows, DIMENSION))
        case _:
            raise ValueError(f"{path.name} holds no {MATRIX_NAME} of {DIMENSION} coordinates.")


def _folder() -> Path | None:
    package = find_spec(PACKAGE)
    places = package.submodule_search_locations if package else None
    return Path(places[0]) if places else None
