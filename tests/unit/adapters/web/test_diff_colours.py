"""The colours of code in a diff can be read on each of its grounds, in light and dark."""

import re
from itertools import product
from pathlib import Path

import pytest

from adapters.web.page_context import STATIC

GROUNDS = ("paper", "add", "cut", "add-in", "cut-in", "rail")
INKS = ("ink", "hue-word", "hue-text", "hue-number", "hue-name", "hue-note")
PLAIN_GROUNDS = ("paper", "add", "cut", "rail")  # those of numbers and of what is left out
MIN_CONTRAST = 4.5  # https://www.w3.org/TR/WCAG22/#contrast-minimum


def colours(path: Path) -> dict[str, tuple[str, str]]:
    """The colours that a stylesheet names: light and dark."""
    found = re.finditer(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", path.read_text(encoding="utf-8"))
    return {each[1]: (each[2], each[3]) for each in found}


def brightness(colour: str) -> float:
    """The relative luminance: https://www.w3.org/TR/WCAG22/#dfn-relative-luminance."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * each for each in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_every_colour_of_a_diff_stands_out_from_each_ground(theme: int) -> None:
    named = colours(STATIC / "tokens.css") | colours(STATIC / "page.css")
    pairs = (*product(INKS, GROUNDS), *product(["soft"], PLAIN_GROUNDS))
    lights = {pair: sorted(brightness(named[name][theme]) for name in pair) for pair in pairs}
    assert [pair for pair, (low, high) in lights.items() if (high + 0.05) / (low + 0.05) < MIN_CONTRAST] == []
