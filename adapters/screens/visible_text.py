"""Makes invisible characters visible, and back: a character without a glyph is written as ⟨U+200B⟩.

Spaces, tabs and line ends are kept. Invisible characters are kept only where they change what is seen: U+200D and
U+FE0F inside an emoji sequence, and U+200C between two letters that would join without it. The length of these
sequences is bounded, so `text_fit.beginning` can keep each of them whole and never exposes an invisible character.
"""

import re
from typing import Any

import regex

# https://www.unicode.org/reports/tr51/ (ED-16, ED-17): the longest sequences in use have three joiners.
_SEQUENCES = r"""
    (?(DEFINE)
      (?P<emoji>[\p{Emoji}&&\p{Extended_Pictographic}])
      (?P<restyled>[\p{Emoji}&&\p{Extended_Pictographic}--[\p{Emoji_Presentation}&&[\U00010000-\U0010FFFF]]])
      (?P<element>(?:(?&restyled)\uFE0F|(?&emoji))\p{Emoji_Modifier}?))
    (?: \U0001F3F4(?:\U000E0067\U000E0062(?:\U000E0065\U000E006E\U000E0067|\U000E0073\U000E0063\U000E0074
          |\U000E0077\U000E006C\U000E0073)\U000E007F)
      | (?&element)(?:\u200D(?&element)){0,3}
      | [\#*0-9]\uFE0F\u20E3
      | (?<=[\p{Joining_Type=L}\p{Joining_Type=D}])\u200C(?=[\p{Joining_Type=R}\p{Joining_Type=D}]) )
"""
# Characters with a blank glyph or none, although Unicode does not call them ignorable.
_BLANK = r"\u2800\uFFFC\u2D7F\U00016FE4\U0001107F\U0001BC9D\U0001D159\U00013441\U00013442"
_HIDDEN = "".join(
    (
        r"\r(?!\n)|[[\p{Cc}--[\t\n\r]][\p{Cf}--\p{Prepended_Concatenation_Mark}][\p{Zs}--[\x20]]",
        r"\p{Default_Ignorable_Code_Point}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}",
        rf"{_BLANK}]",
    )
)
_CANDIDATE: regex.Pattern[str] = regex.compile(_HIDDEN, regex.VERSION1)
HIDDEN: regex.Pattern[str] = regex.compile(
    rf"{_SEQUENCES}(*SKIP)(*FAIL)|{_HIDDEN}", regex.VERBOSE | regex.VERSION1 | regex.UNICODE
)
# In a text without these, whether a character is hidden does not depend on its neighbours.
_HAS_CONTEXT = re.compile("[\r\u200c\u200d\ufe0f\U000e007f]")
_OTHER_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
# Visible characters. Most texts have no others, and `re` checks that ten times faster than `regex`.
PLAIN = re.compile(
    "[\x20-\x7e\n\t\u00a1-\u00ac\u00ae-\u034e\u0400-\u052f\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2190-\u22ff\u2500-\u25ff"
    "\u27e8\u27e9\u3041-\u3096\u30a1-\u30ff\u4e00-\u9fff\uac00-\ud7a3]*"
)
_MARKED = re.compile(r"⟨U\+([0-9A-F]{4,6})⟩")


class Readable(str):
    """A text that `readable` made, off the event loop because it is long. `finalized` does not search it again."""

    __slots__ = ()


def visible(text: str) -> str:
    """The text with every invisible character written as its mark: people approve only what they see."""
    if _is_plain(text):
        return text
    if not _HAS_CONTEXT.search(text):
        return text.translate({ord(each): mark_of(each) for each in set(text) if _CANDIDATE.match(each)})
    spelled_out: str = HIDDEN.sub(lambda hidden: mark_of(hidden[0]), text)
    return spelled_out


def readable(text: str) -> str:
    """Like `visible`, for texts that people do not decide on: Unicode spaces become plain spaces."""
    return text if _is_plain(text) else visible(_OTHER_SPACES.sub(" ", text))


def one_line(text: str) -> str:
    """The text on one line, with invisible characters written as marks."""
    return " ".join(readable(text).split())


def restore_invisible(text: str, original: str) -> str:
    """Undo `visible`: replace each mark by its character if `original` has that character and not the mark itself."""
    if "⟨" not in text:
        return text
    found = {mark_of(hidden[0]): hidden[0] for hidden in HIDDEN.finditer(original)}
    return _MARKED.sub(lambda mark: found.get(mark[0], mark[0]) if mark[0] not in original else mark[0], text)


def mark_of(character: str) -> str:
    """The mark of an invisible character: ⟨U+200B⟩."""
    return f"⟨U+{ord(character):04X}⟩"


def finalized(value: Any) -> Any:
    """Jinja's `finalize`: makes text readable and leaves `Readable` and markup unchanged."""
    return readable(value) if type(value) is str else value


def _is_plain(text: str) -> bool:
    return PLAIN.fullmatch(text) is not None or not _CANDIDATE.search(text)
