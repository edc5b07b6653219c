"""Replies that end too early, in each place where they may."""

from tests.unit.agent_core.replies.case import Case
from tests.unit.agent_core.replies.readable import COMMAND, WHOLE

CUT = "cut off"
SHELL = '{"thoughts": {"text": "Clean."}, "command": {"name": "execute_shell", "args": {"command_line": "rm -rf build'
SINGLE = SHELL.replace('"', "'")
LAST = '{"command": {"name": "read_file", "args": {"filename": "a.txt", "start": 12'

CUT_OFF = (
    Case("the endpoint says so", WHOLE, says=CUT, finish_reason="length"),
    Case("a filter ended it", WHOLE, says=CUT, finish_reason="content_filter"),
    Case("in a shell line", SHELL, says=CUT),
    Case("in a shell line after a blank", SHELL + " ", says=CUT),
    Case("in a shell line of single quotes", SINGLE, says=CUT),
    Case("in a shell line in a fence", f"```json\n{SHELL}\n```", says=CUT),
    Case("in an escape", SHELL + "\\", says=CUT),
    Case("after the shell line", SHELL + '"', says=CUT),
    Case("after the arguments", SHELL + '"}', says=CUT),
    Case("in the thoughts", SHELL[:24], says=CUT),
    Case("before the command", SHELL[: SHELL.index('"command"')], says=CUT),
    Case("in the command's key", SHELL[: SHELL.index("mand")], says=CUT),
    Case("in the command's name", SHELL[: SHELL.index("shell")], says=CUT),
    Case("after the command's name", SHELL[: SHELL.index(', "args"')], says=CUT),
    Case("before the arguments", SHELL[: SHELL.index('{"command_line')], says=CUT),
    Case("in a bare name", "{command: {name: execute_sh", says=CUT),
    Case("in a number", LAST, says=CUT),
    Case("between arguments", LAST[: LAST.index(' "start"')], says=CUT),
    Case("in a list", '{"command": {"name": "x", "args": {"names": ["a", "b', says=CUT),
    Case("in three quotes", '{"command": {"name": "x", "args": {"text": """one\ntwo', says=CUT),
    Case("in the thoughts behind the command", "{" + COMMAND + ', "thoughts": {"text": "I sa', says=CUT),
    Case("in tool calls", '{"tool_calls": [{"name": "execute_shell", "arguments": {"command_line": "rm"}}', says=CUT),
    Case("in a call at the top", '{"name": "execute_shell", "arguments": {"command_line": "rm"}', says=CUT),
    Case("before arguments beside the command", '{"action": "write_to_file"', says=CUT),
    Case("after an inner quote", SHELL.replace("build", '"build" '), says="not escaped"),
    Case("after a command in the thoughts", '{"thoughts": {"text": "x", ' + COMMAND + "}", says=CUT),
    Case("after doubled thoughts", '{"thoughts": {"text": "x"}, {"text": "x"}, ' + COMMAND[:-3], says=CUT),
    Case("in musings", "<think>I could use rm -rf bu", says="no JSON object", finish_reason="stop"),
)
