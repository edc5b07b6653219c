"""Parses a model's reply into thoughts and a command call, or raises a sentence for the model.

Misspelt JSON may be mended, but a reply that was cut off is never completed.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache

from agent_core.errors import UnusableReply
from agent_core.model.command import CommandCall, CommandSpec, Thoughts
from agent_core.model.messages import Reply
from agent_core.replies.command_from_json import extract_call, holds_whole_command, require_equal_calls
from agent_core.replies.json_extraction import ExtractedObject, extract_objects
from agent_core.replies.json_values import InvalidNumber, require_numbers, strip_zero_width
from agent_core.replies.lenient_json import CUT_OFF, NOT_JSON
from agent_core.replies.tool_calls import parse_tool_call
from agent_core.replies.verbatim_check import is_verbatim

__all__ = ["CUT_OFF", "json_object", "parse", "reply_schema", "require_whole"]

THOUGHTS = ("text", "reasoning", "plan", "criticism", "speak")
# llama.cpp (2025, 2026) rejects a schema with a bound of 2000 (its issues 17473, 25746, 27087).
MAX_SCHEMA_BOUND = 1000
MAX_CHOICES = 1_000  # commands whose schema is kept
ONLY_MENTIONED = "its command was only quoted in a sentence. Give the JSON object of the next command and no prose."
BOUNDS = ("maxLength", "minLength", "maxItems", "minItems")
NO_ROOM = "your reasoning took all of {tokens:,} tokens, and no room was left for the reply. Reason less."
CUT_OFF_REASONS = ("length", "content_filter")


def reply_schema(commands: Sequence[CommandSpec]) -> Mapping[str, object]:
    """The JSON Schema of a reply: five thoughts, and one of the commands with its own arguments.

    Some servers reject bounds above MAX_SCHEMA_BOUND, so such bounds are left out here; the call is checked against
    them later.
    """
    thoughts = {
        "type": "object",
        "properties": {part: {"type": "string", "maxLength": MAX_SCHEMA_BOUND} for part in THOUGHTS},
        "required": list(THOUGHTS),
        "additionalProperties": False,
    }
    choices = [_choice(command.name, command.parameters_text) for command in commands]
    return {
        "type": "object",
        "properties": {"thoughts": thoughts, "command": {"anyOf": choices}},
        "required": ["thoughts", "command"],
        "additionalProperties": False,
    }


@lru_cache(MAX_CHOICES)
def _choice(command: str, parameters: str) -> Mapping[str, object]:
    """Kept by the parameters' JSON, which tells 1 from true: to Python they are equal."""
    return {
        "type": "object",
        "properties": {"name": {"const": command}, "args": _without_wide_bounds(json.loads(parameters))},
        "required": ["name", "args"],
        "additionalProperties": False,
    }


def parse(reply: Reply) -> tuple[Thoughts, CommandCall]:
    """Parse a reply; raise UnusableReply with a sentence for the model.

    A reply is cut off if the endpoint says so, or if its text ends inside a string, inside the command or after a
    comma. If only the last brace is missing and the command is whole, the reply is accepted.
    """
    require_whole(reply)
    if reply.tool_calls:
        thoughts, tool_call = parse_tool_call(reply)
        beside = [other for found in extract_objects(reply.text) if (other := _call_of(found, reply.text))]
        return thoughts, require_equal_calls([tool_call, *beside])
    objects = extract_objects(reply.text)
    if not objects:
        raise UnusableReply("it held no JSON object.")
    calls = [call for found in objects if (call := _call_of(found, reply.text))]
    return _thoughts_in(objects), require_equal_calls(calls)


def require_whole(reply: Reply) -> None:
    """Raise UnusableReply if the endpoint says that the reply was cut off, or if reasoning left no room for it."""
    if reply.is_cut_by_reasoning:
        raise UnusableReply(NO_ROOM.format(tokens=reply.usage.completion), "The model's reasoning took all the room.")
    if reply.finish_reason in CUT_OFF_REASONS:
        raise UnusableReply(CUT_OFF)


def json_object(text: str) -> Mapping[str, object]:
    """The first JSON object in a text; raise UnusableReply if there is none or it is incomplete."""
    objects = extract_objects(text)
    if not objects:
        raise UnusableReply("it held no JSON object.")
    if not objects[0].is_closed:
        raise UnusableReply(CUT_OFF)
    require_numbers(objects[0].value)
    return objects[0].value


def _call_of(found: ExtractedObject, text: str) -> CommandCall | None:
    call = extract_call(found.value)
    if call and found.is_mention:
        raise UnusableReply(ONLY_MENTIONED)
    if call and not found.is_closed and not holds_whole_command(found.value):
        raise UnusableReply(CUT_OFF)
    if call and not found.is_strict and not is_verbatim(call, text):
        raise UnusableReply(f"{NOT_JSON}, and it is not clear where its strings begin and end.")
    return call


def _thoughts_in(objects: Sequence[ExtractedObject]) -> Thoughts:
    """The thoughts of the first object that has any, under "thoughts" or beside the command."""
    for found in objects:
        given = {strip_zero_width(name).casefold(): value for name, value in found.value.items()}
        thoughts = given.get("thoughts") or given.get("thought")
        if thoughts or any(part in given for part in THOUGHTS):
            return _thoughts(thoughts or given)
    return Thoughts()


def _thoughts(given: object) -> Thoughts:
    if not isinstance(given, dict):
        return Thoughts(text=_as_text(given))
    parts = {strip_zero_width(str(name)).casefold(): value for name, value in given.items()}
    if "thoughts" in parts and not any(part in parts for part in THOUGHTS):
        return _thoughts(parts["thoughts"])
    return Thoughts(**{part: _as_text(parts.get(part)) for part in THOUGHTS})


def _as_text(part: object) -> str:
    match part:
        case None:
            return ""
        case str():
            return part.strip()
        case InvalidNumber(word):
            return word
        case list():
            return "\n".join(f"- {_as_text(item)}" for item in part)
        case _:
            return json.dumps(part, ensure_ascii=False, default=str)


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
