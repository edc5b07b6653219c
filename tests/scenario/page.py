"""The Chat of the local workspace as a browser without scripts would use it: pages, forms and links over HTTP."""

import asyncio
import html
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import TypeVar

from aiohttp import ClientPayloadError, ClientSession, CookieJar, FormData

T = TypeVar("T")
ARTICLE = re.compile(r'<article class="card [^"]*" id="(?P<id>[^"]+)".*?</article>', re.DOTALL)
CELL = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)
TOLD = re.compile(r'<pre class="told".*?</pre>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class PageCard:
    """One article of the page."""

    chat: "PageChat"
    turn: str
    source: str

    @property
    def text(self) -> str:
        """What can be read."""
        return text_of(self.source)

    async def press(self, label: str, **filled: str) -> None:
        """Send the form that the label belongs to."""
        if label == "Edit":
            fields = {f"argument.{name}": value for name, value in filled.items()}
            await self.chat.send("press", {"button": self.button("edit"), **fields})
        elif label == "Reject":
            await self.chat.send("press", {"button": self.button("reject"), "text": filled["reason"]})
        else:
            button = re.search(rf'name="button" value="([^"]+)"[^>]*>{label}<', self.source)
            assert button, f"{label} is not on the card"
            await self.chat.send("press", {"button": html.unescape(button[1])})

    def button(self, verb: str, times: int = 1) -> str:
        """What the button of this verb carries on the card as it was looked at."""
        found = re.search(rf'value="({verb}:{self.turn}:{times}(?::[0-9a-f]+)?)"', self.source)
        assert found, f"{verb} is not on the card"
        return found[1]


@dataclass(slots=True)
class PageChat:
    """One person with a cookie of their own."""

    base: str
    session: ClientSession
    path: str = ""
    seen: set[str] = field(default_factory=set)
    answered: str = ""

    @classmethod
    @asynccontextmanager
    async def opened(cls, base: str, name: str, path: str = "") -> AsyncIterator["PageChat"]:
        """Come to the page and say who you are."""
        async with ClientSession(cookie_jar=CookieJar(unsafe=True), headers={"Origin": base}) as session:
            await session.get(base + "/")
            await session.post(base + "/me", data={"name": name})
            yield cls(base, session, path)

    async def new_agent(self, name: str, role: str, *goals: str) -> None:
        """Fill in the form and follow where it leads."""
        fields = {"name": name, "role": role, "goals": "\r\n".join(goals)}
        async with self.session.post(f"{self.base}/c/web/local/general/new", data=fields) as answer:
            assert answer.status == 200, await answer.text()
            self.path = answer.url.path

    async def asks(self, command: str) -> PageCard:
        """Wait for an open card that was not looked at."""
        card = await self.until(lambda page: self._open(page, command))
        self.seen.add(card.turn)
        return card

    async def says(self, text: str) -> None:
        """Write into the reply box."""
        seen = re.search(r'name="seen" value="([^"]*)"', await self.page())
        _, self.answered = await self.send("say", {"text": text, "seen": seen[1] if seen else ""})

    async def resume(self) -> None:
        """Press Resume."""
        agent = self.path.rpartition("/")[2]
        await self.send("press", {"button": f"resume:{agent}:1"})

    async def sees(self, text: str) -> bool:
        """Wait until the page can be read to say this."""
        return await self.until(lambda page: text in text_of(page))

    async def told(self, text: str) -> bool:
        """Whether the last reply was answered with this."""
        return any(text in text_of(told[0]) for told in TOLD.finditer(self.answered))

    async def file(self, path: str) -> str:
        """Download a file."""
        async with self.session.get(f"{self.base}{self.path}/files/{path}") as answer:
            assert answer.headers["Content-Disposition"].startswith("attachment")
            return await answer.text()

    async def audit(self) -> str:
        """Go from the channel's page to its log, and look for the agent there."""
        channel = self.path.partition("/a/")[0]
        found = re.search(r"<h1><bdi>(.*?)</bdi>", await self.page())
        assert found
        async with self.session.get(self.base + channel) as page:
            assert f'href="{channel}/audit"' in await page.text()
        asked = {"agent": html.unescape(found[1])}
        async with self.session.get(f"{self.base}{channel}/audit", params=asked) as answer:
            self.answered = await answer.text()
        return " · ".join(text_of(cell[0]) for cell in CELL.finditer(self.answered))

    async def audit_file(self) -> str:
        """Follow the page's link."""
        link = re.search(r'href="([^"]+jsonl[^"]*)" download', self.answered)
        assert link
        async with self.session.get(self.base + html.unescape(link[1])) as answer:
            assert answer.headers["Content-Disposition"].startswith("attachment")
            return await answer.text()

    async def reads_reply(self) -> str:
        """Open what is folded away under the notice."""
        shown = re.search(r"<details><summary>Show reply</summary>(.*?)</details>", await self.page(), re.DOTALL)
        assert shown
        return text_of(shown[1])

    async def send(self, where: str, fields: dict[str, str]) -> tuple[int, str]:
        """Send a form of the thread's page, or of one behind it."""
        async with self.session.post(f"{self.base}{self.path}/{where}", data=fields) as answer:
            return answer.status, await answer.text()

    async def upload(self, where: str, name: str, data: bytes) -> tuple[int, str]:
        """Send a form with a file."""
        form = FormData(quote_fields=False)
        form.add_field("file", BytesIO(data), filename=name, content_type="application/octet-stream")
        async with self.session.post(f"{self.base}{self.path}/{where}", data=form) as answer:
            return answer.status, await answer.text()

    async def page(self, behind: str = "") -> str:
        """The thread's page, or one behind it."""
        async with self.session.get(self.base + self.path + behind) as answer:
            return await answer.text()

    async def until(self, found: Callable[[str], T | None]) -> T:
        """Look at the page again after each change, until `found` gives something."""
        async with asyncio.timeout(20), self.session.get(f"{self.base}/events") as stream:
            while not (value := found(await self.page())):
                while not (line := await stream.content.readline()).startswith(b"data:"):
                    if not line:
                        raise ClientPayloadError("The page ended its stream.")
            return value

    def _open(self, page: str, command: str) -> PageCard | None:
        for article in ARTICLE.finditer(page):
            is_asked = f"· {command}</h2>" in article[0] and "Approve ×N" in article[0]
            if is_asked and article["id"] not in self.seen:
                return PageCard(self, article["id"], article[0])
        return None


def text_of(source: str) -> str:
    """What is left of HTML without its tags."""
    return html.unescape(re.sub(r"<[^>]+>", "", source))
