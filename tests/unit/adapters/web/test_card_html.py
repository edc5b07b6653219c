"""What a page asks of the renderer while it is drawn is there when it is drawn again, and is made once."""

import asyncio
from dataclasses import dataclass, field

import pytest

from adapters.web.diff_lines import HtmlOf
from adapters.web.pages import card_html
from adapters.web.pages.card_html import CardHtml


@dataclass
class CountingRenderer:
    """Renders at once, but a text "slow" when it is `done`."""

    asked: list[str] = field(default_factory=list)
    done: asyncio.Event = field(default_factory=asyncio.Event)

    async def render_code(self, name: str, text: str) -> str:
        self.asked.append(f"{name}: {text}")
        if text == "slow":
            await self.done.wait()
        return f"<b>{text}</b>"

    async def render_markdown(self, text: str, *, folder: str, files: str) -> str:
        self.asked.append(text)
        return f"<p>{text}</p>"


async def test_a_page_is_drawn_again_with_what_it_lacked_and_the_next_time_once() -> None:
    texts, drawn = CardHtml(renderer := CountingRenderer()), []

    def draw(html_of: HtmlOf) -> str:
        drawn.append(html_of("code", "a.py", "x") + html_of("markdown", "a.md", "y\u200b"))
        return drawn[-1]

    assert await texts.draw(draw) == "<b>x</b><p>y⟨U+200B⟩</p>"
    assert await texts.draw(draw) == drawn[1]
    assert (len(drawn), sorted(renderer.asked)) == (3, ["a.py: x", "y\u200b"])


async def test_a_page_does_not_wait_long_and_the_next_one_has_what_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card_html, "MAX_SECONDS", 0.0)
    texts = CardHtml(renderer := CountingRenderer())
    for _ in range(2):
        assert await texts.draw(lambda html_of: html_of("code", "a.py", "slow")) == ""
    renderer.done.set()
    await asyncio.gather(*texts.tasks.values())
    assert await texts.draw(lambda html_of: html_of("code", "a.py", "slow")) == "<b>slow</b>"
    assert renderer.asked == ["a.py: slow"]


async def test_one_page_asks_for_few_texts_and_the_oldest_are_forgotten() -> None:
    texts = CardHtml(renderer := CountingRenderer())
    await texts.draw(lambda html_of: "".join(html_of("code", "a.py", str(number)) for number in range(50)))
    assert len(renderer.asked) == card_html.MAX_MADE_AT_ONCE
    texts.made.update({("code", "b.py", str(number)): "" for number in range(card_html.MAX_MADE)})
    await texts.draw(lambda html_of: html_of("code", "c.py", ""))
    assert ("code", "a.py", "0") not in texts.made
