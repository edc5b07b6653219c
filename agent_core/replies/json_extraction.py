"""The JSON objects in a model's text: past fences, prose and musings, read strictly or, failing that, loosely."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import cast

from agent_core.errors import UnusableReply
from agent_core.model.command import in_whole_characters
from agent_core.replies.html_escapes import BEGINS as BEGINS_ESCAPED
from agent_core.replies.html_escapes import unescaped_html
from agent_core.replies.json_values import ZERO_WIDTH, NoNumber
from agent_core.replies.lenient_json import DEEPEST, NOT_JSON, LenientJsonReader, finite, joined, whole_number
from agent_core.replies.mentions import NEAR, is_mention

MOST_OBJECTS, MOST_REPEATS = 20, 200
BLANK = ZERO_WIDTH + " \t\r\n"
MARK = re.compile(r"<(think(?:ing)?)>|(</think(?:ing)?>)|[{\uff5b]", re.IGNORECASE)
MUSED = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
BEGINS = re.compile(
    rf"""[{{\uff5b](?:[\s{ZERO_WIDTH}{{}}\uff5b\uff5d]{{0,40}}+(?:["'`“„‘«\uff02\\/#]|[A-Za-z_$][\w$-]{{0,80}}[\s{ZERO_WIDTH}]*+[:\uff1a]))"""
)
CALLS = re.compile(r"\b(?:command|tool_calls?|function(?:_call)?|name|action)\W{0,3}\s*+[:\uff1a]", re.IGNORECASE)
HIDDEN = re.compile(f"[{ZERO_WIDTH}]")
BRACES = re.compile(r"[{\uff5b]|([}\uff5d])")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedObject:
    """An object in a text. `is_strict` says that it was JSON as it stood, `is_closed` that its last brace was there.

    `is_mention`: the prose around it quotes it and does not give it as the answer.
    """

    value: dict[str, object]
    is_strict: bool = True
    is_closed: bool = True
    is_mention: bool = field(default=False, compare=False)


def extract_objects(text: str) -> tuple[ExtractedObject, ...]:
    """All objects that the text says, without what a reasoning model only thought of.

    Raise UnusableReply when one that may hold a command cannot be read: what follows it may be a part of it.
    """
    first = BEGINS.search(text)
    if (escaped := BEGINS_ESCAPED.search(text)) and not (first and first.start() < escaped.start()):
        found = _objects_said(unescaped_html(text))
        if not all(one.is_strict for one in found):
            raise UnusableReply(f"{NOT_JSON}, and it was written with HTML escapes.")
        return found
    return _objects_said(_unwrapped(text))


def _objects_said(said: str) -> tuple[ExtractedObject, ...]:
    in_musing, at, last, since, tries = False, 0, 0, 0, 0
    found: list[ExtractedObject] = []
    while mark := MARK.search(said, at):
        at = mark.end()
        if mark[1]:
            closed = None if in_musing else MUSED.search(said, at)
            in_musing, at = not closed, closed.end() if closed else at
            since = at
        elif mark[2]:
            found, in_musing, since = [], False, at
        elif BEGINS.match(said, mark.start()):
            one, at = _object_at(said, mark.start())
            tries += one not in found
            if one:
                found.append(
                    _with_prose(one, said[max(since, mark.start() - NEAR) : mark.start()], said[at : at + NEAR])
                )
                last = since = at
            if tries > MOST_OBJECTS or len(found) > MOST_REPEATS:
                raise UnusableReply("it held too many JSON objects. Give one.")
    if in_musing and said[last:].strip("` \t\r\n"):
        return ()  # it never stopped musing, so nothing in it was said
    return tuple(found)


def strict_object(text: str) -> dict[str, object] | None:
    """The object that the whole text is as JSON, or None."""
    try:
        value, end = _strict(text, len(text) - len(text.lstrip(BLANK)))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not text[end:].strip(BLANK) else None


def _with_prose(one: ExtractedObject, before: str, after: str) -> ExtractedObject:
    return replace(one, is_mention=is_mention(before, MARK.split(after)[0]))


def _object_at(text: str, start: int) -> tuple[ExtractedObject | None, int]:
    """The object that begins there, if it is one, and where to go on; raise UnusableReply when it may be the one."""
    try:
        value, end = _strict(text, start)
        return ExtractedObject(value=cast("dict[str, object]", value)), end
    except (ValueError, RecursionError):
        pass
    reader = LenientJsonReader(text, start)
    try:
        value = reader.read()
    except UnusableReply as problem:
        return None, _past_other_text(text, start, problem)
    following = text[reader.at :].lstrip(BLANK)[:1]
    if reader.is_mended and following and following in "\"'}],:":
        raise UnusableReply(f"{NOT_JSON}: quotes inside a string are not escaped.")
    whole = cast("dict[str, object]", in_whole_characters(value))
    return ExtractedObject(value=whole, is_strict=False, is_closed=reader.is_closed), reader.at


def _past_other_text(text: str, start: int, problem: UnusableReply) -> int:
    """Where braces that are no JSON end; raise the problem with them when they may have been meant as a command."""
    depth = 0
    for brace in BRACES.finditer(text, start):
        depth += -1 if brace[1] else 1
        if depth == 0:
            if CALLS.search(HIDDEN.sub("", text[start : brace.end()])):
                break
            return brace.end()
    raise problem


def _strict(text: str, start: int) -> tuple[object, int]:
    value, end = DECODER.raw_decode(text, start)
    _require_shallow(value)
    return in_whole_characters(value), end


def _require_shallow(value: object) -> None:
    level: list[object] = [value]
    for _ in range(DEEPEST + 1):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise UnusableReply("it was nested too deeply.")


def _inside(value: object) -> Iterator[object]:
    match value:
        case dict():
            yield from value.values()
        case list():
            yield from value
        case _:
            pass


def _unwrapped(text: str) -> str:
    """What the text says where all of it is one JSON string, with its quotes or without."""
    bare = text.strip(BLANK + "`")
    if bare.startswith('"'):
        quoted = bare
    elif re.match(r'(?:json\s*)?[{\[]\s*\\"', bare):
        quoted = f'"{bare.removeprefix("json")}"'
    else:
        return text
    try:
        said = json.loads(quoted, strict=False)
    except ValueError:
        return text
    return said if isinstance(said, str) else text


DECODER = json.JSONDecoder(
    strict=False, object_pairs_hook=joined, parse_float=finite, parse_int=whole_number, parse_constant=NoNumber
)
