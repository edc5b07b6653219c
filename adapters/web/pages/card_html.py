"""The HTML of code and Markdown on cards. Processes make it, so a page that lacks some is drawn twice."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

from adapters.screens.visible_text import readable
from agent_core.ports.documents import HtmlRenderer

Text: TypeAlias = tuple[str, str, str]
MAX_MADE = 256
MAX_MADE_AT_ONCE = 12  # for one page
MAX_SECONDS = 2.0  # then the page is drawn plainly; the next time it has what was made in the meantime
OUTSIDE = ".."  # a folder that is not in the workspace, so that a card loads no pictures


@dataclass(frozen=True, slots=True)
class CardHtml:
    """What was made of the newest texts: by kind (code or markdown), name of the file, and text. "" for what failed."""

    renderer: HtmlRenderer
    made: dict[Text, str] = field(default_factory=dict)
    tasks: dict[Text, asyncio.Task[None]] = field(default_factory=dict)

    async def draw(self, draw: Callable[..., str]) -> str:
        """What `draw` gives in a thread. Its argument `html_of` gives what was made; if it lacked some, draw again."""
        wanted: dict[Text, None] = {}

        def html_of(kind: str, name: str, text: str) -> str:
            html = self.made.get((kind, name, text))
            if html is None:
                wanted[kind, name, text] = None
            return html or ""

        drawn = await asyncio.to_thread(draw, html_of=html_of)
        if not wanted:
            return drawn
        await asyncio.wait(list(map(self._start, islice(wanted, MAX_MADE_AT_ONCE))), timeout=MAX_SECONDS)
        return await asyncio.to_thread(draw, html_of=html_of)

    def _start(self, asked: Text) -> asyncio.Task[None]:
        """The task that makes it, which other pages may wait for too."""
        if asked not in self.tasks:
            self.tasks[asked] = asyncio.create_task(self._make(*asked))
            self.tasks[asked].add_done_callback(lambda _task: self.tasks.pop(asked))
        return self.tasks[asked]

    async def _make(self, kind: str, name: str, text: str) -> None:
        """The renderer has limits of its own, and gives "" for a text that takes too long."""
        if kind == "code":
            html = await self.renderer.render_code(name, text)
        else:
            html = await self.renderer.render_markdown(text, folder=OUTSIDE, files="/-/")
        self.made[kind, name, text] = readable(html)
        if len(self.made) > MAX_MADE:
            del self.made[next(iter(self.made))]
