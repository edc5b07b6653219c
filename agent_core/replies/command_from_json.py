"""Finds the command in a reply's JSON object, in any shape that models use. Does not check the command's schema."""

import re
from collections.abc import Mapping, Sequence
from typing import cast

from agent_core.errors import UnusableReply
from agent_core.model.command import CommandCall
from agent_core.replies.json_extraction import strict_object
from agent_core.replies.json_values import require_numbers, strip_zero_width
from agent_core.replies.lenient_json import merge_members
from agent_core.replies.mentions import refuses
from agent_core.replies.turn_tool import ARGUMENT_KEYS, bare_name

COMMAND_KEYS = ("command", "tool_call", "tool_calls", "function_call", "action", "function", "tool")
NAME_KEYS = ("name", "command_name", "tool_name", "function", "command", "action", "tool")
IGNORED_KEYS = ("type", "id", "index")
COMMAND_NAME = re.compile(r"[A-Za-z_][\w.-]{0,79}")
NO_COMMAND = 'it held no "command" object.'
TWO_COMMANDS = "it held two different commands. Give one."


def holds_whole_command(answer: Mapping[str, object]) -> bool:
    """Whether the answer has a complete command. If so, an answer that lacks only its own last brace can be used."""
    return isinstance(_first_value(_with_lower_keys(answer), COMMAND_KEYS), dict)


def extract_call(answer: Mapping[str, object]) -> CommandCall | None:
    """The call in an object, or None; raise UnusableReply if it is malformed."""
    given = _with_lower_keys(answer)
    command = _first_value(given, COMMAND_KEYS)
    if isinstance(command, str) and not command.lstrip().startswith("{"):
        return _named(command, given)
    if command is not None:
        return _call(command)
    if "name" in given and any(name in given for name in ARGUMENT_KEYS):
        return _call(given)
    if set(given) & set(COMMAND_KEYS):
        raise UnusableReply(NO_COMMAND)
    return _call_in_thoughts(given)


def _call_in_thoughts(given: Mapping[str, object]) -> CommandCall | None:
    """The command inside `thoughts`, if a misplaced brace put it there; else None.

    Also None if one of the thoughts says that the command will not be run.
    """
    match given:
        case {"thoughts": {"command": {"name": str(), "args": dict()} as command, **thoughts}}:
            is_refused = any(isinstance(thought, str) and refuses(thought) for thought in thoughts.values())
            return _call(command) if (len(given), len(command)) == (1, 2) and not is_refused else None
        case _:
            return None


def _build_call(name: str, arguments: Mapping[str, object]) -> CommandCall:
    """The call; raise UnusableReply if its arguments contain NaN or Infinity."""
    require_numbers(dict(arguments))
    return CommandCall(bare_name(name), arguments)


def _named(name: str, given: Mapping[str, object]) -> CommandCall:
    if not COMMAND_NAME.fullmatch(strip_zero_width(name)):
        raise UnusableReply('"command" was not an object.')
    return _build_call(name, _arguments(_only_value(given, ARGUMENT_KEYS)))


def _call(command: object) -> CommandCall:
    match command:
        case str():
            inner = strict_object(command)
            if inner is None:
                raise UnusableReply('"command" was not an object.')
            return _call(inner)
        case [*several]:
            return require_equal_calls([_call(each) for each in several])
        case dict():
            return _of_object(_with_lower_keys(cast("dict[str, object]", command)))
        case _:
            raise UnusableReply('"command" was not an object.')


def require_equal_calls(calls: Sequence[CommandCall]) -> CommandCall:
    """The call, if all of these calls are equal; raise UnusableReply if two differ or there is none."""
    if len({call.canonical for call in calls}) != 1:
        raise UnusableReply(TWO_COMMANDS if calls else NO_COMMAND)
    return calls[0]


def _of_object(given: Mapping[str, object]) -> CommandCall:
    if isinstance(wrapped := given.get("function"), dict):
        return _call(wrapped)
    name = next((given[key] for key in NAME_KEYS if isinstance(given.get(key), str)), "")
    if isinstance(name, str) and strip_zero_width(name):
        if any(key in given for key in ARGUMENT_KEYS):
            return _build_call(name, _arguments(_only_value(given, ARGUMENT_KEYS)))
        return _build_call(name, {key: given[key] for key in given if key not in (*NAME_KEYS, *IGNORED_KEYS)})
    match list(given.items()):
        case [(key, dict(arguments))] if key not in (*NAME_KEYS, *ARGUMENT_KEYS):
            return _build_call(key, arguments)
        case _:
            raise UnusableReply('the command had no "name".')


def _arguments(given: object) -> Mapping[str, object]:
    match given:
        case dict():
            return cast("Mapping[str, object]", given)
        case None | "" | []:
            return {}
        case str() if (arguments := strict_object(given)) is not None:
            return arguments
        case _:
            raise UnusableReply('"args" of the command was not an object.')


def _with_lower_keys(given: Mapping[str, object]) -> dict[str, object]:
    """The object with normalised keys: lower case, underscores, no zero-width characters."""
    return merge_members((strip_zero_width(name).casefold().replace("-", "_"), value) for name, value in given.items())


def _first_value(given: Mapping[str, object], names: Sequence[str]) -> object:
    return next((given[name] for name in names if given.get(name) not in (None, "", [])), None)


def _only_value(given: Mapping[str, object], names: Sequence[str]) -> object:
    """The value under any of the names; raise UnusableReply if two of them differ."""
    return merge_members(("args", given[name]) for name in names if given.get(name) is not None).get("args")
