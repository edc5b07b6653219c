"""The JSON Schema of a reply, made once for the same commands: all turns of all agents ask with few of them."""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache

from agent_core.model.command import CommandSpec

THOUGHTS = ("text", "reasoning", "plan", "criticism", "speak")
# llama.cpp (2025, 2026) rejects a schema with a bound of 2000 (its issues 17473, 25746, 27087).
MAX_SCHEMA_BOUND = 1000
MAX_CHOICES = 1_000  # commands whose schema is kept
MAX_SCHEMAS = 30  # lists of commands whose schema is kept
BOUNDS = ("maxLength", "minLength", "maxItems", "minItems")


class ReplySchema(dict[str, object]):
    """A JSON Schema, not to be changed."""

    @cached_property
    def text(self) -> str:
        """The schema as JSON."""
        return json.dumps(self)


def reply_schema(commands: Sequence[CommandSpec]) -> ReplySchema:
    """The JSON Schema of a reply: five thoughts, and one of the commands with its own arguments.

    Some servers reject bounds above MAX_SCHEMA_BOUND, so such bounds are left out here; the call is checked against
    them later.
    """
    return _schema(tuple((command.name, command.parameters_text) for command in commands))


@lru_cache(MAX_SCHEMAS)
def _schema(commands: tuple[tuple[str, str], ...]) -> ReplySchema:
    """Kept by the parameters' JSON, which tells 1 from true: to Python they are equal."""
    thoughts = {
        "type": "object",
        "properties": {part: {"type": "string", "maxLength": MAX_SCHEMA_BOUND} for part in THOUGHTS},
        "required": list(THOUGHTS),
        "additionalProperties": False,
    }
    return ReplySchema(
        {
            "type": "object",
            "properties": {
                "thoughts": thoughts,
                "command": {"anyOf": [_choice(name, parameters) for name, parameters in commands]},
            },
            "required": ["thoughts", "command"],
            "additionalProperties": False,
        }
    )


@lru_cache(MAX_CHOICES)
def _choice(command: str, parameters: str) -> Mapping[str, object]:
    return {
        "type": "object",
        "properties": {"name": {"const": command}, "args": _without_wide_bounds(json.loads(parameters))},
        "required": ["name", "args"],
        "additionalProperties": False,
    }


def _without_wide_bounds(schema: object) -> object:
    match schema:
        case dict():
            return {name: _without_wide_bounds(value) for name, value in schema.items() if not _is_wide(name, value)}
        case list() | tuple():
            return [_without_wide_bounds(item) for item in schema]
        case _:
            return schema


def _is_wide(name: str, value: object) -> bool:
    return name in BOUNDS and isinstance(value, int) and value > MAX_SCHEMA_BOUND
