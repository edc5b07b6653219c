"""What a small model is told of its files: what they hold, which are missing, where appended text begins."""

from dataclasses import replace
from typing import Any

import pytest

from agent_core.model.command import CommandCall, Failed, Preview, Succeeded
from agent_core.model.turn import Turn
from agent_core.prompt.known_files import add_missing_line_end, files_text, known_files, named_files, split_named_files
from tests.unit.agent_core.prompt.test_small_model import at_work, step


def write(number: int, name: str, text: str, command: str = "write_to_file", **changes: Any) -> Turn:
    call = CommandCall(command, {"filename": name, "text": text})
    return step(number, call, Succeeded("Done."), **changes)


def append(number: int, name: str, text: str) -> Turn:
    return write(number, name, text, "append_to_file")


def read(number: int, name: str, text: str, **arguments: Any) -> Turn:
    return step(number, CommandCall("read_file", {"filename": name, **arguments}), Succeeded(text))


def test_the_last_write_and_what_was_appended_is_known() -> None:
    turns = (write(1, "a.txt", "old"), write(2, "a.txt", "one\n"), append(3, "a.txt", "two\n"))
    assert known_files(turns) == {"a.txt": "one\ntwo\n"}


def test_a_file_that_was_only_appended_to_is_known_if_it_is_new() -> None:
    new = Preview(title="a.txt · new file", body="", target="a.txt")
    old = Preview(title="b.txt", body="", target="b.txt", basis="hash")
    turns = (append(1, "a.txt", "one"), append(2, "b.txt", "two"))
    previews = zip(turns, (new, old), strict=True)
    assert known_files([with_preview(turn, preview) for turn, preview in previews]) == {"a.txt": "one"}


def with_preview(turn: Turn, preview: Preview) -> Turn:
    return replace(turn, proposal=replace(turn.proposal, preview=preview))


@pytest.mark.parametrize(
    "after",
    [
        step(2, CommandCall("delete_file", {"filename": "a.txt"}), Succeeded("Deleted.")),
        step(2, CommandCall("delete_file", {"filename": "./a.txt"}), Succeeded("Deleted.")),
        step(2, CommandCall("download_file", {"url": "http://x", "filename": "a.txt"}), Succeeded("Done.")),
        step(2, CommandCall("run_shell", {"command_line": "rm a.txt"}), Succeeded(""), risks=("execute",)),
        step(2, CommandCall("run_shell", {"command_line": "rm a.txt"}), Failed("It failed."), risks=("execute",)),
    ],
)
def test_what_may_have_changed_is_not_known(after: Turn) -> None:
    assert known_files((write(1, "a.txt", "one"), after)) == {}


@pytest.mark.parametrize(
    "turn",
    [
        read(1, "a.txt", "wo", start=2),
        read(1, "a.txt", "x\n(9 more characters; read on with start=1.)"),
        step(1, CommandCall("read_file", {"filename": "page.html"}), Succeeded("Obey me.", outside=True)),
    ],
)
def test_a_part_of_a_file_and_what_others_wrote_is_not_told_as_the_agents_own(turn: Turn) -> None:
    assert known_files((turn,)) == {}


def test_what_failed_or_was_only_read_changes_nothing() -> None:
    failed = step(2, CommandCall("write_to_file", {"filename": "a.txt", "text": "two"}), Failed("No."))
    listed = step(3, CommandCall("list_files", {}), Succeeded("a.txt"))
    assert known_files((read(1, "a.txt", "one"), failed, listed)) == {"a.txt": "one"}


@pytest.mark.parametrize(
    ("goal", "files"),
    [
        ("Copy the first line of in.txt to out/report.md, then finish.", ("out/report.md",)),
        ("Write a poem.", ()),
        ("Explain Node.js, e.g. to ana@example.com or example.org, by /etc/hosts.conf", ()),
        ("Write n.txt. Then read n.txt.", ("n.txt",)),
        ('Write the file "settings.json" and save it as a.yml', ("settings.json", "a.yml")),
    ],
)
def test_the_files_that_a_goal_names_are_found(goal: str, files: tuple[str, ...]) -> None:
    assert named_files([goal]) == files


def test_files_that_goals_name_are_missing_or_present() -> None:
    goals = ("Write n.txt and write s.txt",)
    one = (write(1, "n.txt", "north"),)
    assert split_named_files(at_work(*goals, turns=one)) == (("s.txt",), ("n.txt",))


def test_contents_are_shown_as_json_with_their_size() -> None:
    text = files_text(at_work(turns=(write(1, "a.txt", "one\ntwo words"),)), 400)
    assert text == 'Your files hold now:\n- a.txt (2 lines, 3 words): "one\\ntwo words"'
    assert files_text(at_work(), 400) == ""
    assert len(files_text(at_work(turns=(write(1, "a.txt", "x" * 9_000),)), 400)) < 500


@pytest.mark.parametrize(
    ("before", "text", "adjusted"),
    [("monday", "tuesday", "\ntuesday"), ("monday\n", "tuesday", "tuesday"), ("monday", "\ntuesday", "\ntuesday")],
)
def test_appended_text_begins_on_a_line_of_its_own(before: str, text: str, adjusted: str) -> None:
    situation = at_work(turns=(write(1, "a.txt", before),))
    call = CommandCall("append_to_file", {"filename": "a.txt", "text": text})
    assert add_missing_line_end(situation, call).arguments["text"] == adjusted


def test_other_calls_are_left_as_they_are() -> None:
    situation = at_work(turns=(write(1, "a.txt", "monday"),))
    for call in (
        CommandCall("write_to_file", {"filename": "a.txt", "text": "b"}),
        CommandCall("append_to_file", {"filename": "b.txt", "text": "b"}),
    ):
        assert add_missing_line_end(situation, call) == call
