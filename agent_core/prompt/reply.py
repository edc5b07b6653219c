"""From a model's text to thoughts and a command call, or to a sentence that tells it what was wrong.

A repair may close a bracket too many but never complete a command: a reply that was cut off is not used.
"""

import json
from collections.abc import Mapping, Sequence
from typing import cast

import json_repair

from agent_core.errors import UnusableReply
from agent_core.model.command import CommandCall, CommandSpec, Thoughts, in_whole_characters
from agent_core.model.messages import Reply

THOUGHTS = ("text", "reasoning", "plan", "criticism", "speak")
WIDEST = 1000  # llama.cpp of 2025 and 2026 refuses a schema for one bound of 2000 (its issues 17473, 25746, 27087)
BOUNDS = ("maxLength", "minLength", "maxItems", "minItems")
CUT_OFF = "it was cut off before its end. Answer more briefly."


def reply_schema(commands: Sequence[CommandSpec]) -> Mapping[str, object]:
    """The JSON Schema of a reply: five thoughts, and one of the commands with its own arguments.

    Bounds that some servers cannot take are left out; a call is checked against all of them when it is read.
    """
    choices = [
        {
            "type": "object",
            "properties": {"name": {"const": command.name}, "args": _narrow(command.parameters)},
            "required": ["name", "args"],
            "additionalProperties": False,
        }
        for command in commands
    ]
    thoughts = {
        "type": "object",
        "properties": {part: {"type": "string", "maxLength": WIDEST} for part in THOUGHTS},
        "required": list(THOUGHTS),
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"thoughts": thoughts, "command": {"anyOf": choices}},
        "required": ["thoughts", "command"],
        "additionalProperties": False,
    }


def parse(reply: Reply) -> tuple[Thoughts, CommandCall]:
    """Read a reply; raise UnusableReply with a sentence for the model."""
    if reply.finish_reason == "length":
        raise UnusableReply(CUT_OFF)
    answer = json_object(reply.text)
    return _thoughts(answer.get("thoughts")), _call(answer.get("command"))


def json_object(text: str) -> Mapping[str, object]:
    """The first JSON object in a text, mended where nothing is to be guessed; raise UnusableReply for none."""
    text = _without_musing(text)
    start = text.find("{")
    if start < 0:
        raise UnusableReply("it held no JSON object.")
    try:
        answer, _ = json.JSONDecoder(strict=False).raw_decode(text, start)
    except ValueError:
        answer = _repaired(text[start:])
    if not isinstance(answer, dict):
        raise UnusableReply("it was not a JSON object.")
    return cast("Mapping[str, object]", in_whole_characters(answer))


def _narrow(schema: object) -> object:
    """The schema without its wide bounds."""
    match schema:
        case dict():
            return {name: _narrow(value) for name, value in schema.items() if not _is_wide(name, value)}
        case list() | tuple():
            return [_narrow(item) for item in schema]
        case _:
            return schema


def _is_wide(name: str, value: object) -> bool:
    return name in BOUNDS and isinstance(value, int) and value > WIDEST


def _without_musing(text: str) -> str:
    """The text after a reasoning model's inline `<think>…</think>`."""
    return text.rpartition("</think>")[2] if text.lstrip().startswith("<think>") else text


def _repaired(text: str) -> object:
    end = _end_of_object(text)
    if not end:
        raise UnusableReply(CUT_OFF)
    return cast("object", json_repair.loads(text[:end]))


def _end_of_object(text: str) -> int:
    """Where the object that opens the text is closed again, or 0 when a bracket or string stays open."""
    depth, in_string, escaped = 0, False, False
    for at, letter in enumerate(text, 1):
        if in_string:
            in_string = escaped or letter != '"'
            escaped = not escaped and letter == "\\"
        elif letter == '"':
            in_string = True
        elif letter in "{[":
            depth += 1
        elif letter in "}]":
            depth -= 1
            if depth == 0:
                return at
    return 0


def _thoughts(given: object) -> Thoughts:
    if isinstance(given, str):
        return Thoughts(text=given)
    if not isinstance(given, dict):
        return Thoughts()
    return Thoughts(**{part: _as_text(given.get(part)) for part in THOUGHTS})


def _as_text(part: object) -> str:
    match part:
        case None:
            return ""
        case str():
            return part.strip()
        case list():
            return "\n".join(f"- {_as_text(item)}" for item in part)
        case _:
            return json.dumps(part, ensure_ascii=False)


def _call(given: object) -> CommandCall:
    match given:
        case None:
            raise UnusableReply('it held no "command" object.')
        case {"name": str(name), "args": dict(arguments)} if name.strip():
            return CommandCall(name.strip(), arguments)
        case {"name": str(name)} if name.strip() and "args" not in cast("dict[str, object]", given):
            return CommandCall(name.strip(), {})
        case {"name": str(name)} if name.strip():
            raise UnusableReply('"args" of the command was not an object.')
        case dict():
            raise UnusableReply('the command had no "name".')
        case _:
            raise UnusableReply('"command" was not an object.')
