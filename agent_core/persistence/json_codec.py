"""Converts model values to JSON text and back. Lone surrogates and NUL survive."""

import json
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")
MAX_CACHED_CHARACTERS = 8_000


def encode(value: object) -> str:
    """ASCII JSON text."""
    return _ENCODER.encode(value)


def decode(kind: type[T], text: str) -> T:
    """Read a value of this kind; raise ValueError for anything else. Unknown fields are ignored.

    Short texts are cached: a turn is read again with each of the next forty, and values are immutable.
    """
    return cast(
        "T", _decode_cached(cast("Hashable", kind), text) if len(text) <= MAX_CACHED_CHARACTERS else _decode(kind, text)
    )


@lru_cache(maxsize=512)
def _decode_cached(kind: type[object], text: str) -> object:
    return _decode(kind, text)


def _decode(kind: type[T], text: str) -> T:
    adapter = _adapter(kind)
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        if error.errors()[0]["type"] != "json_invalid":
            raise
    # Pydantic's parser rejects lone surrogates and deep nesting; the standard library's accepts them.
    return adapter.validate_python(json.loads(text))


def _adapter(kind: type[T]) -> TypeAdapter[T]:
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def _plain(value: object) -> object:
    if names := _fields(type(value)):
        return {name: getattr(value, name) for name in names}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not a value of the model")


def _fields(kind: type[object]) -> tuple[str, ...]:
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()
    return _FIELDS[kind]


_FIELDS: dict[type[object], tuple[str, ...]] = {}


_ADAPTERS: dict[type[object], TypeAdapter[Any]] = {}
_ENCODER = json.JSONEncoder(default=_plain, separators=(",", ":"))
