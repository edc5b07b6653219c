"""What a command works on, in a few words that are true before it runs and afterwards."""

from dataclasses import replace

import pytest

from agent_core.model.command import CommandCall, Preview, Proposal, Thoughts
from agent_core.model.turn import MAX_TARGET_CHARACTERS, target_of
from agent_core.testing.examples import a_turn, an_agent

SHELL = Preview(title="Shell in the sandbox · no network · at most 120 s", body="python check.py")
PAGE = Preview(title="example.org", body="")
DELETION = Preview(title="a.md · deletes 14 bytes · −1", body="-tea", kind="diff")
CHANGE = Preview(title="r.md · 9 lines · +4 −1", body="…", kind="diff")


@pytest.mark.parametrize(
    ("arguments", "preview", "target"),
    [
        ({"command_line": "python\n check.py"}, SHELL, "python check.py"),
        ({"question": "how?", "url": "https://example.org/a?b=1"}, PAGE, "https://example.org/a?b=1"),
        ({"filename": "a.pdf", "url": "https://example.org/a"}, PAGE, "https://example.org/a → a.pdf"),
        ({"url": "https://example.org/r", "clone_path": "r"}, PAGE, "https://example.org/r → r"),
        ({"filename": "a.py", "args": "--fast"}, None, "a.py --fast"),
        ({"text": "…", "filename": "r.md"}, CHANGE, "r.md · +4 −1"),
        ({"filename": "a.md"}, DELETION, "a.md · −1"),
        ({"part": "notes", "turn": 3}, None, "3"),
        ({"is_deep": True, "words": ["a"]}, None, ""),
    ],
)
def test_the_target_is_what_the_command_touches(
    arguments: dict[str, object], preview: Preview | None, target: str
) -> None:
    proposal = Proposal(thoughts=Thoughts(), call=CommandCall("tool", arguments), preview=preview)
    assert target_of(replace(a_turn(an_agent()), proposal=proposal)) == target


def test_a_long_target_is_cut() -> None:
    proposal = Proposal(thoughts=Thoughts(), call=CommandCall("speak", {"text": "tea " * 500}))
    assert len(target_of(replace(a_turn(an_agent()), proposal=proposal))) == MAX_TARGET_CHARACTERS
