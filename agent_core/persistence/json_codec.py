"""Converts values of agent_core.model to JSON and back without loss, also of fields that only a newer release knows.

Fields that this release does not know are kept beside the value, so that saving it again does not erase them.
"""

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime, time
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, TypeAlias, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, SchemaSerializer, SchemaValidator

T = TypeVar("T")
Step: TypeAlias = str | int
MAX_CACHED = 1_024
MAX_CACHED_CHARACTERS = 8_000
IDENTIFYING = ("kind", "id", "at", "granted_at", "name", "target", "basis", "upto")


@dataclass(frozen=True, slots=True)
class UnknownFields:
    """Fields of a JSON object that this release does not know, and those of the objects below it.

    `identity`: the object's identifying fields. An object with others took its place, and gets none of the fields.
    """

    fields: Mapping[str, Any]
    below: Mapping[Step, "UnknownFields"]
    identity: Mapping[str, Any]


def encode(value: object, unknown: UnknownFields | None = None) -> str:
    """The value as JSON text in ASCII, with the unknown fields that it was read with.

    Raise TypeError for a value that is not of a type in agent_core.model.
    """
    text = _encode(value)
    return text if unknown is None else _ENCODER.encode(_with_unknown(json.loads(text), unknown))


def decode(kind: type[T], text: str) -> T:
    """Read a value of this kind; raise ValueError for anything else. Unknown fields are ignored."""
    return decode_all(kind, text)[0]


def decode_all(kind: type[T], text: str) -> tuple[T, UnknownFields | None]:
    """Read a value of this kind, and the fields that this release does not know; raise ValueError for anything else.

    The values of short texts are cached: each step of an agent reads up to forty turns, and the step before read most
    of them too. Sharing them is safe because values are immutable.
    """
    read = _decode_short if len(text) <= MAX_CACHED_CHARACTERS else _decode
    value, unknown = read(cast("Hashable", kind), text)
    return cast("T", value), unknown


def decode_once(kind: type[T], text: str) -> T:
    """Read a value like `decode`, without a place in the cache: for many values that no step of an agent reads."""
    return cast("T", _decode_tolerantly(_ADAPTERS(kind), text))


def _decode(kind: Any, text: str) -> tuple[object, UnknownFields | None]:
    try:
        return _exact_validator(kind).validate_json(text), None
    except ValidationError:
        value = _decode_tolerantly(_ADAPTERS(kind), text)
        return value, _unknown_in(json.loads(text), json.loads(_encode(value)))


@lru_cache(maxsize=MAX_CACHED)
def _decode_short(kind: Any, text: str) -> tuple[object, UnknownFields | None]:
    return _decode(kind, text)


def _decode_tolerantly(adapter: TypeAdapter[Any], text: str) -> object:
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        if error.errors()[0]["type"] != "json_invalid":
            raise
    # Pydantic's parser rejects lone surrogates and deep nesting; the standard library's accepts them.
    return adapter.validate_python(json.loads(text))


def _unknown_in(found: object, known: object) -> UnknownFields | None:
    """What `found`, the JSON as stored, has beside `known`, the JSON of the value that was read from it."""
    if found == known:
        return None
    extra: dict[str, Any] = {}
    pairs: Iterable[tuple[Step, Any, Any]]
    match found, known:
        case dict(), dict():
            extra = {name: each for name, each in found.items() if name not in known}
            pairs = ((name, each, known[name]) for name, each in found.items() if name in known)
        case list(), list():
            pairs = ((number, *pair) for number, pair in enumerate(zip(found, known, strict=True)))
        case _:
            return None
    below = {step: inner for step, old, new in pairs if (inner := _unknown_in(old, new))}
    return UnknownFields(extra, below, _identity(known)) if extra or below else None


def _with_unknown(plain: Any, unknown: UnknownFields) -> Any:
    """The JSON value with the unknown fields of all objects that are still in their place."""
    steps = plain.items() if isinstance(plain, dict) else enumerate(plain)
    whole = {step: _with_fields_of(each, unknown.below.get(step)) for step, each in steps}
    return {**unknown.fields, **whole} if isinstance(plain, dict) else list(whole.values())


def _with_fields_of(plain: Any, unknown: UnknownFields | None) -> Any:
    is_same = unknown and isinstance(plain, dict | list) and _identity(plain) == unknown.identity
    return _with_unknown(plain, unknown) if unknown and is_same else plain


def _identity(plain: Any) -> Mapping[str, Any]:
    return {name: plain[name] for name in IDENTIFYING if name in plain} if isinstance(plain, dict) else {}


def _encode(value: object) -> str:
    try:
        return (
            _serializer(cast("Hashable", type(value))).to_json(value, ensure_ascii=True, warnings=False).decode("ascii")
        )
    except (PydanticSerializationError, ValueError):
        # Pydantic's serializer refuses lone surrogates and deep nesting; the standard library's accepts them.
        return _ENCODER.encode(value)


def _plain(value: object) -> object:
    if names := _fields(cast("Hashable", type(value))):
        return {name: getattr(value, name) for name in names}
    if isinstance(value, datetime | time):
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


@cache
def _serializer(kind: Any) -> SchemaSerializer:
    return SchemaSerializer(_ADAPTERS(kind).core_schema, {"ser_json_inf_nan": "constants"})


@cache
def _exact_validator(kind: Any) -> SchemaValidator:
    """Reads values of this kind and refuses unknown fields, which costs no time."""
    return SchemaValidator(_forbidding(_ADAPTERS(kind).core_schema))


def _forbidding(schema: Any) -> Any:
    """A copy of pydantic's schema in which every dataclass refuses unknown fields."""
    if isinstance(schema, list):
        return [_forbidding(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    copied = {name: _forbidding(each) for name, each in schema.items()}
    return {**copied, "extra_behavior": "forbid"} if schema.get("type") == "dataclass-args" else copied


_ENCODER = json.JSONEncoder(default=_plain, separators=(",", ":"))
