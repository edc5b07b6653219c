"""The diff of a write: exact where it can be made, and never so long in the making that everybody waits."""

import difflib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_core.text.diffs import CONTEXT_LINES, MAX_COMPARED_LINES, MAX_DIFF_CHARACTERS, diff_of

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "+x", "-y", "@@ -1 +1 @@"]), max_size=14).map("\n".join)


def applied(body: str, old: str) -> list[str]:
    """The old lines with the diff carried out, as `patch` does it."""
    lines, result, at = old.splitlines(), [], 0
    for line in body.split("\n") if body else []:
        if line.startswith("@@ ") and line.endswith(" @@") and line.count("@@") == 2 and "," in f"{line},":
            start, _, count = line.split()[1][1:].partition(",")
            begins = int(start) - (count != "0")
            result += lines[at:begins]
            at = begins
        elif line.startswith("+"):
            result.append(line[1:])
        else:
            assert lines[at] == line[1:]
            result += [lines[at]] if line.startswith(" ") else []
            at += 1
    return [*result, *lines[at:]]


@given(LINES, LINES)
@example("a\nb\nc\nd\ne\nf", "a\nb\nc\nX\nd\ne\nf")
@example("", "a")
@example("a\n", "b\na")
def test_the_diff_leads_from_the_old_text_to_the_new(old: str, new: str) -> None:
    change = diff_of(old, new)
    body = "\n".join(line for line in change.body.split("\n") if not line.startswith("\\"))
    assert applied(body, old) == new.splitlines()
    ends = "line end." in change.body
    assert (change.plus - ends, change.minus - ends) == tuple(
        sum(line.startswith(sign) for line in body.split("\n")) for sign in "+-"
    )


def test_it_looks_as_everybody_knows_it() -> None:
    old = "\n".join(f"line {number}" for number in range(1, 40))
    new = old.replace("line 20", "line twenty")
    usual = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=CONTEXT_LINES))[2:]
    assert diff_of(old, new).body == "\n".join(usual)


@pytest.mark.slow
def test_texts_that_are_too_long_to_compare_are_told_by_their_length() -> None:
    old = "\n".join(f"line {number} {number * 7919 % 1000}" for number in range(220_000))
    new = "\n".join(old.splitlines()[: 3 * MAX_COMPARED_LINES : 2])
    assert diff_of(old, new).body.startswith("Too long to compare: 219,999 lines, from line 2 on, give way to 2,999")


def test_a_long_change_is_cut_with_a_word() -> None:
    body = diff_of("", "\n".join("x" * 100 for _ in range(MAX_COMPARED_LINES))).body
    assert MAX_DIFF_CHARACTERS - 200 < len(body) < MAX_DIFF_CHARACTERS + 60
    assert body.endswith("more lines of the change")


def test_a_line_added_to_a_long_file_is_shown_exactly() -> None:
    old = "\n".join(str(number) for number in range(100_000))
    assert diff_of(old, f"{old}\nmore").body == "@@ -99999,2 +99999,3 @@\n 99998\n 99999\n+more"


CRLF = "one\r\ntwo\r\n"


LEGEND = "\\ ␍ is a carriage return, as in the line ends of Windows (CRLF).\n"


@pytest.mark.parametrize(
    ("old", "new", "body"),
    [
        (CRLF, "one\ntwo\n", "@@ -1,2 +1,2 @@\n-one␍\n-two␍\n+one\n+two"),
        ("", CRLF, "@@ -0,0 +1,2 @@\n+one␍\n+two␍"),
        (CRLF, CRLF + "x\n", "@@ -1,2 +1,3 @@\n one␍\n two␍\n+x"),
        ("a\nb\r\n", "a\r\nb\n", "@@ -1,2 +1,2 @@\n-a\n-b␍\n+a␍\n+b"),
    ],
)
def test_a_changed_line_end_is_a_change_that_is_seen(old: str, new: str, body: str) -> None:
    assert diff_of(old, new).body == LEGEND + body


@pytest.mark.parametrize(("old", "new", "told"), [("a\nb", "a\nb\n", "gets a"), ("a\nb\n", "a\nb", "loses its")])
def test_the_end_of_the_last_line_is_told(old: str, new: str, told: str) -> None:
    change = diff_of(old, new)
    assert (change.body, change.plus, change.minus) == (f"\\ The last line {told} line end.", 1, 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [("a", "a\nb"), ("a\nb", "a"), (CRLF, CRLF + "x\r\n"), ("", "a"), ("", "a\n"), (CRLF, "")],
)
def test_line_ends_that_stay_or_go_with_their_lines_are_not_told(old: str, new: str) -> None:
    assert not {"\\", "␍"}.intersection(diff_of(old, new).body)


@pytest.mark.parametrize("mark", ["\u2028", "\x85", "\x0b", "\x0c", "\r"])
def test_a_line_is_cut_at_line_feeds_alone(mark: str) -> None:
    change = diff_of(f"a{mark}b\n", "a\nb\n")
    assert change.body == f"@@ -1 +1,2 @@\n-a{mark}b\n+a\n+b"


def test_a_text_of_carriage_returns_takes_no_longer_than_another() -> None:
    assert diff_of("\r" * 500_000 + "x", "y").minus == 1
