"""Extracts JSON objects from a model's text, past fences, prose and reasoning; strictly, else leniently."""

import json
import re
from dataclasses import dataclass, field, replace
from typing import cast

from agent_core.errors import UnusableReply
from agent_core.model.command import replace_lone_surrogates
from agent_core.replies.json_values import ZERO_WIDTH, InvalidNumber
from agent_core.replies.lenient_json import (
    MAX_DEPTH,
    NOT_JSON,
    LenientJsonReader,
    merge_members,
    parse_float,
    parse_integer,
)
from agent_core.replies.mentions import CONTEXT_CHARACTERS, is_mention

MAX_OBJECTS, MAX_REPEATS = 20, 200
BLANK = ZERO_WIDTH + " \t\r\n"
THINK_TAG_OR_BRACE = re.compile(r"<(think(?:ing)?)>|(</think(?:ing)?>)|[{\uff5b]", re.IGNORECASE)
THINK_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
OBJECT_START = re.compile(
    rf"""[{{\uff5b](?:[\s{ZERO_WIDTH}{{}}\uff5b\uff5d]{{0,40}}+(?:["'`“„‘«\uff02\\/#]|[A-Za-z_$][\w$-]{{0,80}}[\s{ZERO_WIDTH}]*+[:\uff1a]))"""
)
COMMAND_KEY = re.compile(r"\b(?:command|tool_calls?|function(?:_call)?|name|action)\W{0,3}\s*+[:\uff1a]", re.IGNORECASE)
# What may precede an escaped object: reasoning and a fence. Escaped JSON in prose is a quotation of a page's source.
PREAMBLE = re.compile(r"\A\s*(?:<(think(?:ing)?)>.*?</\1>\s*)?(?:```\w*\s*)?", re.IGNORECASE | re.DOTALL)
ZERO_WIDTH_CHARACTER = re.compile(f"[{ZERO_WIDTH}]")
ESCAPED_CHARACTERS = "\"'<>&"
ENTITY = re.compile(
    r"&(?:(quot|#34|#x22)|(apos|#0?39|#x27)|(lt|#60|#x3c)|(gt|#62|#x3e)|(amp|#38|#x26));", re.IGNORECASE
)
ESCAPED_OBJECT_START = re.compile(r"\{\s*&(?:quot|#34|#x22);", re.IGNORECASE)
BRACES = re.compile(r"[{\uff5b]|([}\uff5d])")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedObject:
    """A JSON object in a text.

    `is_strict`: it is valid JSON.
    `is_closed`: it has its last brace.
    `is_mention`: the prose around it says that it is an example or will not be run.
    """

    value: dict[str, object]
    is_strict: bool = True
    is_closed: bool = True
    is_mention: bool = field(default=False, compare=False)


def extract_objects(text: str) -> tuple[ExtractedObject, ...]:
    """All objects in the text, except those inside a model's reasoning.

    Raise UnusableReply if an object that may hold a command cannot be read, because what follows may be part of it.
    """
    if ESCAPED_OBJECT_START.match(PREAMBLE.sub("", text)):
        found = _objects_in(_unescape_html(text))
        if not all(one.is_strict for one in found):
            raise UnusableReply(f"{NOT_JSON}, and it was written with HTML escapes.")
        return found
    return _objects_in(_unwrap_string(text))


def _objects_in(text: str) -> tuple[ExtractedObject, ...]:
    in_reasoning, at, last, since, tries = False, 0, 0, 0, 0
    found: list[ExtractedObject] = []
    while mark := THINK_TAG_OR_BRACE.search(text, at):
        at = mark.end()
        if mark[1]:
            closed = None if in_reasoning else THINK_END.search(text, at)
            in_reasoning, at = not closed, closed.end() if closed else at
            since = at
        elif mark[2]:
            found, in_reasoning, since = [], False, at
        elif OBJECT_START.match(text, mark.start()):
            one, at = _object_at(text, mark.start())
            tries += one not in found
            if one:
                before = text[max(since, mark.start() - CONTEXT_CHARACTERS) : mark.start()]
                after = THINK_TAG_OR_BRACE.split(text[at : at + CONTEXT_CHARACTERS])[0]
                found.append(replace(one, is_mention=is_mention(before, after, _command_name(one.value))))
                last = since = at
            if tries > MAX_OBJECTS or len(found) > MAX_REPEATS:
                raise UnusableReply("it held too many JSON objects. Give one.")
    if in_reasoning and text[last:].strip("` \t\r\n"):
        return ()  # the reasoning never ended, so there is no answer
    return tuple(found)


def strict_object(text: str) -> dict[str, object] | None:
    """The object, if the whole text is one object in valid JSON, else None."""
    try:
        value, end = _read_strict(text, len(text) - len(text.lstrip(BLANK)))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not text[end:].strip(BLANK) else None


def _command_name(value: dict[str, object]) -> str:
    command = value.get("command")
    name = command.get("name") if isinstance(command, dict) else command
    return name if isinstance(name, str) else ""


def _object_at(text: str, start: int) -> tuple[ExtractedObject | None, int]:
    """The object that begins at `start`, or None, and the offset after it.

    Raise UnusableReply if the object cannot be read and may hold a command.
    """
    try:
        value, end = _read_strict(text, start)
        return ExtractedObject(value=cast("dict[str, object]", value)), end
    except (ValueError, RecursionError):
        pass
    reader = LenientJsonReader(text, start)
    try:
        value = reader.read()
    except UnusableReply as problem:
        return None, _skip_other_braces(text, start, problem)
    following = text[reader.at :].lstrip(BLANK)[:1]
    if reader.is_mended and following and following in "\"'}],:":
        raise UnusableReply(f"{NOT_JSON}: quotes inside a string are not escaped.")
    whole = cast("dict[str, object]", replace_lone_surrogates(value))
    return ExtractedObject(value=whole, is_strict=False, is_closed=reader.is_closed), reader.at


def _skip_other_braces(text: str, start: int, problem: UnusableReply) -> int:
    """The offset after braces that are not JSON; raise `problem` if they may hold a command."""
    depth = 0
    for brace in BRACES.finditer(text, start):
        depth += -1 if brace[1] else 1
        if depth == 0:
            if COMMAND_KEY.search(ZERO_WIDTH_CHARACTER.sub("", text[start : brace.end()])):
                break
            return brace.end()
    raise problem


def _read_strict(text: str, start: int) -> tuple[object, int]:
    value, end = DECODER.raw_decode(text, start)
    _require_shallow(value)
    return replace_lone_surrogates(value), end


def _require_shallow(value: object, depth: int = 0) -> None:
    if depth > MAX_DEPTH:
        raise UnusableReply("it was nested too deeply.")
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _require_shallow(inner, depth + 1)


def _unescape_html(text: str) -> str:
    """The text with its five HTML escapes resolved once; other entities are unchanged.

    Raise UnusableReply if a character occurs both escaped and unescaped: then the escape may be part of a value.
    """
    rest = ENTITY.sub("", text)
    if any(ESCAPED_CHARACTERS[(found.lastindex or 1) - 1] in rest for found in ENTITY.finditer(text)):
        raise UnusableReply(f"{NOT_JSON}: some of it was written with HTML escapes. Write plain JSON.")
    return ENTITY.sub(lambda found: ESCAPED_CHARACTERS[(found.lastindex or 1) - 1], text)


def _unwrap_string(text: str) -> str:
    """The content, if the whole text is one JSON string, with or without its quotes; else the text unchanged."""
    bare = text.strip(BLANK + "`")
    if bare.startswith('"'):
        quoted = bare
    elif re.match(r'(?:json\s*)?[{\[]\s*\\"', bare):
        quoted = f'"{bare.removeprefix("json")}"'
    else:
        return text
    try:
        content = json.loads(quoted, strict=False)
    except ValueError:
        return text
    return content if isinstance(content, str) else text


DECODER = json.JSONDecoder(
    strict=False,
    object_pairs_hook=merge_members,
    parse_float=parse_float,
    parse_int=parse_integer,
    parse_constant=InvalidNumber,
)
