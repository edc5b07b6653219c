"""Extracts JSON objects from a model's text, past fences, prose and reasoning; strictly, else leniently."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import cast

from agent_core.errors import UnusableReply
from agent_core.model.command import replace_lone_surrogates
from agent_core.replies.call_markup import OPENING, read_call
from agent_core.replies.json_values import ZERO_WIDTH, InvalidNumber
from agent_core.replies.lenient_json import (
    MAX_DEPTH,
    NOT_JSON,
    LenientJsonReader,
    merge_members,
    parse_float,
    parse_integer,
)
from agent_core.replies.mentions import CONTEXT_CHARACTERS, TAG, is_mention
from agent_core.replies.turn_tool import unwrap_turn
from agent_core.text.reasoning_tags import CLOSE_TAG, OPEN_TAG, reasoning_end

MAX_OBJECTS, MAX_REPEATS = 20, 200
MAX_CHARACTERS = 1_000_000  # the longest replies of today's models, 128,000 tokens, are half as long
MAX_VALUES = 5_000  # in one object
MAX_PROSE_CHARACTERS = 2_000
BLANK = ZERO_WIDTH + " \t\r\n"
MARK = re.compile(rf"(?i:({OPEN_TAG})|({CLOSE_TAG}))|({OPENING})|[{{\uff5b]")
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
    `prose`: what the model wrote in front of it, if it is a tool call in markup that is not JSON.
    """

    value: dict[str, object]
    is_strict: bool = True
    is_closed: bool = True
    is_mention: bool = field(default=False, compare=False)
    prose: str = field(default="", compare=False)


def extract_objects(text: str) -> tuple[ExtractedObject, ...]:
    """All objects in the text, except those inside a model's reasoning.

    Raise UnusableReply if an object that may hold a command cannot be read, because what follows may be part of it.
    """
    require_short(text)
    if ESCAPED_OBJECT_START.match(PREAMBLE.sub("", text)):
        found = _objects_in(_unescape_html(text))
        if not all(one.is_strict for one in found):
            raise UnusableReply(f"{NOT_JSON}, and it was written with HTML escapes.")
        return found
    return _objects_in(_unwrap_string(text))


def require_short(text: str) -> None:
    """Raise UnusableReply if the text is longer than can be read at once."""
    if len(text) > MAX_CHARACTERS:
        raise UnusableReply(f"it was longer than {MAX_CHARACTERS:,} characters. Write less at once.")


def _objects_in(text: str) -> tuple[ExtractedObject, ...]:
    in_reasoning, at, last, since, tries = False, 0, 0, 0, 0
    found: list[ExtractedObject] = []
    endless: set[str] = set()  # tags of reasoning that are not closed from here on
    while mark := MARK.search(text, at):
        at = mark.end()
        if mark[1]:
            tag = mark[1].casefold()
            closed = None if in_reasoning or tag in endless else reasoning_end(text, tag, at)
            endless |= set() if closed or in_reasoning else {tag}
            in_reasoning, at = not closed, closed or at
            since = at
        elif mark[2]:
            found, in_reasoning, since = [], False, at
        elif mark[3] or OBJECT_START.match(text, mark.start()):
            one, at = _call_at(text, mark.start(), since) if mark[3] else _object_at(text, mark.start())
            tries += one not in found
            if one:
                before = text[max(since, mark.start() - CONTEXT_CHARACTERS) : mark.start()]
                found.append(_in_context(one, before, text[at : at + CONTEXT_CHARACTERS]))
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


def _in_context(one: ExtractedObject, before: str, after: str) -> ExtractedObject:
    """The object between this prose. A reply is taken out of the tool call whose arguments it is."""
    unwrapped = unwrap_turn(one.value)
    value = strict_object(unwrapped) if isinstance(unwrapped, str) else unwrapped
    whole = replace(one, value=value) if isinstance(value, dict) else one
    following = MARK.search(after)
    prose = after[: following.start()] if following else after
    mentioned = is_mention(before, prose, _command_name(whole.value))
    return replace(whole, is_mention=one.is_mention or mentioned)


def _call_at(text: str, start: int, since: int) -> tuple[ExtractedObject | None, int]:
    """The tool call in markup that begins at `start`, and the offset after it. One that prose follows is a mention."""
    call = read_call(text, start, _read_strict)
    prose = TAG.sub(" ", text[max(since, start - MAX_PROSE_CHARACTERS) : start]).strip()
    return ExtractedObject(value=call.value, is_mention=not call.is_last, prose=prose), call.end


def _command_name(value: dict[str, object]) -> str:
    command = value.get("command", value)
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
    _require_small(value)
    return replace_lone_surrogates(value), end


def _require_small(value: object) -> None:
    """Raise UnusableReply if the value is nested too deeply, or holds too many values."""
    count, level = 0, [value]
    for _ in range(MAX_DEPTH + 1):
        count += len(level)
        if count > MAX_VALUES:
            raise UnusableReply(f"it held more than {MAX_VALUES:,} values. Write a long text as one value.")
        level = [inner for outer in level for inner in _inner(outer)]
    if level:
        raise UnusableReply("it was nested too deeply.")


def _inner(value: object) -> Iterable[object]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


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
