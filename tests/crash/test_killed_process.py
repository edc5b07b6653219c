"""The real process is killed before or after any save. Started again, it carries on: nothing is lost or doubled."""

import json
import re
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import ClientError

from agent_core.model.records.audit import RAN
from tests.crash.dying import Moment
from tests.crash.test_every_save import GOALS
from tests.e2e.process import Program, free_port, program
from tests.scenario.page import ARTICLE, PageCard, PageChat

CHANNEL = "/c/web/local/general"
SAVES = 36  # more than a whole story takes: the last cases die nowhere and show that
STORY = [("1", "write_to_file"), ("2", "append_to_file"), ("3", "read_file"), ("4", "task_complete")]


@dataclass(slots=True)
class Person(PageChat):
    """Somebody who approves whatever is asked, and remembers each click that the page confirmed."""

    confirmed: list[str] = field(default_factory=list)

    async def work(self) -> None:
        """Go on from what there is until the agent is done; raise ClientError when the page goes away."""
        self.path = await self.found() or await self.made()
        while isinstance(card := await self.until(self.asked), PageCard):
            await card.press("Approve")  # nobody is asked whether a command ran: the file tells

    async def found(self) -> str:
        """Where the agent is, if it is there."""
        async with self.session.get(self.base + CHANNEL) as answer:
            link = re.search(rf'href="({CHANNEL}/a/[^"]+)"', await answer.text())
        return link[1] if link else ""

    async def made(self) -> str:
        """Where the agent is that the form has made."""
        fields = {"button": "created", "name": "Clerk", "goals": "\n".join(GOALS)}
        self.path = CHANNEL
        await self.send("new", fields)
        return await self.found()

    def asked(self, page: str) -> PageCard | str | None:
        """The card that waits, or a word when the agent is done."""
        for article in ARTICLE.finditer(page):
            assert 'value="run again:' not in article[0], article[0]
            if 'value="approve:' in article[0]:
                return PageCard(self, article["id"], article[0])
        return "done" if "Clerk is done" in page else None

    async def send(self, where: str, fields: dict[str, str]) -> tuple[int, str]:
        """Send a form; to be led on is the page's word that it is done."""
        async with self.session.post(f"{self.base}{self.path}/{where}", data=fields, allow_redirects=False) as answer:
            if answer.status == 303:
                self.confirmed.append(fields["button"].partition(":")[0])
            return answer.status, await answer.text()

    async def recorded(self) -> list[str]:
        """What she did, as the decision log keeps it; a command that was cut off has a row of its own."""
        async with self.session.get(f"{self.base}{self.path}/decision-log.jsonl") as answer:
            rows = [json.loads(line) for line in (await answer.text()).splitlines()]
        return ["approve" if row["act"] == RAN else row["act"] for row in rows if row["outcome"] != "interrupted"]


@asynccontextmanager
async def person_at(base: str) -> AsyncIterator[Person]:
    """Ana with a cookie of her own."""
    async with PageChat.opened(base, "ana") as chat:
        yield Person(chat.base, chat.session)


@pytest.mark.slow
@pytest.mark.proves("crash:killed")
@pytest.mark.parametrize("moment", ["before", "after"])
# The first save is made before anybody can come to the page.
@pytest.mark.parametrize("save", range(2, SAVES + 1))
async def test_a_story_survives_the_death_of_its_process_at_any_save(tmp_path: Path, save: int, moment: Moment) -> None:
    port = str(free_port())
    async with (
        program(tmp_path, "tests.crash.killer", PORT=port, DIES_AT=str(save), DIES=moment) as mortal,
        person_at(mortal.address) as ana,
    ):
        with suppress(ClientError):
            await ana.work()
        assert await is_killed(mortal) or saves_of(mortal) < save
        async with program(tmp_path, PORT=port):
            await ana.work()
            cards = [found[0] for found in ARTICLE.finditer(await ana.page())]
            assert await ana.file("a.txt") == "onetwo"
            assert [heading(card) for card in cards] == STORY
            assert all('class="card good' in card for card in cards)
            recorded = Counter(await ana.recorded())
    assert Counter(ana.confirmed) <= recorded
    assert (recorded["created"], recorded["approve"]) == (1, 4)


@pytest.mark.slow
async def test_the_story_takes_fewer_saves_than_processes_are_killed_at(tmp_path: Path) -> None:
    async with (
        program(tmp_path, "tests.crash.killer", DIES_AT="0", DIES="before") as counted,
        person_at(counted.address) as ana,
    ):
        await ana.work()
        await counted.stop()
        await counted.listen()
    assert 10 < saves_of(counted) < SAVES


async def is_killed(mortal: Program) -> bool:
    """End it if it lives, and tell whether it had come to its death."""
    mortal.send(signal.SIGTERM)
    code = await mortal.ended()
    await mortal.listen()
    assert code in (0, -signal.SIGKILL), mortal.output
    return code != 0


def saves_of(ended: Program) -> int:
    """How many saves it says it made."""
    said = re.search(r"It made (\d+) saves", ended.output)
    assert said, ended.output
    return int(said[1])


def heading(card: str) -> tuple[str, str]:
    """The number and the command of a card."""
    found = re.search(r'aria-label="Clerk · turn (\d+) · (\w+),', card)
    assert found, card
    return found[1], found[2]
