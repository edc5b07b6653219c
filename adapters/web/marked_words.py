"""Marks the words of a search in the HTML of one entry of a thread, and opens what is folded around them. Pure."""

import re
from collections.abc import Iterator, Sequence
from html import unescape

from markupsafe import Markup

from agent_core.model.text_search import spans_of

_TAG = re.compile(r"(<[^>]*>)")  # Jinja escapes > in the values of attributes
_CHARACTER = re.compile(r"&[#\w]+;|.", re.DOTALL)
_UNMARKED = ("textarea", "option", "button")  # elements whose text is a value or a name of a control
_FOLD = "details"


def mark_words(html: Markup, words: Sequence[str]) -> Markup:
    """The HTML with these folded words in `mark` elements, and with every `details` open that has one of them.

    A word that goes on in another element is not marked. Without words, the HTML is unchanged.
    """
    if not words:
        return html
    pieces: list[str] = []
    folds: list[int] = []  # where in `pieces` the tags of the elements are that are folded here
    unmarked = 0
    for piece in _TAG.split(html):
        is_end, name = piece.startswith("</"), _name_of(piece)
        if name == _FOLD:
            folds = folds[:-1] if is_end else [*folds, len(pieces)]
        if name in _UNMARKED:
            unmarked += -1 if is_end else 1
        marked = piece if name or unmarked else "".join(_marked(piece, words))
        if marked != piece:
            for place in folds:
                pieces[place] = pieces[place].replace(" open>", ">").replace(">", " open>")
        pieces.append(marked)
    return Markup("".join(pieces))  # noqa: S704  # the same tags and the same escaped text, with tags of our own


def _name_of(piece: str) -> str:
    """The name of the element of a tag, "" for text."""
    return piece.strip("</>").split()[0].casefold() if piece.startswith("<") else ""


def _marked(escaped: str, words: Sequence[str]) -> Iterator[str]:
    """The escaped text with the words marked."""
    characters = [(each, plain) for each in _CHARACTER.findall(escaped) for plain in unescape(each)]
    start = 0
    for begin, end in spans_of("".join(plain for _, plain in characters), words):
        yield "".join(each for each, _ in characters[start:begin])
        yield f"<mark>{''.join(each for each, _ in characters[begin:end])}</mark>"
        start = end
    yield "".join(each for each, _ in characters[start:])
