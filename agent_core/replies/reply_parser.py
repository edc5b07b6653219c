"""Parses a model's reply into thoughts and a command call, or raises a sentence for the model.

Misspelt JSON may be mended, but a reply that was cut off is never completed.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import islice

from agent_core.errors import UnusableReply
from agent_core.model.command import CommandCall, Thoughts
from agent_core.model.model_calls import Reply
from agent_core.replies.command_from_json import extract_call, holds_whole_command, require_equal_calls
from agent_core.replies.json_extraction import ExtractedObject, extract_objects
from agent_core.replies.json_values import InvalidNumber, leaves, require_numbers, strip_zero_width
from agent_core.replies.lenient_json import CUT_OFF, NOT_JSON
from agent_core.replies.reply_schema import THOUGHTS
from agent_core.replies.tool_calls import parse_tool_call
from agent_core.replies.verbatim_check import is_verbatim

__all__ = ["CUT_OFF", "json_object", "parse", "require_whole"]

ONLY_MENTIONED = "its command was only quoted in a sentence. Give the JSON object of the next command and no prose."
NO_ROOM = "your reasoning took all of {tokens:,} tokens, and no room was left for the reply. Reason less."
MAX_UNCLEAR_VALUES = 500  # in a command in misspelt JSON: each is looked for in the whole text
CUT_OFF_REASONS = ("length", "content_filter")


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
    if call and not found.is_strict and not (is_short(call) and is_verbatim(call, text)):
        raise UnusableReply(f"{NOT_JSON}, and it is not clear where its strings begin and end.")
    return call


def is_short(call: CommandCall) -> bool:
    """Whether the arguments of a call hold few enough values to look each of them up in the reply."""
    return sum(1 for _ in islice(leaves(dict(call.arguments)), MAX_UNCLEAR_VALUES + 1)) <= MAX_UNCLEAR_VALUES


def _thoughts_in(objects: Sequence[ExtractedObject]) -> Thoughts:
    """The thoughts of the first object that has any, under "thoughts" or beside the command."""
    for found in objects:
        given = {strip_zero_width(name).casefold(): value for name, value in found.value.items()}
        thoughts = given.get("thoughts") or given.get("thought")
        if thoughts or any(part in given for part in THOUGHTS):
            return _thoughts(thoughts or given)
    return Thoughts(text=next((found.prose for found in objects if found.prose), ""))


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
