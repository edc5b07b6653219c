"""The Chat of the local workspace as a browser without scripts would use it: pages, forms and links over HTTP."""

import asyncio
import html
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import TypeVar

from aiohttp import ClientPayloadError, ClientSession, CookieJar, FormData

from agent_core.text.reply_meaning import meaning_of
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import free_fields, times_in
from tests.scenario.page_forms import sent

T = TypeVar("T")
ARTICLE = re.compile(r'<article class="card [^"]*" id="(?P<id>[^"]+)".*?</article>', re.DOTALL)
CELL = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)
TOLD = re.compile(r'<pre class="told".*?</pre>|<p class="alert".*?</p>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class PageForm:
    """A form of an article."""

    card: "PageCard"
    label: str

    async def sends(self, **filled: str) -> None:
        """Send what was filled in with what the form holds."""
        fields = {"text": filled.get("reason", "")}
        if self.label == "Answer":
            fields = sent(self.card.source[self.card.source.index('id="answer-') :], filled)
        if self.label == "Edit":
            fields = {f"argument.{name}": value for name, value in filled.items()}
        await self.card.chat.send("press", {"button": self.card.button(self.label.lower()), **fields})


@dataclass(frozen=True, slots=True)
class PageLine:
    """A reply as the page would send it."""

    chat: "PageChat"
    fields: dict[str, str]

    async def arrives(self) -> None:
        """Send it."""
        await self.chat.send("say", self.fields)


@dataclass(frozen=True, slots=True)
class PageCard:
    """One article of the page."""

    chat: "PageChat"
    turn: str
    source: str
    command: str = ""

    @property
    def text(self) -> str:
        """What can be read."""
        return text_of(self.source)

    async def press(self, label: str, **filled: str) -> None:
        """Send the form that the label belongs to."""
        if label in ("Edit", "Reject", "Answer"):
            await PageForm(self, label).sends(**filled)
        elif button := re.search(rf'name="button" value="([^"]+)"[^>]*>(?:<svg[^\n]*?</svg> )?{label}<', self.source):
            await self.chat.send("press", {"button": html.unescape(button[1])})
        elif label == "Stop":
            helper = re.search(
                r'name="button" value="(stop:[^"]+)"', self.source
            )  # that of the page's agent is in its head
            await self.chat.send(
                "press", {"button": helper[1] if helper else f"stop:{self.chat.path.split('/')[-1]}:1"}
            )
        else:
            assert label == "Another number…" or label.startswith("Approve ×"), f"{label} is not on the card"
            await self.chat.send("press", {"button": self.button("approve", 0), "times": str(times_in(label))})

    async def opens(self, label: str) -> "PageForm":
        """A form of the card, which is there already."""
        return PageForm(self, label)

    async def now(self) -> str:
        """What the article says now."""
        articles = {article["id"]: article[0] for article in ARTICLE.finditer(await self.chat.page())}
        return text_of(articles[self.turn])

    async def whole(self) -> str:
        """The page of the turn."""
        return text_of(await self.chat.page(f"/t/{self.turn}"))

    async def thoughts(self) -> str:
        """The page of the turn, where a part unfolds."""
        return await self.whole()

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
    seen: set[tuple[str, str]] = field(default_factory=set)
    answers: list[str] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def opened(cls, base: str, name: str, path: str = "") -> AsyncIterator["PageChat"]:
        """Come to the page and say who you are."""
        async with ClientSession(
            cookie_jar=CookieJar(unsafe=True), headers={"Origin": re.sub("//.*@", "//", base)}
        ) as session:
            await session.get(base + "/")
            await session.post(base + "/me", data={"name": name})
            yield cls(base, session, path)

    @property
    def answered(self) -> str:
        """The page that came after what was sent last."""
        return self.answers[-1] if self.answers else ""

    async def new_agent(self, name: str, role: str, *goals: str, free: Sequence[str] = (), dry: bool = False) -> None:
        """Fill in the form and follow where it leads."""
        fields = {
            "name": name,
            "role": role,
            "goals": "\r\n".join(goals),
            **free_fields(free),
            **({"dry.run": "on"} if dry else {}),
        }
        async with self.session.post(f"{self.base}/c/web/local/general/new", data=fields) as answer:
            assert answer.status == 200, await answer.text()
            self.path = answer.url.path

    async def asks_for_a_form(self, behind: str) -> str:
        """Everybody here is a full member."""
        raise NotImplementedError(behind)

    async def asks(self, *commands: str) -> PageCard:
        """Wait for an open card that was not looked at."""
        card = await self.until(lambda page: self._open(page, commands))
        self.seen.add((card.turn, card.button("approve")))
        return card

    async def is_asked(self) -> PageCard:
        """Wait for the card."""

        def found(page: str) -> PageCard | None:
            cards = (PageCard(self, each["id"], each[0]) for each in ARTICLE.finditer(page))
            return next((card for card in cards if 'value="answer:' in card.source), None)

        return await self.until(found)

    async def root(self) -> str:
        """What stands above the thread."""
        header = re.search(r'<header id="top".*?<div id="thread"', await self.page(), re.DOTALL)
        return text_of(header[0]) if header else ""

    async def says(self, text: str) -> None:
        """Write into the reply box, and choose beside it what it is: a question, a reason to reject, else a note."""
        await (await self.writes(text)).arrives()

    async def writes(self, text: str) -> PageLine:
        """Write into the reply box of the page as it is."""
        seen = re.search(r'name="seen" value="([^"]*)"', await self.page())
        mode = {"question": "ask", "feedback": "reject"}.get(meaning_of(text), "note")
        return PageLine(self, {"text": text, "as": mode, "seen": seen[1] if seen else ""})

    async def stops(self) -> None:
        """Press Stop."""
        await self.send("press", {"button": f"stop:{self._agent}:1"})

    async def resume(self) -> None:
        """Press Resume."""
        await self.send("press", {"button": f"resume:{self._agent}:1"})

    async def sees_status(self, text: str) -> bool:
        """Wait until the thread's page says this."""
        return await self.sees(text)

    async def sees(self, text: str) -> bool:
        """Wait until the page can be read to say this."""
        return await self.until(lambda page: text in text_of(page))

    async def told(self, text: str, times: int = 1) -> bool:
        """Whether so much of what was sent was answered with this."""
        told = ("".join(text_of(each[0]) for each in TOLD.finditer(answer)) for answer in self.answers)
        return sum(text in each for each in told) >= times

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
            self.answers.append(await answer.text())
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
            self.answers.append(await answer.text())
            return answer.status, self.answers[-1]

    async def upload(self, where: str, name: str, data: bytes, **others: bytes) -> tuple[int, str]:
        """Send a form with a file, or with several."""
        form = FormData(quote_fields=False)
        for each, content in {name: data, **others}.items():
            form.add_field("file", BytesIO(content), filename=each, content_type="application/octet-stream")
        async with self.session.post(f"{self.base}{self.path}/{where}", data=form) as answer:
            return answer.status, await answer.text()

    async def page(self, behind: str = "") -> str:
        """The thread's page, or one behind it."""
        async with self.session.get(self.base + self.path + behind) as answer:
            return await answer.text()

    async def until(self, found: Callable[[str], T | None]) -> T:
        """Look at the page again after each change, until `found` gives something."""
        async with asyncio.timeout(PATIENCE_SECONDS), self.session.get(f"{self.base}/events") as stream:
            while not (value := found(await self.page())):
                while not (line := await stream.content.readline()).startswith(b"data:"):
                    if not line:
                        raise ClientPayloadError("The page ended its stream.")
            return value

    @property
    def _agent(self) -> str:
        return self.path.rpartition("/")[2]

    def _open(self, page: str, commands: Sequence[str]) -> PageCard | None:
        for article in ARTICLE.finditer(page):
            command = next((each for each in commands if f"· {each}, " in article[0].partition(">")[0]), "")
            if not command or 'value="approve:' not in article[0]:
                continue
            card = PageCard(self, article["id"], article[0], command)
            if (card.turn, card.button("approve")) not in self.seen:
                return card
        return None


def text_of(source: str) -> str:
    """What is left of HTML without its tags."""
    return html.unescape(re.sub(r"<[^>]+>", "", source))
