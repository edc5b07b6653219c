"""Replies whose command is plain to see, however it is spelt."""

import html
import re

from agent_core.model.command import CommandCall
from tests.unit.agent_core.replies.case import Case, shell, write

CALL = write("milk")
NOTHING = CommandCall("do_nothing", {})
COMMAND = '"command": {"name": "write_to_file", "args": {"filename": "a.txt", "text": "milk"}}'
WHOLE = '{"thoughts": {"text": "I save it."}, ' + COMMAND + "}"
DRAFT = '{"command": {"name": "delete_file", "args": {"filename": "a.txt"}}}'

AROUND = (
    Case("as asked", WHOLE, CALL),
    Case("a fence", f"```json\n{WHOLE}\n```", CALL),
    Case("a fence without a language", f"```\n{WHOLE}```", CALL),
    Case("prose before and after", f"Sure, here is the next step:\n\n{WHOLE}\n\nShall I go on?", CALL),
    Case("prose with braces", f"I fill in {{name}} and {{}} first.\n{WHOLE}\nThe set {{1, 2}} is left.", CALL),
    Case("another language's code before", f"```js\nfunction f() {{ return 1; }}\n```\n{WHOLE}", CALL),
    Case("a style sheet before", f"body {{ color: red; }}\n{WHOLE}", CALL),
    Case("other JSON before", f'The config is {{"debug": true}}. So:\n{WHOLE}', CALL),
    Case("a byte order mark", f"\ufeff{WHOLE}", CALL),
    Case("a zero-width space", f"\u200b\n{WHOLE}\u200b", CALL),
    Case("a brace too many", f"{WHOLE}}}", CALL),
    Case("a tag around it", f"<tool_call>\n{WHOLE}\n</tool_call>", CALL),
    Case("thinking first", f"<think>Maybe {DRAFT}? No.</think>\n{WHOLE}", CALL),
    Case("thinking under another name", f"<thinking>Hm, {{x}}.</thinking>{WHOLE}", CALL),
    Case("thinking that was opened by the template", f"Maybe {DRAFT}?\n</think>\n\n{WHOLE}", CALL),
    Case("thinking that is never closed", f"<think>The file is wanted, so I write it.\n{WHOLE}", CALL),
    Case("thinking twice", f"<think>One.</think><think>Two {DRAFT}.</think>{WHOLE}", CALL),
    Case("thinking after prose", f"Well.\n<think>{DRAFT}</think>\n{WHOLE}", CALL),
    Case("thinking in the middle", '{"thoughts": {"text": "x"}, <think>now the command</think>' + COMMAND + "}", CALL),
    Case("thinking that is text", WHOLE.replace("milk", "<think>a</think> b"), write("<think>a</think> b")),
    Case("the same object twice", f"{WHOLE}\n{WHOLE}", CALL),
    Case("thoughts and command apart", '{"thoughts": {"text": "x"}}\n{' + COMMAND + "}", CALL),
    Case("a list of one", f"[{WHOLE}]", CALL),
    Case("JSON in a JSON string", '"' + WHOLE.replace('"', '\\"') + '"', CALL),
    Case("escaped as if in a string", WHOLE.replace('"', '\\"'), CALL),
    Case("the outermost brace missing", WHOLE[:-1], CALL),
    Case("the outermost brace missing in a fence", f"```json\n{WHOLE[:-1]}\n```", CALL),
)

SPELLING = (
    Case("single quotes", WHOLE.replace('"', "'"), CALL),
    Case(
        "Python",
        "{'thoughts': {'text': None, 'done': True}, 'command': {'name': 'write_to_file', "
        "'args': {'filename': 'a.txt', 'text': \"it's\"}}}",
        write("it's"),
    ),
    Case("an apostrophe in single quotes", WHOLE.replace("milk", "it's don't").replace('"', "'"), write("it's don't")),
    Case("trailing commas", WHOLE.replace("}", ",}"), CALL),
    Case("a missing comma", WHOLE.replace('}, "command', '}\n "command'), CALL),
    Case("bare names", WHOLE.replace('"thoughts"', "thoughts").replace('"args"', "args"), CALL),
    Case("a bare command", WHOLE.replace('"write_to_file"', "write_to_file"), CALL),
    Case(
        "comments",
        WHOLE.replace('"name"', '// the command\n"name" /* which */').replace('"args"', '# so\n"args"'),
        CALL,
    ),
    Case("curly quotes", WHOLE.replace(' "', " “").replace('{"', "{“").replace('"', "”"), CALL),
    Case("curly quotes kept in text", WHOLE.replace("milk", "“milk”"), write("“milk”")),
    Case("full-width punctuation", WHOLE.replace(",", ",").replace(":", ":").replace("}", "\uff5d"), CALL),
    Case("line ends inside strings", WHOLE.replace("milk", "milk\n\teggs\r\n"), write("milk\n\teggs\r\n")),
    Case(
        "line ends inside strings of sloppy JSON", WHOLE.replace("milk", "a\nb").replace("}}}", "},}}"), write("a\nb")
    ),
    Case("quotes inside a string", WHOLE.replace("milk", 'say "hi" twice'), write('say "hi" twice')),
    Case("quotes at the end of a string", WHOLE.replace("milk", 'say "hi"'), write('say "hi"')),
    Case("code inside a string", WHOLE.replace("milk", 'x = {"a": 1, "b": 2}'), write('x = {"a": 1, "b": 2}')),
    Case("three quotes", WHOLE.replace('"milk"', '"""milk\nand "eggs"\n"""'), write('milk\nand "eggs"\n')),
    Case("an escaped apostrophe", WHOLE.replace("milk", "it\\'s"), write("it's")),
    Case("an escaped underscore", WHOLE.replace("a.txt", "my\\_list.txt"), write("milk", "my_list.txt")),
    Case("a Windows path", WHOLE.replace("milk", "C:\\Users\\ana"), write("C:\\Users\\ana")),
    Case("a pattern", WHOLE.replace("milk", "\\d+\\.\\d+"), write("\\d+\\.\\d+")),
    Case("blanks at both ends", WHOLE.replace("milk", "  milk \n ").replace("}}}", "}},}"), write("  milk \n ")),
    Case("doubled braces", WHOLE.replace("{", "{{").replace("}", "}}"), CALL),
    Case("doubled outer braces", "{" + WHOLE + "}", CALL),
    Case("half a character", WHOLE.replace("milk", "a\\ud800b"), write("a\ufffdb")),
    Case("a whole character in halves", WHOLE.replace("milk", "\\ud83d\\ude00").replace("}}}", "},}}"), write("😀")),
    Case(
        "something that looks like a comment", WHOLE.replace("milk", "http://x#y /* z */"), write("http://x#y /* z */")
    ),
    Case(
        "a number as text", WHOLE.replace('"milk"', "7"), CommandCall("write_to_file", {"filename": "a.txt", "text": 7})
    ),
    Case(
        "a shell line with quotes",
        '{"command": {"name": "execute_shell", "args": {"command_line": "rm -rf "build dir" && ls"}}}',
        shell('rm -rf "build dir" && ls'),
    ),
)

SHAPES = (
    Case(
        "names in capitals",
        WHOLE.replace("command", "Command").replace("args", "Args").replace("name", "Name", 1),
        CALL,
    ),
    Case("arguments", WHOLE.replace("args", "arguments"), CALL),
    Case("parameters", WHOLE.replace("args", "parameters"), CALL),
    Case("input", WHOLE.replace("args", "input"), CALL),
    Case("a call at the top", '{"name": "write_to_file", "arguments": {"filename": "a.txt", "text": "milk"}}', CALL),
    Case("a tagged call at the top", '<tool_call>{"name": "do_nothing", "arguments": {}}</tool_call>', NOTHING),
    Case(
        "tool calls",
        '{"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "write_to_file", '
        '"arguments": "{\\"filename\\": \\"a.txt\\", \\"text\\": \\"milk\\"}"}}]}',
        CALL,
    ),
    Case(
        "an action with its input",
        '{"thought": "x", "action": "write_to_file", "action_input": {"filename": "a.txt", "text": "milk"}}',
        CALL,
    ),
    Case(
        "arguments as a string",
        '{"command": {"name": "write_to_file", "args": "{\\"filename\\": \\"a.txt\\", \\"text\\": \\"milk\\"}"}}',
        CALL,
    ),
    Case("the command as a string of JSON", '{"command": "{\\"name\\": \\"do_nothing\\", \\"args\\": {}}"}', NOTHING),
    Case("the command as its name", '{"thoughts": {}, "command": "do_nothing"}', NOTHING),
    Case(
        "arguments beside the name", '{"command": {"name": "write_to_file", "filename": "a.txt", "text": "milk"}}', CALL
    ),
    Case("the name as the key", '{"command": {"write_to_file": {"filename": "a.txt", "text": "milk"}}}', CALL),
    Case("no arguments", '{"command": {"name": "do_nothing"}}', NOTHING),
    Case("null for no arguments", '{"command": {"name": "do_nothing", "args": null}}', NOTHING),
    Case("an empty list for no arguments", '{"command": {"name": "do_nothing", "args": []}}', NOTHING),
    Case("a list of one command", '{"command": [{"name": "do_nothing", "args": {}}]}', NOTHING),
    Case("thoughts as a string", WHOLE.replace('{"text": "I save it."}', '"I save it."'), CALL),
    Case("thoughts as a list", WHOLE.replace('{"text": "I save it."}', '["I", {"save": "it"}]'), CALL),
    Case("thoughts that are nested", WHOLE.replace('"I save it."', '{"deep": [1, {"er": null}]}'), CALL),
    Case("extra names", WHOLE.replace('{"thoughts"', '{"id": 7, "confidence": 0.9, "thoughts"'), CALL),
    Case("the same name twice alike", WHOLE[:-1] + ", " + COMMAND + "}", CALL),
    Case("the command first", "{" + COMMAND + ', "thoughts": {"text": "x"}}', CALL),
)

ESCAPED = html.escape(WHOLE)
THOUGHTS = '{"text": "I save it."}'

GARBLED = (
    Case("HTML escapes", ESCAPED, CALL),
    Case("HTML escapes by number", ESCAPED.replace("&quot;", "&#34;"), CALL),
    Case("HTML escapes in a fence", f"```json\n{ESCAPED}\n```", CALL),
    Case("HTML escapes of a value", html.escape(WHOLE.replace("milk", "<b> & 'c'")), write("<b> & 'c'")),
    Case("HTML escapes of an entity", html.escape(WHOLE.replace("milk", "&lt; &nbsp;")), write("&lt; &nbsp;")),
    Case("HTML escapes of quotes alone", WHOLE.replace("milk", "<b>&nbsp;").replace('"', "&quot;"), write("<b>&nbsp;")),
    Case("HTML escapes that are text", WHOLE.replace("milk", "{&quot;a&quot;: 1}"), write("{&quot;a&quot;: 1}")),
    Case(
        "HTML escapes that are text in single quotes",
        WHOLE.replace("milk", "{&quot;a&quot;: 1}").replace('"', "'"),
        write("{&quot;a&quot;: 1}"),
    ),
    Case("zero-width spaces between tokens", re.sub(r'([{}:,])(?= ?["{}])', "\\1\u200b", WHOLE), CALL),
    Case("word joiners between tokens", re.sub(r'([{}:,])(?= ?["{}])', "\u2060\\1\u200d", WHOLE), CALL),
    Case("zero-width spaces in names", WHOLE.replace("command", "com\u200bmand").replace("args", "ar\u200dgs"), CALL),
    Case("zero-width spaces in the command's name", WHOLE.replace("write_to", "write_\u200bto"), CALL),
    Case(
        "zero-width spaces in a value", WHOLE.replace("milk", "\u200bmi\u200blk\ufeff"), write("\u200bmi\u200blk\ufeff")
    ),
    Case(
        "zero-width spaces between tokens and in a value",
        "{\u200b" + WHOLE[1:].replace("milk", "mi\u200dlk\u200b"),
        write("mi\u200dlk\u200b"),
    ),
    Case("zero-width spaces after bare words", "{command: {name: do_nothing\u200b, args: {}\u200b}}", NOTHING),
    Case("thoughts twice in one object", f'{{"thoughts": {THOUGHTS}, "thoughts": {THOUGHTS}, {COMMAND}}}', CALL),
    Case("thoughts twice without a name", f'{{"thoughts": {THOUGHTS}, {THOUGHTS}, {COMMAND}}}', CALL),
    Case("thoughts three times without a comma", f'{{"thoughts": {THOUGHTS}{THOUGHTS}{THOUGHTS}, {COMMAND}}}', CALL),
    Case("a thought twice", WHOLE.replace('"I save it."', '"I save it." "I save it."'), CALL),
    Case("a thought twice with a comma", WHOLE.replace('"I save it."', '"I save it.", "I save it."'), CALL),
    Case("thoughts in thoughts", f'{{"thoughts": {{"thoughts": {THOUGHTS}}}, {COMMAND}}}', CALL),
    Case("no number in the thoughts", WHOLE.replace('"I save it."', '"x", "score": NaN, "b": [-Infinity]'), CALL),
    Case("no number in the thoughts of Python", WHOLE.replace('"I save it."', "nan").replace('"', "'"), CALL),
    Case("a command in the thoughts", f'{{"thoughts": {{"text": "x", {COMMAND}}}}}', CALL),
    Case("the same answer forty times", "\n".join([WHOLE] * 40), CALL),
    Case("the same answer forty times in a row", WHOLE * 40, CALL),
    Case("a refusal of something else", f"I will not delete it. Instead I save the file:\n\n{WHOLE}", CALL),
    Case("what is missing before", f"The file is not there, so I write it:\n```json\n{WHOLE}\n```", CALL),
    Case("something missing in a sentence before", f"The file does not exist yet.\n\n{WHOLE}", CALL),
    Case("something that cannot be used before", f"I can't use the web here. I save the file:\n{WHOLE}", CALL),
    Case("an apology before", f"Sorry for the mistake, here is the JSON:\n{WHOLE}", CALL),
    Case("a thought of another step", f"Thought: I should not delete it.\nAction: {WHOLE}", CALL),
    Case("patience after", f"{WHOLE}\n\nI will not do anything else until you approve.", CALL),
    Case("a sentence that ends in the answer", f"Here is the command {WHOLE}", CALL),
    Case("a question after the answer", f"Here is the next step: {WHOLE}\nDo you agree?", CALL),
)

READABLE = (*AROUND, *SPELLING, *SHAPES, *GARBLED)
