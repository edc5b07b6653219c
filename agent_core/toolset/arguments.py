"""Fits a call's arguments to a command's names and types, and checks them by its schema. Guesses nothing."""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from agent_core.errors import UnusableReply
from agent_core.model.command import Arguments, CommandSpec
from agent_core.replies.extraction import strict_object

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

MAX_FAULT_CHARACTERS, MAX_FAULTS = 300, 20
MAX_STEPS = 5_000  # of a check, 6 to 12 µs each
INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
NUMBER = re.compile(r"[+-]?\d{1,18}(\.\d{1,18})?([eE][+-]?\d{1,2})?", re.ASCII)


def fit_arguments(spec: CommandSpec, given: Arguments) -> Arguments:
    """The arguments under their proper names, converted from text where the schema asks for anything else.

    Optional arguments that are null are dropped. Raise UnusableReply if an argument is given under two names with
    different values.
    """
    properties = _properties(spec)
    names = {normalise_name(alias): name for alias, name in spec.aliases.items()} | {
        normalise_name(name): name for name in properties
    }
    required = cast("Iterable[str]", spec.parameters.get("required", ()))
    meant: dict[str, object] = {}
    for name, value in given.items():
        proper = name if name in properties else names.get(normalise_name(name), name)
        fitting = _convert(value, _types(properties.get(proper, {})))
        if proper in meant and _canonical(meant[proper]) != _canonical(fitting):
            raise UnusableReply(f'{spec.name}: "{proper}" was given under two names, with different content.')
        meant[proper] = fitting
    return {
        name: value for name, value in meant.items() if value is not None or name not in {*properties} - {*required}
    }


def allowed_arguments_text(spec: CommandSpec) -> str:
    """A sentence that names the command's arguments."""
    required = cast("Iterable[str]", spec.parameters.get("required", ()))
    names = [name if name in required else f"{name} (may be left out)" for name in _properties(spec)]
    return f"Its arguments are: {', '.join(names)}." if names else "It takes no arguments."


def normalise_name(name: str) -> str:
    """The name in lower case, without hyphens, white space and underscores, which models vary."""
    return re.sub(r"[\s_-]+", "", name).casefold()


def _properties(spec: CommandSpec) -> Mapping[str, Mapping[str, object]]:
    return cast("Mapping[str, Mapping[str, object]]", spec.parameters.get("properties", {}))


def _types(schema: Mapping[str, object]) -> set[str]:
    """The JSON types that a schema allows."""
    match schema:
        case {"type": str(kind)}:
            return {kind}
        case {"type": [*kinds]}:
            return {str(kind) for kind in kinds}
        case {"anyOf": [*choices]}:
            return {kind for choice in choices if isinstance(choice, dict) for kind in _types(choice)}
        case _:
            return {"string"}


def _convert(value: object, types: set[str]) -> object:
    if not isinstance(value, str) or "string" in types:
        return value
    text = value.strip()
    if types & {"integer", "number"} and INTEGER.fullmatch(text):
        return int(text)
    if "number" in types and NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    if "boolean" in types and text.casefold() in ("true", "false"):
        return text.casefold() == "true"
    if ("array" in types and text.startswith("[")) or ("object" in types and text.startswith("{")):
        read = strict_object(f'{{"value": {text}}}') or {}
        return read["value"] if read.keys() == {"value"} else value
    return value


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def argument_faults(spec: CommandSpec, arguments: Arguments) -> list[str]:
    """A sentence for each of the first 20 faults by which the arguments violate the command's schema."""
    validator, steps = _validator(spec.parameters_text)
    steps.taken = 0
    try:
        errors = [*islice(validator.iter_errors(dict(arguments)), MAX_FAULTS)]
    except _TooLong:
        return ["arguments: checking them takes too long, so give fewer or shorter ones."]
    return [f"{'.'.join(map(str, error.absolute_path)) or 'arguments'}: {_shorten(error.message)}." for error in errors]


class _TooLong(Exception):
    """A check takes more than MAX_STEPS."""


@dataclass(slots=True)
class _Steps:
    """Counts the steps of a check."""

    taken: int = 0

    def counted(self, check: Callable[..., Any], validator: Any, value: Any, given: Any, schema: Any) -> Iterator[Any]:
        """A check of one keyword, each value of which is a step; raise _TooLong if there are too many."""
        self.taken += len(value) if isinstance(value, list) else 1
        if self.taken > MAX_STEPS:
            raise _TooLong
        yield from check(validator, value, given, schema) or ()


def _shorten(message: str) -> str:
    """The message, with its middle left out if it is too long."""
    half = MAX_FAULT_CHARACTERS // 2
    return message if len(message) <= MAX_FAULT_CHARACTERS else f"{message[:half]} … {message[-half:]}"


@lru_cache(maxsize=256)
def _validator(parameters: str) -> "tuple[Draft202012Validator, _Steps]":
    from jsonschema import Draft202012Validator, validators  # imported late: it takes 0.1 s of the start

    steps = _Steps()
    checks = {name: partial(steps.counted, check) for name, check in Draft202012Validator.VALIDATORS.items()}
    counting = validators.extend(Draft202012Validator, validators=checks)  # type: ignore[no-untyped-call]
    return counting(json.loads(parameters)), steps
