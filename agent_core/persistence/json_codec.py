"""Converts values of agent_core.model to JSON text and back, without loss even of lone surrogates and NUL."""

import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")
MAX_CACHED_CHARACTERS = 8_000


def encode(value: object) -> str:
    """The value as JSON text in ASCII; raise TypeError for a value that is not of a type in agent_core.model."""
    return _ENCODER.encode(value)


def decode(kind: type[T], text: str) -> T:
    """Read a value of this kind; raise ValueError for anything else. Unknown fields are ignored.

    Results for short texts are cached: each step of an agent reads up to forty turns, and the step before read most of
    them too. Sharing the results is safe because values are immutable.
    """
    read = _decode_cached if len(text) <= MAX_CACHED_CHARACTERS else _decode
    return cast("T", read(cast("Hashable", kind), text))


def _decode(kind: Any, text: str) -> object:
    adapter = _ADAPTERS(kind)
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        if error.errors()[0]["type"] != "json_invalid":
            raise
    # Pydantic's parser rejects lone surrogates and deep nesting; the standard library's accepts them.
    return adapter.validate_python(json.loads(text))


_decode_cached = lru_cache(maxsize=512)(_decode)


def _plain(value: object) -> object:
    if names := _fields(cast("Hashable", type(value))):
        return {name: getattr(value, name) for name in names}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not a value of the model")


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


_ADAPTERS: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)
_ENCODER = json.JSONEncoder(default=_plain, separators=(",", ":"))
