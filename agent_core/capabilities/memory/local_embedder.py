"""Local embedder: static word vectors of the package wordllama, English only.

The files are read directly, because the package's loader downloads data. Other languages get poor vectors.
"""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from agent_core.capabilities.memory.unit_vectors import Row, or_first_axis, truncate, unit_vectors
from agent_core.errors import ModelRefused
from agent_core.model.model_calls import FREE, Usage
from agent_core.ports.models import Embedding
from agent_core.text.own_commands import install_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

PACKAGE = "wordllama"
MATRIX, MATRIX_NAME, DIMENSION = "weights/l2_supercat_256.safetensors", "embedding.weight", 256
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
MAX_CHARACTERS = 32_000
MAX_HEADER_BYTES = 1_000_000
NOT_INSTALLED = (
    f"Memory by meaning is not installed: run `{install_text('embeddings')}`, or use another embedding model."
)
UNUSABLE = "The installed wordllama is not one that Signoff can read: run `pip install 'wordllama>=0.4,<0.5'`."


@dataclass(frozen=True, slots=True)
class WordVectors:
    """A tokenizer and the memory-mapped matrix of token vectors."""

    tokenizer: "Tokenizer"
    matrix: "NDArray[np.float16]"

    @classmethod
    def load(cls, folder: Path) -> "WordVectors":
        """Load from the package's folder; raise OSError or ValueError."""
        from tokenizers import Tokenizer  # loaded when first asked

        tokenizer = Tokenizer.from_str((folder / TOKENIZER).read_text(encoding="utf-8"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return cls(tokenizer, map_matrix(folder / MATRIX))

    def of(self, texts: Sequence[str]) -> tuple[list[Row], int]:
        """For each text the mean of the vectors of its tokens; and the number of all tokens.

        The vector of a token is converted once, however often it occurs: to convert takes longer than to add.
        """
        import numpy as np

        encoded = [
            self.tokenizer.encode(truncate(text, MAX_CHARACTERS), add_special_tokens=False).ids for text in texts
        ]
        known = [[token for token in tokens if token < len(self.matrix)] for tokens in encoded]
        tokens, columns = np.unique(np.fromiter(chain.from_iterable(known), np.int64), return_inverse=True)
        rows = np.repeat(np.arange(len(texts)), [len(each) for each in known])
        counts = np.bincount(rows * len(tokens) + columns, minlength=len(texts) * len(tokens))
        sums = counts.reshape(len(texts), len(tokens)) @ self.matrix[tokens].astype(np.float64)
        means = [row / max(len(each), 1) for row, each in zip(sums, known, strict=True)]
        return [or_first_axis(mean) for mean in means], sum(map(len, encoded))


class LocalEmbedder:
    """Implements `Embedder` for English, free and offline. Loaded in a thread at first use."""

    name = "wordllama-256"
    is_semantic = True

    def __init__(self) -> None:
        self._words: WordVectors | None = None
        self._lock = Lock()

    @staticmethod
    def is_installed() -> bool:
        folder = _folder()
        return find_spec("tokenizers") is not None and folder is not None and (folder / MATRIX).is_file()

    async def prepare(self) -> None:
        """Load the word vectors. An error is left to the first use."""
        with suppress(ModelRefused):
            await asyncio.to_thread(self._load)

    async def embed(self, texts: Sequence[str]) -> Embedding:
        return await asyncio.to_thread(self._embed, tuple(texts))

    def price(self, usage: Usage) -> Decimal | None:
        return FREE

    def _embed(self, texts: Sequence[str]) -> Embedding:
        rows, tokens = self._load().of(texts)
        return Embedding(unit_vectors(rows), Usage(prompt=tokens))

    def _load(self) -> WordVectors:
        with self._lock:
            if self._words is None:
                folder = _folder()
                if folder is None:
                    raise ModelRefused(NOT_INSTALLED)
                try:
                    self._words = WordVectors.load(folder)
                except ImportError:
                    raise ModelRefused(NOT_INSTALLED) from None
                except (OSError, ValueError):
                    raise ModelRefused(UNUSABLE) from None
            return self._words


def map_matrix(path: Path) -> "NDArray[np.float16]":
    """Map the matrix of a safetensors file (8 bytes of header length, JSON header, numbers) into memory."""
    import numpy as np

    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length)) if length <= MAX_HEADER_BYTES else {}
    match header:
        case {"embedding.weight": {"dtype": "F16", "shape": [int(rows), 256], "data_offsets": [int(start), int()]}}:
            return np.memmap(path, dtype="<f2", mode="r", offset=8 + length + start, shape=(rows, DIMENSION))
        case _:
            raise ValueError(f"{path.name} holds no {MATRIX_NAME} of {DIMENSION} coordinates.")


def _folder() -> Path | None:
    package = find_spec(PACKAGE)
    places = package.submodule_search_locations if package else None
    return Path(places[0]) if places else None
