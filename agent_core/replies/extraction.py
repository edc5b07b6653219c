"""Finds JSON objects and tool calls (also in eight markups) in a model's text; marks those that are only mentioned."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, cast

from agent_core.errors import UnusableReply
from agent_core.model.command import replace_lone_surrogates
from agent_core.model.model_calls import TURN_TOOL
from agent_core.replies.lenient_json import (
    MAX_DEPTH,
    NOT_JSON,
    ZERO_WIDTH,
    InvalidNumber,
    LenientJsonReader,
    merge_members,
    parse_float,
    parse_integer,
    strip_zero_width,
)
from agent_core.replies.mentions import CONTEXT_CHARACTERS, TAG, is_mention
from agent_core.text.reasoning_tags import CLOSE_TAG, OPEN_TAG, reasoning_end

ARGUMENT_KEYS = ("args", "arguments", "parameters", "params", "input", "action_input", "tool_input", "command_args")
# A name space before it (`functions.read_file`), a number or a mark after it (`read_file:0`, `read_file<|channel|>x`).
AROUND_NAME = re.compile(r"\A(?:functions|default_api)\.|(?::\d+|<\|.*)\Z")
TURN_NAME = re.compile(rf"(?:(?:functions?|tools?|default_api)[.:/])?{TURN_TOOL}")
NAME_KEYS = ("name", "function", "tool", "tool_name", "action")
ReadObject: TypeAlias = Callable[[str, int], tuple[object, int]]
MAX_ARGUMENTS = 100
NOT_WHOLE = "its tool call was not whole, or it was not clear where its arguments end. Give one JSON object."
NAME = r"[A-Za-z_][\w.:-]{0,99}"
OWN_TAG = r"/?(?:\w+:)?(?:function|parameter|invoke|function_calls|tool_call|arg_key|arg_value)\b"
KEY = r"(?P<key>[\w.-]{1,100})"
# Not possessive: Python before 3.11.5 loses a group around possessive quantifiers (CPython issue 106052).
VALUE = rf"(?P<value>[^<]*(?:<(?!{OWN_TAG})[^<]*)*)"
MAX_OBJECTS, MAX_REPEATS = 20, 200
MAX_CHARACTERS = 1_000_000  # the longest replies of today's models, 128,000 tokens, are half as long
MAX_VALUES = 5_000  # in one object
MAX_PROSE_CHARACTERS = 2_000
BLANK = ZERO_WIDTH + " \t\r\n"
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
DECODER = json.JSONDecoder(
    strict=False,
    object_pairs_hook=merge_members,
    parse_float=parse_float,
    parse_int=parse_integer,
    parse_constant=InvalidNumber,
)


def bare_name(name: str) -> str:
    """The name of a tool without what some services put around it."""
    return AROUND_NAME.sub("", strip_zero_width(name))


def is_turn_tool(name: object) -> bool:
    """Whether this is the name of `TURN_TOOL`, with or without a name space."""
    return isinstance(name, str) and TURN_NAME.fullmatch(bare_name(name)) is not None


def unwrap_turn(value: dict[str, object]) -> object:
    """The arguments of a call of `TURN_TOOL`, an object or JSON; the value itself if it is none."""
    match value:
        case {"tool_calls": [dict(one)]} | {"function": dict(one)} | {"function_call": dict(one)}:
            inner = unwrap_turn(cast("dict[str, object]", one))
            return value if inner is one else inner
        case _ if any(is_turn_tool(value.get(key)) for key in NAME_KEYS):
            given = [value[key] for key in ARGUMENT_KEYS if key in value]
            return unwrap_parameters(given[0]) if len(given) == 1 else value
        case _:
            return unwrap_parameters(value)


def unwrap_parameters(arguments: object) -> object:
    """What stands under "parameters" or the like, if it is a reply and nothing else is there."""
    if isinstance(arguments, Mapping) and len(arguments) == 1:
        (key,) = arguments
        inner = arguments[key]
        if key in ARGUMENT_KEYS and isinstance(inner, dict) and isinstance(inner.get("command"), dict):
            return inner
    return arguments


@dataclass(frozen=True, slots=True)
class Markup:
    """One markup: what stands before the arguments, with the name, and after them; and one argument with its tags.

    Without `argument`, the arguments are a JSON object; with it they may be one.
    """

    opens: str
    closes: str
    argument: str = ""


MARKUPS = (
    # Qwen3-Coder; with JSON, Llama.
    Markup(rf"<function=({NAME})>\s*", r"</function>", rf"<parameter={KEY}>{VALUE}</parameter>\s*"),
    # Claude's first tools, MiniMax
    Markup(
        rf'<(?:\w+:)?invoke name="({NAME})">\s*',
        r"</(?:\w+:)?invoke>",
        rf'<(?:\w+:)?parameter name="{KEY}"(?: [^<>]{{0,80}})?>{VALUE}</(?:\w+:)?parameter>\s*',
    ),
    # GLM
    Markup(
        rf"<tool_call>\s{{0,20}}({NAME})\s*(?=<arg_key>|</tool_call>)",
        r"</tool_call>",
        rf"<arg_key>{KEY}</arg_key>\s*<arg_value>{VALUE}</arg_value>\s*",
    ),
    # Kimi
    Markup(
        rf"<\|tool_call_begin\|>\s{{0,20}}({NAME})\s{{0,20}}<\|tool_call_argument_begin\|>\s*",
        r"\s*<\|tool_call_end\|>",
    ),
    # DeepSeek, older and newer
    Markup(
        rf"<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?({NAME})(?:<｜tool▁sep｜>)?\s*(?:```json\s*)?",
        r"(?:\s*```)?\s*<｜tool▁call▁end｜>",
    ),
    # gpt-oss; the service may keep <|call|> for itself
    Markup(
        rf"(?:<\|start\|>assistant)?(?:<\|channel\|>\w{{1,20}})?\s{{0,9}}\bto=({NAME})\s{{0,9}}(?:<\|channel\|>\w{{1,20}})?"
        r"\s{0,9}(?:<\|constrain\|>)?(?:json)?\s{0,9}<\|message\|>\s*",
        r"(?:\s*<\|call\|>)?",
    ),
    # Mistral; its older form is JSON
    Markup(rf"\[TOOL_CALLS\]\s{{0,9}}({NAME})(?:\[CALL_ID\]\w{{1,40}})?(?:\[ARGS\])?\s*(?={{)", ""),
    # ReAct
    Markup(
        rf"(?m:^)[ \t*]{{0,9}}Action:[ *]{{0,9}}({NAME})[ \t*]{{0,9}}\n\s{{0,9}}\**Action Input:[ *]{{0,9}}(?={{)",
        "",
    ),
)
PATTERNS = tuple((re.compile(form.opens), re.compile(form.closes), re.compile(form.argument)) for form in MARKUPS)
OPENING = "|".join(form.opens.replace(f"({NAME})", NAME) for form in MARKUPS)
# What may follow a call: tags of what is around it, and marks of the reply's end. Or another call.
END = re.compile(
    r"(?:\s|`|</?(?:\w+:)?(?:function_calls|tool_call)>|<\|tool_calls?_section_\w+\|>|<｜tool▁calls▁(?:begin|end)｜>"
    rf"|<\|(?:im_end|eot_id|eom_id|end|return|call)\|>|</s>|Observation:?)*(?:\Z|(?={OPENING}))"
)


@dataclass(frozen=True, slots=True)
class MarkedCall:
    """A call in markup. `end`: the offset after it. `is_last`: whether only ends of markup or another call follow."""

    value: dict[str, object]
    end: int
    is_last: bool


def read_call(text: str, start: int, read_object: ReadObject) -> MarkedCall:
    """The call that begins at `start`; raise UnusableReply unless it is whole. `read_object` reads strict JSON."""
    opened, closes, argument = next(
        (found, closes, argument) for opens, closes, argument in PATTERNS if (found := opens.match(text, start))
    )
    if text.startswith("{", opened.end()):
        arguments, at = _json_arguments(text, opened.end(), read_object)
    else:
        arguments, at = _tagged_arguments(text, opened.end(), argument)
    closed = closes.match(text, at)
    if closed is None:
        raise UnusableReply(NOT_WHOLE)
    value: dict[str, object] = {"name": bare_name(opened[1]), "arguments": arguments}
    return MarkedCall(value, closed.end(), END.match(text, closed.end()) is not None)


def _json_arguments(text: str, start: int, read_object: ReadObject) -> tuple[dict[str, object], int]:
    try:
        value, end = read_object(text, start)
    except (ValueError, RecursionError):
        raise UnusableReply(NOT_WHOLE) from None
    return cast("dict[str, object]", value), end


def _tagged_arguments(text: str, at: int, argument: re.Pattern[str]) -> tuple[dict[str, object], int]:
    arguments: dict[str, object] = {}
    if not argument.pattern:
        raise UnusableReply(NOT_WHOLE)
    while found := argument.match(text, at):
        if found["key"] in arguments or len(arguments) >= MAX_ARGUMENTS:
            raise UnusableReply(NOT_WHOLE)
        arguments[found["key"]] = found["value"].removeprefix("\n").removesuffix("\n")
        at = found.end()
    return arguments, at


MARK = re.compile(rf"(?i:({OPEN_TAG})|({CLOSE_TAG}))|({OPENING})|[{{\uff5b]")


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
