"""Replies that hold no command, or of which nobody can say which one they hold."""

from tests.unit.agent_core.replies.case import Case
from tests.unit.agent_core.replies.readable import COMMAND, DRAFT, WHOLE

NO_JSON = "held no JSON object"
NOT_VALID = "no valid JSON"
SHELL = '{"command": {"name": "execute_shell", "args": {"command_line": %s}}}'

UNUSABLE = (
    Case("nothing", "", says=NO_JSON),
    Case("blanks", " \n\t ", says=NO_JSON),
    Case("a refusal", "I'm sorry, but I can't help with that.", says=NO_JSON),
    Case("prose that tells the command", "I will use write_to_file with filename a.txt.", says=NO_JSON),
    Case(
        "a page of a gateway", "<html><head><style>p { margin: 0 }</style></head><h1>502</h1></html>", says="it held no"
    ),
    Case("a list", "[1, 2, 3]", says=NO_JSON),
    Case("musings only", f"<think>Perhaps {DRAFT}</think> Let me see.", says=NO_JSON),
    Case("musings that end in prose", f"<think>Perhaps {DRAFT}, or rather not, since", says=NO_JSON),
    Case("thoughts only", '{"thoughts": {"text": "I think."}}', says='no "command" object'),
    Case("a command that is null", '{"command": null}', says='no "command" object'),
    Case("a schema in place of a reply", '{"type": "object", "properties": {}}', says='no "command" object'),
    Case("a command of several words", '{"command": "write_to_file a.txt milk"}', says='"command" was not an object'),
    Case("a command that is a number", '{"command": 7}', says='"command" was not an object'),
    Case("a command without a name", '{"command": {"args": {}}}', says='no "name"'),
    Case("a command with an empty name", '{"command": {"name": " ", "args": {}}}', says='no "name"'),
    Case("a command whose name is none", '{"command": {"name": 3, "args": {}}}', says='no "name"'),
    Case("arguments in a list", '{"command": {"name": "x", "args": [1]}}', says='"args" of the command was not an'),
    Case("arguments in words", '{"command": {"name": "x", "args": "a.txt"}}', says='"args" of the command was not an'),
    Case("two commands", f"{WHOLE}\n{DRAFT}", says="two different commands"),
    Case("two commands in a list", f"[{WHOLE}, {DRAFT}]", says="two different commands"),
    Case(
        "two tool calls",
        '{"tool_calls": [{"name": "a", "arguments": {}}, {"name": "b", "arguments": {}}]}',
        says="two different commands",
    ),
    Case("the command twice", "{" + COMMAND + ", " + DRAFT[1:], says="stood twice"),
    Case(
        "the command twice in other letters",
        "{" + COMMAND + ", " + DRAFT[1:].replace("command", "Command"),
        says="stood twice",
    ),
    Case("an argument twice", WHOLE.replace('"text": "milk"', '"text": "a", "text": "b"'), says="stood twice"),
    Case(
        "arguments under two names",
        '{"command": {"name": "x", "args": {"a": 1}, "input": {"a": 2}}}',
        says="stood twice",
    ),
    Case("not a number", WHOLE.replace('"milk"', "NaN"), says="no number"),
    Case("beyond all numbers", WHOLE.replace('"milk"', "1e999"), says="no number"),
    Case("a number without end", WHOLE.replace('"milk"', "9" * 5000), says="too long"),
    Case("nesting without end", '{"command":' * 3000 + "1" + "}" * 3000, says="nested too deeply"),
    Case("nesting inside an argument", WHOLE.replace('"milk"', "[" * 500 + "]" * 500), says="nested too deeply"),
    Case("a string left bare", WHOLE.replace('"milk"', "milk and eggs"), says=NOT_VALID),
    Case("an ellipsis", WHOLE.replace('"filename"', '..., "filename"'), says=NOT_VALID),
    Case("strings joined with a plus", WHOLE.replace('"milk"', '"mi" + "lk"'), says=NOT_VALID),
    Case("one quote inside a string", WHOLE.replace("milk", '5" of pipe'), says=NOT_VALID),
    Case("JSON inside a string, not escaped", WHOLE.replace("milk", '{"a": "b"}'), says=NOT_VALID),
    Case("a list inside a shell line", SHELL % '"echo "a", "command_line": "b""', says=NOT_VALID),
    Case("the end of a reply inside a string", SHELL % '"echo "a" b"}}}"', says=NOT_VALID),
    Case("a backslash of two readings", WHOLE.replace("milk", "C:\\Users\\new"), says="two ways"),
    Case("a shell's own escape of an apostrophe", SHELL % "\"echo 'it'\\''s'\"", says="two ways"),
    Case("a lost quote", WHOLE.replace('"write_to_file"', '"write_to_file'), says=NOT_VALID),
    Case("a second command that is broken", f'{WHOLE}\n{{"command": {{"name": oh no}}}}', says=NOT_VALID),
    Case("a broken object around an example", '{"thoughts": oh no, "x": ' + DRAFT + "}", says=NOT_VALID),
    Case("too much to find out", "{'command': '" + "x" * 300_000 + "'}", says="too long"),
    Case("a megabyte of braces", "{" * 1_000_000, says="JSON"),
    Case("a megabyte of objects", '{"a"} ' * 160_000, says="JSON"),
    Case("a megabyte of openings", '{"a":[' * 160_000, says="JSON"),
    Case("a megabyte of quotes", '{"a": "' + '",/*"' * 30_000, says="JSON"),
)
