"""Words of a search in the HTML of a card: what is marked, what stays as it is, and what is opened."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markupsafe import Markup, escape

from adapters.web.marked_words import mark_words

CARD = (
    '<p aria-label="red"></p><details class="fold"><summary>1</summary><p>a red</p>'
    "<details><summary>Command</summary><pre>RED &amp; blue</pre></details>"
    "<details open><summary>More</summary><textarea>red</textarea><button>red</button></details></details>"
)


def test_words_are_marked_in_text_alone_and_what_is_folded_around_them_is_open() -> None:
    assert mark_words(Markup(CARD), ["red"]) == (
        '<p aria-label="red"></p><details class="fold" open><summary>1</summary><p>a <mark>red</mark></p>'
        "<details open><summary>Command</summary><pre><mark>RED</mark> &amp; blue</pre></details>"
        "<details open><summary>More</summary><textarea>red</textarea><button>red</button></details></details>"
    )
    assert mark_words(Markup(CARD), ["blue"]).count(" open>") == 3
    assert mark_words(Markup(CARD), ["green"]) == mark_words(Markup(CARD), []) == CARD


@pytest.mark.parametrize(
    ("text", "word", "marked"),
    [
        ("die Straße", "strasse", "die <mark>Straße</mark>"),
        ("هذا تقرير عن", "تقرير", "هذا <mark>تقرير</mark> عن"),
        ("a & b", "&", "a <mark>&amp;</mark> b"),
        ("a && b", "amp", "a &amp;&amp; b"),
        ("<script>", "<script>", "<mark>&lt;script&gt;</mark>"),
        ("it's", "'s", "it<mark>&#39;s</mark>"),
    ],
)
def test_a_word_is_marked_as_it_is_written(text: str, word: str, marked: str) -> None:
    assert mark_words(escape(text), [word]) == marked


@example("ß", ["s"])
@given(st.text(alphabet="ab<>&\"'; #39ßs"), st.lists(st.text(alphabet="ab<>&;s", min_size=1, max_size=3), max_size=3))
def test_marks_change_nothing_but_add_marks(text: str, words: list[str]) -> None:
    html = Markup("<p>{}</p>").format(text)
    marked = mark_words(html, words)
    assert marked.replace("<mark>", "").replace("</mark>", "") == html
