"""The diff of a write: exact where it can be made, and never so long in the making that everybody waits."""

import difflib

from hypothesis import example, given
from hypothesis import strategies as st

from agent_core.model.diffs import CONTEXT_LINES, MAX_COMPARED_LINES, MAX_DIFF_CHARACTERS, diff_of

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
def test_the_diff_leads_from_the_old_text_to_the_new(old: str, new: str) -> None:
    change = diff_of(old, new)
    assert applied(change.body, old) == new.splitlines()
    assert change.plus - change.minus == len(new.splitlines()) - len(old.splitlines())


def test_it_looks_as_everybody_knows_it() -> None:
    old = "\n".join(f"line {number}" for number in range(1, 40))
    new = old.replace("line 20", "line twenty")
    usual = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=CONTEXT_LINES))[2:]
    assert diff_of(old, new).body == "\n".join(usual)


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
