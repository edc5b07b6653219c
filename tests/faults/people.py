"""The people of a storm: each has one agent at a time, looks at it on a random web and clicks, also twice."""

import html
import random
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import ClientError, ClientSession, ClientTimeout, CookieJar

from agent_core.providers.clock import SystemClock
from tests.faults.machines import Machine, StormEnd
from tests.faults.model import is_shell
from tests.scenario.chat import free_fields
from tests.scenario.page import ARTICLE, TOLD, text_of

CLOCK = SystemClock()
WORD = re.compile(r"\bw\d+x\d+\b")
BUTTON = re.compile(r'value="((?:approve|run again|it ran|skip|resume):[^"]+)"')
TAKEN = 303  # how the page answers a form that it took
PATIENT = ClientTimeout(total=15)
LOOK_SECONDS = 0.4  # between two looks
BUDGET, BUDGET_EVERY = 3, 3  # US dollars, and of how many agents one has a budget: it is reached in the middle
STOP_SHARE = 0.01  # of the looks at an agent that is at work


def told_in(page: str) -> str:
    """What a page tells of a form that it did not take."""
    found = TOLD.search(page)
    return found[0] if found else page[:200]


def buttons(article: str) -> dict[str, str]:
    """What the buttons of a card send, by verb; `approve several` is the one that approves so often as is filled in."""
    found = {}
    for each in BUTTON.findall(html.unescape(article)):
        verb, _, times = each.split(":")[:3]
        found[{"approve0": "approve several", "approve1": "approve"}.get(verb + times, verb + times)] = each
    return found


@dataclass(slots=True)
class Seen:
    """What the people of a storm saw: words whose approval was acknowledged, by agent; questions; agents by number.

    `stops`: words whose command a Stop may have withdrawn or ended.
    `reached`: how many calls each agent whose budget was reached had made until then, without those that a fault or a
    Stop may have cut off.
    """

    approved: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    agents: dict[int, str] = field(default_factory=dict)
    finished: set[int] = field(default_factory=set)
    questions: list[str] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    stops: set[str] = field(default_factory=set)
    reached: dict[int, int] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    pages: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True)
class Person:
    """One person, who makes no more agents once the storm is over.

    `word`: the newest that they approved for their agent. `stopped`: how often they stopped it.
    `is_raised`: they raised its budget. `calls`: the calls of each agent.
    `befallen`: the faults until now. `before`: how many those were when the agent was made.
    """

    name: str
    files: Path
    calls: Mapping[int, int]
    befallen: Mapping[str, int]
    webs: tuple[Machine, ...]
    seen: Seen
    chance: random.Random
    end: StormEnd
    session: ClientSession = field(init=False)
    known: set[str] = field(default_factory=set)
    path: str = ""
    agent: int = 0
    word: str = ""
    stopped: int = 0
    before: int = 0
    is_raised: bool = False

    async def live(self, first: int, step: int) -> None:
        """Make agents and see each through to its end."""
        self.agent = first - step
        async with ClientSession(cookie_jar=CookieJar(unsafe=True), timeout=PATIENT) as self.session:
            while not self.end.is_over:
                self.agent += step
                if not await self._make():
                    continue
                while self.agent not in self.seen.finished and not self.end.is_given_up:
                    await self._look()
                    await CLOCK.sleep(self.chance.uniform(0, 2 * LOOK_SECONDS))

    async def _make(self) -> bool:
        free = ("write",) if self.chance.random() < 0.5 else ()
        self.word, self.stopped, self.is_raised = "", 0, False
        self.before = sum(self.befallen.values())
        budget = {"budget": str(BUDGET)} if self.agent % BUDGET_EVERY == 0 else {}
        fields = {"name": f"Agent{self.agent}", "role": "works", "goals": "Work", **budget, **free_fields(free)}
        status, where = await self._send("/c/web/local/general/new", fields)
        if status == TAKEN:
            self.path = where
            self.seen.agents[self.agent] = where.rpartition("/")[2]
        return status == TAKEN

    async def _look(self) -> None:
        page = await self._page()
        text = text_of(page)
        self.seen.pages[self.agent] = text or self.seen.pages.get(self.agent, "")
        for fault in ("went wrong", "Server got itself in trouble"):
            if fault in text:
                self._trouble(fault, text)
        if f"Agent{self.agent} is done:" in text:
            self.seen.finished.add(self.agent)
            return
        for article in ARTICLE.finditer(page):
            verbs = buttons(article[0])
            if "approve" in verbs or "run again1" in verbs:
                await self._decide(verbs, article[0])
                return
        if resume := re.search(r'value="(resume:[^"]+)"', page):
            await self._resume(resume[1], text)
        elif page and self.chance.random() < STOP_SHARE:
            self.stopped += 1
            self.seen.stops.add(self.word)
            await self._send(f"{self.path}/press", {"button": f"stop:{self.path.rpartition('/')[2]}:1"})

    async def _resume(self, button: str, text: str) -> None:
        """Resume an agent; before that, raise its budget if that was reached."""
        if "budget is reached" in text and not self.is_raised:
            await self._raise_budget()
        elif not self.stopped and not self.is_raised:
            self._trouble("paused", text)
        await self._send(f"{self.path}/press", {"button": button})

    async def _raise_budget(self) -> None:
        cut_off = sum(self.befallen.values()) - self.before + self.stopped
        self.seen.reached.setdefault(self.agent, self.calls[self.agent] - cut_off)
        status, _ = await self._send(f"{self.path}/budget", {"budget": "1000"})
        self.is_raised = status == TAKEN

    async def _decide(self, verbs: dict[str, str], article: str) -> None:
        word = next(iter(WORD.findall(text_of(article))), "")
        if "run again1" in verbs and word and is_shell(word):
            has_run = word in WORD.findall(" ".join(path.read_text() for path in self._folder.glob("*.txt")))
            await self._send(f"{self.path}/press", {"button": verbs["it ran1" if has_run else "run again1"]})
        elif "run again1" in verbs:
            if word not in self.seen.asked:
                self.seen.questions.append(f"{CLOCK.now():%H:%M:%S} {self.path}: {' '.join(text_of(article).split())}")
            self.seen.asked.add(word)
            await self._send(f"{self.path}/press", {"button": verbs["it ran1"]})
        elif "approve" in verbs:
            if "task_complete" not in article and self.chance.random() < 0.05:
                await self._write()
            elif "approve several" in verbs and self.chance.random() < 0.6:
                await self._click(word, {"button": verbs["approve several"], "times": "5"})
            else:
                for _ in range(self.chance.choice((1, 1, 1, 2))):
                    await self._click(word, {"button": verbs["approve"]})

    @property
    def _folder(self) -> Path:
        return self.files / self.seen.agents[self.agent]

    async def _click(self, word: str, fields: dict[str, str]) -> None:
        self.word = word
        status, _ = await self._send(f"{self.path}/press", fields)
        if status == TAKEN:
            self.seen.approved[word] = self.seen.agents[self.agent]

    async def _write(self) -> None:
        note = f"note{self.agent}x{self.chance.randrange(10**9)}"
        status, _ = await self._send(f"{self.path}/say", {"text": note, "seen": ""})
        if status == TAKEN:
            self.seen.notes[note] = f"Agent{self.agent}"

    def _trouble(self, kind: str, text: str) -> None:
        """Keep the first of a kind for each agent, with the end of its page."""
        if (key := f"{kind} Agent{self.agent} ") not in self.known:
            self.known.add(key)
            self.seen.troubles.append(f"{CLOCK.now():%H:%M:%S} {key}({self.path}): {' '.join(text.split())[-1500:]}")

    async def _page(self) -> str:
        web = self.chance.choice(self.webs)
        try:
            await self._meet(web)
            async with self.session.get(web.address + self.path) as answer:
                self.seen.answers[f"page {answer.status}"] += 1
                return await answer.text() if answer.status in (200, 500) else ""
        except (ClientError, TimeoutError) as fault:
            self.seen.answers[f"page {type(fault).__name__}"] += 1
            return ""

    async def _send(self, path: str, fields: dict[str, str]) -> tuple[int, str]:
        """Send a form to a random web: the status and where it leads. 0 if nobody knows whether it arrived."""
        web = self.chance.choice(self.webs)
        kind = path.rpartition("/")[2]
        headers = {"Origin": re.sub("//.*@", "//", web.address)}
        try:
            await self._meet(web)
            sent = self.session.post(web.address + path, data=fields, headers=headers, allow_redirects=False)
            async with sent as answer:
                self.seen.answers[f"{kind} {answer.status}"] += 1
                if answer.status not in (TAKEN, 409):
                    self.seen.refusals[text_of(told_in(await answer.text()))] += 1
                return answer.status, answer.headers.get("Location", "")
        except (ClientError, TimeoutError) as fault:
            self.seen.answers[f"{kind} {type(fault).__name__}"] += 1
            return 0, ""

    async def _meet(self, web: Machine) -> None:
        """Tell a web that is new to this person who they are. Raise ClientError if it does not listen."""
        if web.address in self.known:
            return
        headers = {"Origin": re.sub("//.*@", "//", web.address)}
        async with self.session.post(
            web.address + "/me", data={"name": self.name}, headers=headers, allow_redirects=False
        ) as answer:
            if answer.status == TAKEN:
                self.known.add(web.address)
