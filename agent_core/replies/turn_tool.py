"""The tool whose arguments are a reply, for endpoints without JSON Schema, in every shape that models use."""

import re
from collections.abc import Mapping
from typing import cast

from agent_core.model.model_calls import TURN_TOOL
from agent_core.replies.json_values import strip_zero_width

ARGUMENT_KEYS = ("args", "arguments", "parameters", "params", "input", "action_input", "tool_input", "command_args")
# A name space before it (`functions.read_file`), a number or a mark after it (`read_file:0`, `read_file<|channel|>x`).
AROUND_NAME = re.compile(r"\A(?:functions|default_api)\.|(?::\d+|<\|.*)\Z")
TURN_NAME = re.compile(rf"(?:(?:functions?|tools?|default_api)[.:/])?{TURN_TOOL}")
NAME_KEYS = ("name", "function", "tool", "tool_name", "action")


def bare_name(name: str) -> str:
    """The name of a tool without what some services put around it."""
    return AROUND_NAME.sub("", strip_zero_width(name))


def is_turn_tool(name: object) -> bool:
    """Whether this is the name of that tool, with or without a name space."""
    return isinstance(name, str) and TURN_NAME.fullmatch(bare_name(name)) is not None


def unwrap_turn(value: dict[str, object]) -> object:
    """The arguments of a call of that tool, an object or JSON; the value itself if it is none."""
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
