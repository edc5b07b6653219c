"""The tool whose arguments are a reply, for endpoints without JSON Schema, in every shape that models use."""

import re
from collections.abc import Mapping
from typing import cast

from agent_core.model.messages import TURN_TOOL
from agent_core.replies.json_values import strip_zero_width

ARGUMENT_KEYS = ("args", "arguments", "parameters", "params", "input", "action_input", "tool_input", "command_args")
# "functions.next_turn:0": a name space before it, a number after it.
AROUND_NAME = re.compile(r"\A(?:functions|default_api)\.|:\d+\Z")


def bare_name(name: str) -> str:
    """The name of a tool without what some services put around it."""
    return AROUND_NAME.sub("", strip_zero_width(name))


def is_turn_tool(name: str) -> bool:
    return bare_name(name) == TURN_TOOL


def unwrap_turn(value: dict[str, object]) -> object:
    """The arguments of a call of that tool, an object or JSON; the value itself if it is none."""
    match value:
        case {"tool_calls": [dict(one)]} | {"function": dict(one)} | {"function_call": dict(one)}:
            inner = unwrap_turn(cast("dict[str, object]", one))
            return value if inner is one else inner
        case {"name": str(name)} if is_turn_tool(name):
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
