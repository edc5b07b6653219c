"""Reads tool calls in the markup that models were trained on, which some write as text although JSON was asked for.

A call is read whole or not at all. Values are taken as they are: a value that has tags of the same markup in it has no
clear end.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, cast

from agent_core.errors import UnusableReply
from agent_core.replies.turn_tool import bare_name

ReadObject: TypeAlias = Callable[[str, int], tuple[object, int]]

MAX_ARGUMENTS = 100
NOT_WHOLE = "its tool call was not whole, or it was not clear where its arguments end. Give one JSON object."
NAME = r"[A-Za-z_][\w.:-]{0,99}"
OWN_TAG = r"/?(?:\w+:)?(?:function|parameter|invoke|function_calls|tool_call|arg_key|arg_value)\b"
KEY = r"(?P<key>[\w.-]{1,100})"
# Not possessive: Python before 3.11.5 loses a group around possessive quantifiers (CPython issue 106052).
VALUE = rf"(?P<value>[^<]*(?:<(?!{OWN_TAG})[^<]*)*)"


@dataclass(frozen=True, slots=True)
class Markup:
    """One markup: what stands before the arguments, with the name, and after them; and one argument with its tags.

    Without `argument`, the arguments are a JSON object; with it they may be one.
    """

    opens: str
    closes: str
    argument: str = ""


FORMS = (
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
PATTERNS = tuple((re.compile(form.opens), re.compile(form.closes), re.compile(form.argument)) for form in FORMS)
OPENING = "|".join(form.opens.replace(f"({NAME})", NAME) for form in FORMS)
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
