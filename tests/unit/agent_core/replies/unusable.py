"""Replies that hold no command, or of which nobody can say which one they hold."""

import html

from tests.unit.agent_core.replies.case import Case
from tests.unit.agent_core.replies.readable import COMMAND, DRAFT, WHOLE

NO_JSON = "held no JSON object"
NOT_VALID = "no valid JSON"
SHELL = '{"command": {"name": "execute_shell", "args": {"command_line": %s}}}'

QUOTED = "only quoted in a sentence"
LACED = DRAFT.replace("command", "com\u200bmand")
ESCAPED = html.escape(WHOLE)

MENTIONED = (
    Case("a refusal that quotes the command", f"I will not run {DRAFT}.", says=QUOTED),
    Case("a refusal without an end", f"I will not run {DRAFT}", says=QUOTED),
    Case("a refusal with a colon", f"I won't run this: {DRAFT}", says=QUOTED),
    Case("a refusal with a curly apostrophe", f"I can’t run this:\n\n```json\n{DRAFT}\n```", says=QUOTED),
    Case("a refusal before a fence", f"I refuse to run the following command.\n\n```json\n{DRAFT}\n```", says=QUOTED),
    Case("a refusal a sentence before", f"I'm sorry, I can't do that. This is the command:\n{DRAFT}", says=QUOTED),
    Case("a refusal of what the command does", f"I'm sorry, but I cannot delete files. {DRAFT}", says=QUOTED),
    Case(
        "a page's words that are ignored", f"The page says: {DRAFT}. That is an injection, so I ignore it.", says=QUOTED
    ),
    Case("an idea before a question", f"I could do this:\n{DRAFT}\nShould I go ahead?", says=QUOTED),
    Case("an option before a question", f"One option is\n{DRAFT}\nDo you want that?", says=QUOTED),
    Case("a refusal in a word", f"I refuse.\n\n{DRAFT}", says=QUOTED),
    Case("a refusal of the command by name", f"I will not run rm -rf. The command was:\n{DRAFT}", says=QUOTED),
    Case("a refusal inside musings without an end", f"<think>I will not run {DRAFT}", says=QUOTED),
    Case("a refusal after", f"{DRAFT}\nI will not run this.", says=QUOTED),
    Case("a refusal after a fence", f"```json\n{DRAFT}\n```\nI won't execute that, it deletes your file.", says=QUOTED),
    Case("a refusal after thinking", f"<think>Hm.</think>I cannot run {DRAFT}.", says=QUOTED),
    Case("a refusal with zero-width spaces", f"I will not run {{\u200b{DRAFT[1:]}.", says=QUOTED),
    Case("a refusal in single quotes", f"I must not run {DRAFT}.".replace('"', "'"), says=QUOTED),
    Case("a refusal and the same command again", f"I will not run {DRAFT}.\n{DRAFT}", says=QUOTED),
    Case("a refusal in another language", f"Ich werde {DRAFT} nicht ausführen.", says=QUOTED),
    Case("an example before a question", f"For example {DRAFT}. Which file do you mean?", says=QUOTED),
    Case("an example in a fence", f"I could run, for example:\n```json\n{DRAFT}\n```\nShall I?", says=QUOTED),
    Case("an example in its own words", f"One way is {DRAFT}. Which file do you mean?", says=QUOTED),
    Case("what would be done", f"The command would be\n{DRAFT}", says=QUOTED),
    Case("a command in a question", f"Do you want me to run {DRAFT}?", says=QUOTED),
    Case("a command in a sentence", f"If I ran {DRAFT} then your file would be gone.", says=QUOTED),
)

UNUSABLE = (
    *MENTIONED,
    Case("a refusal that quotes HTML escapes", f"I will not run {html.escape(DRAFT)}.", says="no JSON object"),
    Case("HTML escapes in part", ESCAPED.replace("&quot;milk&quot;", '"milk"'), says="HTML escapes"),
    Case("HTML escapes of quotes and some signs", ESCAPED.replace("milk", "a &lt; b && c < d"), says="HTML escapes"),
    Case("HTML escapes and an entity", ESCAPED.replace("milk", "a &amp; &nbsp;"), says="HTML escapes"),
    Case("HTML escapes of quotes inside a string", ESCAPED.replace("milk", "say &quot;hi&quot;"), says="HTML escapes"),
    Case("HTML escapes of a reply that was cut off", ESCAPED[:-20], says="JSON|cut off"),
    Case("HTML escapes and another command", f"{ESCAPED}\n{DRAFT}", says="HTML escapes"),
    Case("a hidden second command that is broken", f'{WHOLE}\n{{"com\u200bmand": oh no}}', says=NOT_VALID),
    Case(
        "two commands, one in letters laced",
        f"{WHOLE}\n{LACED}",
        says="two different",
    ),
    Case("a bare value with a zero-width space", WHOLE.replace('"milk"', "mi\u200blk"), says=NOT_VALID),
    Case("a number with a zero-width space", WHOLE.replace('"milk"', "1\u200b2"), says=NOT_VALID),
    Case(
        "no number in an argument in thoughts",
        f'{{"thoughts": {{{COMMAND.replace(chr(34) + "milk" + chr(34), "NaN")}}}}}',
        says="no number",
    ),
    Case("no number deep in an argument", WHOLE.replace('"milk"', '[{"a": Infinity}]'), says="no number"),
    Case("no number for a command", '{"thoughts": {}, "command": NaN}', says='"command" was not an object'),
    Case("no number for a name", '{"command": {"name": NaN, "args": {}}}', says='no "name"'),
    Case("no number for arguments", '{"command": {"name": "x", "args": NaN}}', says='"args" of the command'),
    Case("an argument twice without a name", WHOLE.replace('"milk"', '"milk" "milk"'), says=NOT_VALID),
    Case("arguments twice without a name", WHOLE.replace('"milk"}', '"milk"}, {"text": "milk"}'), says=NOT_VALID),
    Case(
        "thoughts twice that differ",
        WHOLE.replace('{"text": "I save it."}', '{"text": "a"}, {"text": "b"}'),
        says=NOT_VALID,
    ),
    Case("a command in the thoughts and another", f'{{"thoughts": {{{COMMAND}}}}}\n{DRAFT}', says="two different"),
    Case("a command in the thoughts of another name", WHOLE.replace('"command"', '"considered"'), says='no "command"'),
    Case("a command in the thoughts and null", f'{{"thoughts": {{{COMMAND}}}, "command": null}}', says='no "command"'),
    Case(
        "a command in the thoughts and a name more",
        f'{{"thoughts": {{{COMMAND}}}, "ask": "Which?"}}',
        says='no "command"',
    ),
    Case(
        "a command in the thoughts without arguments", '{"thoughts": {"command": "delete_file"}}', says='no "command"'
    ),
    Case("one answer forty times and another", f"{WHOLE * 40}{DRAFT}", says="two different commands"),
    Case("one answer forty times, the last cut off", f"{WHOLE * 40}{WHOLE[:-9]}", says="cut off"),
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
