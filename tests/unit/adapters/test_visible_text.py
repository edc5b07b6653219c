"""Nothing in a text is hidden: over every code point, and over sequences that draw one sign."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.screens.text_fit import cut, pieces
from adapters.screens.visible_text import HIDDEN, PLAIN, mark_of, readable, restore_invisible, visible

# Default_Ignorable_Code_Point, https://www.unicode.org/Public/17.0.0/ucd/DerivedCoreProperties.txt
IGNORABLE = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
    *((0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
ARABIC_NUMBER_SIGNS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
BLANK = "\u2800\ufffc\u2d7f\U00016fe4\U0001107f\U0001bc9d\U0001d159\U00013441\U00013442"


# Every code point that Unicode has given a meaning to, and what is private or unassigned in between.
EVERY = [*map(chr, range(0x34000)), *map(chr, range(0xE0000, 0xE1000)), "\U000f0000", "\U0010fffd", "\U0010ffff"]
CATEGORIES = {character: unicodedata.category(character) for character in EVERY}
IGNORED = {chr(code) for first, last in IGNORABLE for code in range(first, last + 1)}


@pytest.mark.slow
@pytest.mark.proves("card:hidden")
def test_every_code_point_that_stays_has_a_glyph_or_is_a_plain_space() -> None:
    spelled = {found[0] for found in HIDDEN.finditer("".join(EVERY))}
    kinds = ("Cc", "Cf", "Cs", "Co", "Zs", "Zl", "Zp")
    has_no_glyph = {each for each, kind in CATEGORIES.items() if kind in kinds} - set(f" \t\n{ARABIC_NUMBER_SIGNS}")
    assert (IGNORED | set(BLANK) | has_no_glyph) - spelled == set()
    assert set("".join(PLAIN.findall("".join(EVERY)))) & spelled == set()


@pytest.mark.slow
def test_what_has_a_glyph_stays() -> None:
    # The standard library knows an older Unicode: what it calls unassigned may have a glyph by now.
    spelled = {found[0] for found in HIDDEN.finditer("".join(EVERY))}
    has_glyph = {each for each, kind in CATEGORIES.items() if kind[0] in "LMNPS"}
    assert (has_glyph & spelled) - IGNORED - set(BLANK) == set()


SEQUENCES = {
    "a flag": "🇩🇪",
    "a flag of tags": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "a rainbow flag": "🏳\ufe0f\u200d🌈",
    "a skin tone": "👍🏽",
    "a family of four": "👨\u200d👩\u200d👧\u200d👦",
    "a kiss in two skin tones": "👩🏽\u200d❤\ufe0f\u200d💋\u200d👨🏿",
    "a profession": "👩🏿\u200d🚀",
    "a keycap": "1\ufe0f\u20e3",
    "a keycap of a sign": "#\ufe0f\u20e3",
    "a heart in colour": "❤\ufe0f",
    "a star in colour": "⭐\ufe0f",
    "an eye in a bubble": "👁\ufe0f\u200d🗨\ufe0f",
    "Persian": "می\u200cخواهم",
    "Devanagari": "नमस्ते",
    "Hangul": "안녕하세요",
    "a composed letter": "e\u0301",
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in SEQUENCES.items()])
def test_a_sequence_that_draws_one_sign_stays_whole(text: str) -> None:
    assert visible(f"a {text}{text} b") == f"a {text}{text} b"


@pytest.mark.parametrize(
    "text",
    [
        "😀\ufe0f",
        "1\ufe0f",
        "★\ufe0f",
        "❤\ufe0e",
        "😀\u200d",
        "\u200d😀",
        "a\u200cb",
        "ن\u200c\u200cن",
        "🏴\U000e0067\U000e007f",
    ],
)
def test_a_joiner_or_selector_that_changes_nothing_is_spelled_out(text: str) -> None:
    assert "⟨U+" in visible(text)


def test_the_second_selector_and_the_fourth_joiner_are_spelled_out() -> None:
    assert visible("❤\ufe0f\ufe0f") == "❤\ufe0f⟨U+FE0F⟩"
    assert visible("😀\u200d😀\u200d😀\u200d😀\u200d😀").endswith("😀⟨U+200D⟩😀")


def test_a_space_of_another_width_is_spelled_out_where_people_decide_and_plain_where_they_read() -> None:
    assert (visible("a\u00a0b\u3000"), readable("a\u00a0b\u3000")) == ("a⟨U+00A0⟩b⟨U+3000⟩", "a b ")


TRICKY = st.text(
    st.sampled_from("ab1#\n ❤⭐😀👩🏽🏴ن\u200b\u200c\u200d\ufe0f\ufe0e\u20e3\u00a0\U000e0067\U000e007f⟨⟩"), max_size=60
)


@given(TRICKY, st.integers(20, 40))
def test_a_visible_text_stays_visible_when_it_is_cut(text: str, most: int) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    assert "".join(pieces(shown, most)) == shown
    for part in (*pieces(shown, most), cut(shown, most)):
        assert visible(part) == part


@pytest.mark.proves("card:hidden")
@given(st.text(st.sampled_from("ab1#\n ❤⭐😀👩🏽🏴ن\u200b\ufe0e\u20e3\u00a0\U000e0067\u202e\x07\u2800⟨⟩"), max_size=60))
def test_a_text_without_joiners_and_selectors_is_spelled_out_in_the_same_way_though_faster(text: str) -> None:
    assert visible(text) == HIDDEN.sub(lambda hidden: mark_of(hidden[0]), text)


@pytest.mark.slow
@pytest.mark.proves("card:hidden")
def test_every_single_invisible_character_is_spelled_out() -> None:
    assert [each for each in EVERY if visible(each) != HIDDEN.sub(lambda hidden: mark_of(hidden[0]), each)] == []


@given(TRICKY)
def test_marks_that_nobody_touched_stand_for_their_characters(text: str) -> None:
    read_back = restore_invisible(f"{visible(text)}!", text)
    assert visible(read_back) == f"{visible(text)}!"
    assert read_back == f"{text}!" or "⟨" in text


def test_a_mark_that_somebody_typed_stays_what_they_typed() -> None:
    assert restore_invisible("a⟨U+00A0⟩b⟨U+200B⟩", "a\u00a0b") == "a\u00a0b⟨U+200B⟩"
    assert restore_invisible("⟨U+00A0⟩ ⟨U+00A0⟩!", "⟨U+00A0⟩ \u00a0") == "⟨U+00A0⟩ ⟨U+00A0⟩!"
