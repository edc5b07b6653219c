"""What changed inside a line of a diff: which words are marked, in which lines, and in bounded time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.screens.visible_text import readable
from adapters.web.diff_lines import (
    MAX_COMPARISONS,
    MAX_DRAWN_LINES,
    MAX_FIRST_LINES,
    MAX_LINE_CHARACTERS,
    MAX_WORDS,
    DiffLine,
    LinePart,
    changed_parts,
    diff_lines,
    draw_diff,
)
from agent_core.text.diffs import diff_of

SENTENCE = "one two three four five six"


def marked(old: str, new: str) -> tuple[list[str], list[str]]:
    """The changed parts of both lines."""
    parts, _ = changed_parts(old, new, MAX_COMPARISONS)
    assert parts
    return tuple([part.text for part in side if part.is_changed] for side in parts)  # type: ignore[return-value]


@pytest.mark.proves("page:inside-lines")
@pytest.mark.parametrize(
    ("old", "new", "cut", "added"),
    [
        ("total = a + b * 3", "total = a - b * 3", ["+"], ["-"]),
        ("The cat sat here today", "The old dog sat here today", ["cat"], ["old dog"]),
        ("price: 10", "price: 10 USD", [], [" USD"]),
        ("مرحبا بالعالم الجميل اليوم", "مرحبا بالعالم الكبير اليوم", ["الجميل"], ["الكبير"]),
        ("سَلَامٌ لكم جميعا", "سَلَامًا لكم جميعا", ["سَلَامٌ"], ["سَلَامًا"]),  # vowel signs stay with their letters
        ("می‌خواهم بروم به خانه", "نمی‌خواهم بروم به خانه", ["می‌خواهم"], ["نمی‌خواهم"]),
        ("天気がいいですね", "天気が悪いですね", ["い"], ["悪"]),
        ("👩‍👩‍👧 of team one", "👩‍👩‍👦 of team one", ["👩‍👩‍👧"], ["👩‍👩‍👦"]),
    ],
)
def test_the_words_that_changed_are_marked(old: str, new: str, cut: list[str], added: list[str]) -> None:
    assert marked(old, new) == (cut, added)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("apples and pears", "return None"),
        ("", "x"),
        ("   ", "x"),
        ("x" * (MAX_LINE_CHARACTERS + 1), "x" * 5_002),
    ],
)
def test_lines_that_have_little_in_common_or_are_too_long_are_not_compared(old: str, new: str) -> None:
    assert changed_parts(old, new, MAX_COMPARISONS)[0] is None


def test_a_removed_line_is_paired_with_the_similar_one_of_the_added_lines() -> None:
    old, new = f"{SENTENCE}\nlast\n", f"quite another line\n{SENTENCE.replace('four', 'eight')}\nlast\n"
    lines = diff_lines(diff_of(old, new).body)
    assert [[part.text for part in line.parts if part.is_changed] for line in lines if line.kind != "keep"] == [
        ["four"],
        [],
        ["eight"],
    ]


def test_lines_have_their_numbers_before_and_after_and_what_is_left_out_is_counted() -> None:
    old = "".join(f"line {number}\n" for number in range(1, 41))
    lines = diff_lines(diff_of(old, old.replace("line 20\n", "a\nb\n")).body)
    assert [(line.kind, line.old, line.new) for line in lines] == [
        ("place", "", ""),
        ("keep", "18", "18"),
        ("keep", "19", "19"),
        ("cut", "20", ""),
        ("add", "", "20"),
        ("add", "", "21"),
        ("keep", "21", "22"),
        ("keep", "22", "23"),
    ]
    assert lines[0].text == "⋯ 17 lines as before"


def test_the_lines_of_a_new_text_are_numbered_without_a_header_too() -> None:
    header, _, rest = diff_of("", "a\nb\n").body.partition("\n")
    assert header == "@@ -0,0 +1,2 @@"
    assert [(line.text, line.old, line.new) for line in diff_lines(rest)] == [("a", "", "1"), ("b", "", "2")]


@pytest.mark.slow
@given(st.text(), st.text())
def test_the_parts_of_every_line_are_the_line(old: str, new: str) -> None:
    body = diff_of(old, new).body
    told = [line[1:] for line in readable(body).split("\n") if line[:1] in ("+", "-", " ")]
    assert [line.text for line in diff_lines(body) if line.kind != "place"] == told


@pytest.mark.slow
@given(st.text("aé ع‌\u0301\u064e👩‍👧👦1\ufe0f\u20e3.", max_size=12), st.text("aع‌ 👩‍👧1\ufe0f", max_size=12))
def test_marking_shows_no_character_that_the_whole_line_does_not_show(old: str, new: str) -> None:
    """Joiners that are kept in a word or an emoji are not torn from it."""
    for side, line in zip(
        changed_parts(f"same {old}", f"same {new}", MAX_COMPARISONS)[0] or (),
        (f"same {old}", f"same {new}"),
        strict=False,
    ):
        assert "".join(readable(part.text) for part in side).count("⟨") <= readable(line).count("⟨")


def test_of_a_diff_that_takes_long_to_compare_only_a_part_is_compared() -> None:
    cut = [f"-{number} {'a b ' * 12}c" for number in range(200)]
    added = [f"+x{number} {'a c ' * 12}d" for number in range(200)]
    compared = [len(line.parts) > 1 for line in diff_lines("\n".join([*cut, *added]))]
    assert 0 < sum(compared) < 100


def test_lines_with_many_different_words_between_what_is_equal_are_not_compared() -> None:
    words = [" ".join(f"{side}{number}" for number in range(MAX_WORDS)) for side in "ab"]
    assert changed_parts(f"{SENTENCE} {words[0]}", f"{SENTENCE} {words[1]}", MAX_COMPARISONS) == (None, 0)
    assert changed_parts("one two three", "one six three", 0) == (None, 0)


def test_very_many_lines_are_behind_a_line_that_opens_and_the_last_ones_are_one() -> None:
    body = "\n".join(f"+{number}" for number in range(MAX_DRAWN_LINES + 3))
    first, rest = draw_diff(body, "", lambda *_: "")
    assert [len(run) for run in (*first, *rest)] == [MAX_FIRST_LINES, MAX_DRAWN_LINES - MAX_FIRST_LINES, 1]
    assert (rest[-1][0].kind, rest[-1][0].text) == ("place", "+2000\n+2001\n+2002")


def test_code_is_coloured_on_both_sides_and_marks_of_words_stay() -> None:
    asked = {}

    def colour(kind: str, name: str, text: str) -> str:
        asked[text] = kind, name
        return "\n".join(f'<span class="k">{line[:6]}</span>{line[6:]}' for line in text.split("\n"))

    drawn, _ = draw_diff("@@ -1,2 +1,2 @@\n from a\n-import one now\n+import two now", "b.py", colour)
    assert asked == {"from a\nimport one now": ("code", "b.py"), "from a\nimport two now": ("code", "b.py")}
    assert drawn == [
        [DiffLine("keep", (LinePart("from a", hue="word"),), "1", "1")],
        [
            DiffLine(
                "cut", (LinePart("import", hue="word"), LinePart(" "), LinePart("one", True), LinePart(" now")), "2"
            ),
            DiffLine(
                "add", (LinePart("import", hue="word"), LinePart(" "), LinePart("two", True), LinePart(" now")), "", "2"
            ),
        ],
    ]


@pytest.mark.parametrize("html", ["", "<b>x</b> = 1", "y = 1", '<span class="k" onclick="f()">x</span> = 1'])
def test_colours_of_another_text_or_with_other_tags_are_not_used(html: str) -> None:
    assert draw_diff("+x = 1", "b.py", lambda *_: html)[0] == [[DiffLine("add", (LinePart("x = 1"),), "", "1")]]


def test_a_long_text_and_one_of_no_language_have_no_colours() -> None:
    for body, name in (("+x = 1", "Makefile"), ("+# x", "a.MD"), (f"+{'x' * 20_001}", "b.py")):
        assert draw_diff(body, name, lambda *_: str(1 / 0))[0]  # raises if it is asked
