"""Checks a plugin's JSON Schema of arguments, and writes it out without references, for prompts and endpoints."""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from agent_core.plugins.loaded import one_line

ARGUMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}", re.ASCII)
MAX_ARGUMENTS, MAX_ARGUMENT_DESCRIPTION, MAX_SCHEMA_CHARACTERS = 40, 200, 8_000
MAX_PARTS = 4_000  # of a schema whose references are written out
DEFINITIONS = "#/$defs/"
NAMED_PARTS = ("properties", "patternProperties", "dependentSchemas", "dependentRequired")
TEXTS = ("title", "description")
VALUES = ("const", "default", "enum", "examples")
LEFT_OUT = "discriminator"  # an addition of OpenAPI, which refers to definitions


def own_schema(parameters: Mapping[str, object]) -> dict[str, object]:
    """A copy of the schema with references written out and descriptions of one line.

    Raise an error that says what is wrong with a schema that is too large, refers to itself, has an argument that no
    line of a prompt can have, or is no JSON Schema that Python can check.
    """
    given = json.loads(json.dumps(dict(parameters), allow_nan=False))
    written = {"properties": {}, **_Writer(given.get("$defs", {})).write(given), "type": "object"}
    _require_arguments(written["properties"])
    text = json.dumps(written, ensure_ascii=False)
    if len(text) > MAX_SCHEMA_CHARACTERS:
        raise ValueError(f"its arguments take {len(text):,} characters of JSON, of {MAX_SCHEMA_CHARACTERS:,}")
    _require_schema(text)
    return cast("dict[str, object]", written)


@lru_cache(maxsize=512)
def _require_schema(text: str) -> None:
    """Raise ValueError if the JSON is no schema. One that has been checked is remembered: it takes up to 50 ms."""
    from jsonschema import Draft202012Validator, SchemaError  # imported late: it takes 0.1 s of the start

    try:
        Draft202012Validator.check_schema(json.loads(text), format_checker=Draft202012Validator.FORMAT_CHECKER)
    except SchemaError as error:
        raise ValueError(f"its arguments: {error.message}") from None


def _require_arguments(arguments: object) -> None:
    if not isinstance(arguments, dict) or not all(isinstance(each, dict) for each in arguments.values()):
        raise TypeError("its arguments are not declared one by one")
    if len(arguments) > MAX_ARGUMENTS:
        raise ValueError(f"it has {len(arguments):,} arguments, of {MAX_ARGUMENTS}")
    for name in arguments:
        if not ARGUMENT_NAME.fullmatch(name):
            raise ValueError(f"{one_line(name, 40)!a} is no name of an argument: letters, digits and _, at most 40")


class _Writer:
    """Writes a schema out, within MAX_PARTS."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self.definitions, self.parts = definitions, 0

    def write(self, part: Any, within: tuple[str, ...] = ()) -> Any:
        """The part with the definitions that it refers to in their place; `within`: those that it is a part of."""
        self.parts += 1
        if self.parts > MAX_PARTS:
            raise ValueError(f"its arguments have more than {MAX_PARTS:,} parts")
        if isinstance(part, list):
            return [self.write(each, within) for each in part]
        if not isinstance(part, dict):
            return part
        written = self._referred(part["$ref"], within) if "$ref" in part else {}
        for key, value in part.items():
            if not key.startswith("$") and key != LEFT_OUT:
                written[key] = self._value(key, value, within)
        return written

    def _referred(self, reference: object, within: tuple[str, ...]) -> dict[str, Any]:
        name = str(reference).removeprefix(DEFINITIONS)
        if name not in self.definitions:
            raise ValueError(f"{one_line(str(reference), 80)!a} in its arguments leads nowhere")
        if name in within:
            raise ValueError("its arguments refer to themselves")
        return dict(self.write(self.definitions[name], (*within, name)))

    def _value(self, key: str, value: Any, within: tuple[str, ...]) -> Any:
        if key in VALUES:
            return value
        if key in TEXTS and isinstance(value, str):
            return one_line(value[:MAX_SCHEMA_CHARACTERS], MAX_ARGUMENT_DESCRIPTION)
        if key in NAMED_PARTS and isinstance(value, dict):
            return {name: self.write(each, within) for name, each in value.items()}
        return self.write(value, within)
