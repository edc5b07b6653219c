"""Which goals a script can carry out, and which it leaves to a model."""

import time

import pytest

from agent_core.capabilities.demo.goal_patterns import parse_actions

WHILE_ALL_WAIT = 0.5  # seconds


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ('Write "hello" to a.txt', [("write_to_file", "a.txt", "hello")]),
        ("write 'it works' into the file notes/today.md.", [("write_to_file", "notes/today.md", "it works")]),
        ("Save hello world in b.txt", [("write_to_file", "b.txt", "hello world")]),
        ("Put “hi” in a file called greeting", [("write_to_file", "greeting", "hi")]),
        ("Write don't panic to p.txt", [("write_to_file", "p.txt", "don't panic")]),
        ('Write to log.txt: "a\\nb"', [("write_to_file", "log.txt", "a\nb")]),
        ('save "read me and delete it" to x.txt', [("write_to_file", "x.txt", "read me and delete it")]),
        ("Create a file called x.txt with hello there", [("write_to_file", "x.txt", "hello there")]),
        ("make a file X containing the text: Hello, world!", [("write_to_file", "X", "Hello, world!")]),
        ("WRITE A FILE r.md SAYING done", [("write_to_file", "r.md", "done")]),
        ("Create notes.txt", [("write_to_file", "notes.txt", "")]),
        ('Append "more" to a.txt', [("append_to_file", "a.txt", "more")]),
        ('add a line "two" to the end of a.txt', [("append_to_file", "a.txt", "\ntwo")]),
        ("Please show me the contents of notes/a.txt", [("read_file", "notes/a.txt", None)]),
        ('Open "my file.txt"', [("read_file", "my file.txt", None)]),
        ("read a.txt, b.txt and c.txt", [("read_file", name, None) for name in ("a.txt", "b.txt", "c.txt")]),
        ("Read ../secret.txt", [("read_file", "../secret.txt", None)]),
        ("remove the files a.txt and b", [("delete_file", "a.txt", None), ("delete_file", "b", None)]),
        ("List the files in the folder notes", [("list_files", "notes", None)]),
        ("Show all files", [("list_files", None, None)]),
    ],
)
def test_a_goal_of_a_known_shape_is_turned_into_its_command(
    goal: str, expected: list[tuple[str, str | None, str | None]]
) -> None:
    given = [(action.command, action.arguments) for action in parse_actions(goal)]
    assert [
        (command, arguments.get("filename", arguments.get("directory")), arguments.get("text"))
        for command, arguments in given
    ] == expected


@pytest.mark.parametrize("thing", ["a haiku about rain", "release notes", "a short report on what is in a.txt"])
def test_prose_is_not_written_but_outlined(thing: str) -> None:
    (action,) = parse_actions(f"Write {thing} to out.md")
    assert action.title == f"Write an outline of “{thing}” to out.md"
    assert "is a script and writes no prose" in str(action.arguments["text"])


@pytest.mark.parametrize(
    "goal",
    [
        "",
        "Write a haiku about autumn",
        "Write hello to Bob",
        "make a copy of a.txt in b.txt",
        "Create a file that lists all planets",
        "Read the book and tell me",
        "Remove all files",
        "Research otters and write a report to otters.md",
        "Read it",
        "Append milk",
    ],
)
def test_anything_else_is_not_understood(goal: str) -> None:
    assert parse_actions(goal) == ()


@pytest.mark.parametrize(
    "goal",
    [
        f"delete a{' ' * 900}x y",
        "read a" + "\n" * 300 + "x",
        f"show read show{' ' * 1900}.",
        "of files of & " + "\n\n  " * 400,
        f"read {'back ' * 390}to us x y",
        "x and" + "\nand" * 480,
    ],
    ids=lambda goal: repr(goal[:12]),
)
def test_a_goal_that_demo_mode_does_not_know_is_refused_at_once(goal: str) -> None:
    begun = time.process_time()
    assert parse_actions(goal) == ()
    assert time.process_time() - begun < WHILE_ALL_WAIT


def test_blanks_and_empty_lines_between_words_mean_nothing() -> None:
    actions = parse_actions("  read   a.txt \n\n\t then  append  “two  blanks”   to\tb.txt ")
    assert [(action.command, action.arguments.get("text")) for action in actions] == [
        ("read_file", None),
        ("append_to_file", "two  blanks"),
    ]
