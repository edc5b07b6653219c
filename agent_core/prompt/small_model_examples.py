"""Worked examples for small models: the prompt shows the few that fit the goals best."""

import json
from collections.abc import Sequence

from agent_core.model.command import Arguments, CommandSpec
from agent_core.prompt.packing import Situation
from agent_core.prompt.small_model_commands import matches

MAX_EXAMPLES = 2
# `hints`: beginnings of words in goals that the example fits. No example ends with task_complete, because a small model
# would copy it. Thoughts work the answer out before it is written: small models do not do that inside a command.
EXAMPLES = (
    ("search find who web", "Find who built the tower and keep it.", "I do not know it yet, so I search.", "google",
     {"query": "who built the tower"}),
    ("read copy", "Copy the first line of in.txt to out.txt.", "First I look at in.txt.", "read_file",
     {"filename": "in.txt"}),
    ("memor remember recall agreed", "Use the port we agreed on.", "I recall what was agreed.", "memory_recall",
     {"query": "the port we agreed on"}),
    ("sort order alphabet", "Sort these into fruit.txt, one per line: pear, fig, apple.", "In order: apple, fig, pear.",
     "write_to_file", {"filename": "fruit.txt", "text": "apple\nfig\npear"}),
    ("add plus sum multipl minus subtract divi times calculat comput half double twice total result",
     "Add 31 and 26 and write only the result into sum.txt.", "31 + 26 = 57.", "write_to_file",
     {"filename": "sum.txt", "text": "57"}),
    ("summar short brief", "Write a summary of at most six words into mill.txt: The mill by the river burned in May, "
     "and by winter the village had built it again.", "The main point in six words.", "write_to_file",
     {"filename": "mill.txt", "text": "The burned mill was soon rebuilt."}),
    ("only find found extract", "Write only the street found in this text into street.txt: Eve lives at 9 Mill Lane, "
     "call first.", "The street is 9 Mill Lane.", "write_to_file", {"filename": "street.txt", "text": "9 Mill Lane"}),
    ("json object key", "Write size.json: a JSON object with the keys size (the number 5) and name (the text Ann).",
     "One JSON object.", "write_to_file", {"filename": "size.json", "text": '{"size": 5, "name": "Ann"}'}),
    ("exactly list things line lines row item each", "Write exactly three colours into colours.txt, one per line.",
     "Three: red, green, blue.", "write_to_file", {"filename": "colours.txt", "text": "red\ngreen\nblue"}),
    ("write save put", "Write the word Blue into out.txt.", "I write Blue.", "write_to_file",
     {"filename": "out.txt", "text": "Blue"}),
)  # fmt: skip


def examples_text(situation: Situation, commands: Sequence[CommandSpec]) -> str:
    """The examples of offered commands that fit the goals best."""
    names = {spec.name for spec in commands}
    fitting = sorted(
        (each for each in EXAMPLES if each[3] in names), key=lambda each: -matches(each[0].split(), situation)
    )
    lines = [
        f"Goal: {goal} Done so far: nothing.\n{_reply(thought, name, given)}"
        for _, goal, thought, name, given in fitting[:MAX_EXAMPLES]
    ]
    form = _reply("why", "a command", {})
    return "\n".join(("Examples of one step each:", *lines)) if lines else f"A reply looks like this:\n{form}"


def _reply(thought: str, name: str, arguments: Arguments) -> str:
    return json.dumps({"thoughts": {"text": thought}, "command": {"name": name, "args": dict(arguments)}})
