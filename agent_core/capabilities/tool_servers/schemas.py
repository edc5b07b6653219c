"""The arguments of a server's tool in the form that commands have, and how a call is written for the server again."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from agent_core.model.command import Arguments
from agent_core.plugins.schemas import ARGUMENT_NAME, own_schema

OBJECT = "arguments"  # the one argument of a tool whose arguments cannot be declared one by one
# What may take for ever, and is checked by the server.
UNCHECKED = ("pattern", "patternProperties", "unevaluatedProperties", "unevaluatedItems", "uniqueItems")
NAMED = ("properties", "$defs", "definitions", "dependentSchemas")
MOST_NAMES, MAX_NAME_CHARACTERS = 12, 80
MAX_GIVEN_CHARACTERS, MAX_TEXT_CHARACTERS = 200_000, 500  # before descriptions are shortened


@dataclass(frozen=True, slots=True)
class ToolArguments:
    """`parameters`: the JSON Schema of the command. `names`: the server's name of each argument that got another.

    `why_object`: why all arguments are one JSON object, or "".
    """

    parameters: Mapping[str, object]
    names: Mapping[str, str] = field(default_factory=dict)
    why_object: str = ""

    @classmethod
    def of(cls, schema: Mapping[str, object], spell_out: Callable[[str], str]) -> "ToolArguments":
        """The arguments that a tool's schema declares; as one object where they cannot be declared one by one."""
        try:
            _require_size(schema)
            plain = _plain(dict(schema), spell_out)
            renamed, names = _renamed(plain)
            return cls(own_schema(renamed), names)
        except (ValueError, TypeError, RecursionError) as why:
            return cls(_as_object(schema), why_object=str(why) or "it is nested too deeply")

    def for_server(self, given: Arguments) -> dict[str, object]:
        """The arguments of a call as the server knows them."""
        if self.why_object:
            meant = given.get(OBJECT)
            return dict(meant) if isinstance(meant, dict) else {}
        return {self.names.get(name, name): value for name, value in given.items()}


def _require_size(schema: Mapping[str, object]) -> None:
    length = len(json.dumps(dict(schema)))
    if length > MAX_GIVEN_CHARACTERS:
        raise ValueError(f"its arguments take {length:,} characters of JSON, of {MAX_GIVEN_CHARACTERS:,}")


def _plain(part: object, spell_out: Callable[[str], str], *, is_named: bool = False) -> object:
    """The schema without patterns, with references that commands know, and descriptions without hidden characters."""
    if isinstance(part, list):
        return [_plain(each, spell_out) for each in part]
    if not isinstance(part, dict):
        return part
    kept: dict[str, object] = {}
    for key, value in part.items():
        if is_named or key in NAMED:
            kept["$defs" if key == "definitions" and not is_named else key] = _plain(
                value, spell_out, is_named=not is_named
            )
        elif key in ("description", "title") and isinstance(value, str):
            kept[key] = spell_out(value[:MAX_TEXT_CHARACTERS])
        elif key == "$ref" and isinstance(value, str):
            kept[key] = value.replace("#/definitions/", "#/$defs/")
        elif key not in UNCHECKED:
            kept[key] = _plain(value, spell_out)
    return kept


def _renamed(schema: object) -> tuple[dict[str, object], dict[str, str]]:
    """The schema with names that commands can have, and the server's name of each that is new.

    Raise ValueError if two names become one.
    """
    given = schema if isinstance(schema, dict) else {}
    properties = given.get("properties")
    if not isinstance(properties, dict) or all(map(ARGUMENT_NAME.fullmatch, properties)):
        return given, {}
    if any(len(name) > MAX_NAME_CHARACTERS for name in properties):
        raise ValueError(f"a name of its arguments has more than {MAX_NAME_CHARACTERS} characters")
    new = {name: name if ARGUMENT_NAME.fullmatch(name) else _argument_name(name) for name in properties}
    if len({*new.values()}) < len(new) or not all(new.values()):
        raise ValueError("its arguments have names that are not told apart by letters, digits and _")
    required = given.get("required")
    renamed = {
        **given,
        "properties": {new[name]: value for name, value in properties.items()},
        "required": [new.get(str(name), name) for name in required] if isinstance(required, list) else [],
    }
    return renamed, {own: name for name, own in new.items() if own != name}


def _argument_name(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:40]
    return f"_{plain}"[:40] if plain[:1].isdigit() else plain


def _as_object(schema: Mapping[str, object]) -> dict[str, object]:
    properties = schema.get("properties")
    names = [*properties][:MOST_NAMES] if isinstance(properties, dict) else []
    told = f"; names: {', '.join(json.dumps(name[:MAX_NAME_CHARACTERS]) for name in names)}" if names else ""
    about = {"type": "object", "description": f"all arguments of the tool as one JSON object{told}"}
    return own_schema(
        {"type": "object", "properties": {OBJECT: about}, "required": [OBJECT], "additionalProperties": False}
    )
