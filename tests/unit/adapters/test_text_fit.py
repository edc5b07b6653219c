"""Texts cut to a length: what is drawn as one character stays together."""

import pytest

from adapters.screens.text_fit import beginning, pieces

DRAWN_AS_ONE = {
    "skin tone": "\U0001f44d\U0001f3fd",
    "flag": "\U0001f1e9\U0001f1ea",
    "syllable": "\u1100\u1161\u11a8",
    "accent": "e\u0301",
    "joined": "\U0001f469\u200d\U0001f4bb",
    "keycap": "1\ufe0f\u20e3",
    "line end": "\r\n",
    "virama": "\u0b95\u0bcd",
    "non-joiner": "\u0647\u200c\u0627",
}


@pytest.mark.parametrize("drawn", DRAWN_AS_ONE.values(), ids=DRAWN_AS_ONE)
def test_no_cut_goes_through_what_is_drawn_as_one(drawn: str) -> None:
    text = f"ab{drawn}cd"
    cuts = {beginning(text, most) for most in range(3, 12)}
    assert all(len(cut) <= 2 or cut.startswith(f"ab{drawn}") for cut in cuts), cuts


def test_flags_in_a_row_are_cut_between_flags() -> None:
    assert beginning("🇩🇪🇫🇷🇮🇹", 11) == "🇩🇪🇫🇷"


def test_one_endless_character_is_cut_all_the_same() -> None:
    text = "e" + "\u0301" * 500
    assert "".join(pieces(text, 100)) == text
    assert max(map(len, pieces(text, 100))) <= 100
