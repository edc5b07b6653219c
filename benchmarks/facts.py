"""Whether lean prompts forget: twenty facts from the first turns, asked for after everything was folded away.

Without a model configured the summaries are made to hold none of them, so that memory must. With OPENAI_API_KEY or
OPENAI_BASE_URL set, that model works the same goal and writes its own summaries, on a budget of half a dollar.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from adapters.web.surface import WebSurface
from agent_core.capabilities.memory.commands import MAX_RECALLED
from agent_core.model.agent import Agent
from agent_core.model.command import RISK_CLASSES
from agent_core.model.decision import Policy
from agent_core.model.draft import AgentDraft
from benchmarks.tokens import verdict
from benchmarks.tokens_run import run_agent, start_signoff
from bot.bootstrap import Signoff, assemble
from bot.settings import load

FILLER = "Nothing else of this page matters for the work, and most of it repeats what everybody knows about the town. "
PAGES = 5
MOST_TURNS = 40
BUDGET = Decimal("0.50")
LEAST = 18


@dataclass(frozen=True, slots=True)
class Fact:
    """A sentence, what in it must be known later, and a question in other words."""

    text: str
    keyword: str
    asked: str


FACTS = tuple(
    Fact(*parts)
    for parts in (
        ("The bakery on Mill Lane opens at 5:40 in the morning.", "5:40", "When can one buy bread at dawn?"),
        ("The night bus to the harbour is line 83.", "83", "Which bus goes to the port after midnight?"),
        ("Dr. Okafor is the veterinarian who treats owls.", "Okafor", "Who cares for injured birds of prey?"),
        ("The library charges 35 cents for each page that is copied.", "35 cents", "What do photocopies cost?"),
        ("The key of the boathouse hangs behind the barometer.", "barometer", "Where is the boat shed key kept?"),
        ("The swimming pool is closed for repairs until 14 June.", "14 June", "How long will the pool stay shut?"),
        ("The best apples of the market come from the Lindqvist orchard.", "Lindqvist", "Whose fruit is the finest?"),
        ("The wireless password of the hotel is tangerine-42.", "tangerine-42", "How do guests get onto the internet?"),
        ("The town archive burned down in 1887.", "1887", "In which year was there a fire among the old records?"),
        ("The ferry takes at most 18 cars.", "18 cars", "How many vehicles fit on the boat?"),
        ("The mayor, Ms. Castellano, is allergic to peanuts.", "peanuts", "What food must the mayor avoid?"),
        ("The church bell weighs 2,150 kilograms.", "2,150", "How heavy is the bell in the tower?"),
        ("The football club plays in green and violet.", "violet", "What colours does the soccer team wear?"),
        (
            "Parking behind the theatre is free on Thursdays.",
            "Thursdays",
            "On which day is leaving the car free?",
        ),
        (
            "The river floods when the gauge shows more than 6.2 metres.",
            "6.2",
            "At what water level does it flood?",
        ),
        ("The oldest tree of the park is a ginkgo.", "ginkgo", "Which species is the most ancient in the gardens?"),
        ("The school's telephone extension is 7719.", "7719", "How does one call the school?"),
        ("The cheese factory gives tours at 11 and at 15 o'clock.", "15 o'clock", "When can visitors see the dairy?"),
        ("The spare fuses lie in the red tin under the stairs.", "red tin", "Where are replacement fuses stored?"),
        ("The chess champion of the town is Wilhelmina Achterberg.", "Achterberg", "Who plays chess best here?"),
    )
)


@dataclass(frozen=True, slots=True)
class Town:
    """The script: the facts are read, other things are written, and the summaries forget everything."""

    def replies(self, turns: int) -> Iterator[str]:
        """Reads, then writes, then ends."""
        for page in range(1, PAGES + 1):
            yield _reply(f"I read page {page}.", "read_file", {"filename": f"page_{page}.txt"})
        for number in range(turns - PAGES - 1):
            text = f"Paragraph {number} on roofs, gutters and drains of house {number * 7}, with measurements. " * 6
            yield _reply(f"I write paragraph {number}.", "append_to_file", {"filename": "report.md", "text": text})
        yield _reply("That is all.", "task_complete", {"reason": "The report is written."})

    def search(self, query: str) -> Sequence[dict[str, str]]:
        """Nothing."""
        return []

    def summary(self, number: int) -> str:
        """A summary that tells nothing."""
        return "Decisions: none were taken by people so far.\nFiles: report.md.\nFacts: none.\nOpen steps: to write."


@dataclass(frozen=True, slots=True)
class FactReport:
    """Where each fact is when everything is folded: in the summary, recalled by its question, in the agent's files."""

    agent: Agent
    summed_up: frozenset[Fact]
    recalled: frozenset[Fact]
    filed: frozenset[Fact]

    @property
    def found(self) -> frozenset[Fact]:
        """All that are anywhere."""
        return self.summed_up | self.recalled | self.filed


def main() -> None:
    given = {name: value for name, value in os.environ.items() if name.startswith(("OPENAI_", "SMART_", "EMBEDDING_"))}
    is_real = "OPENAI_API_KEY" in given or "OPENAI_BASE_URL" in given
    report = asyncio.run(run_with_model(given) if is_real else run_script())
    who = "the model's own summaries" if is_real else "summaries that forget everything"
    _say(f"facts · {len(FACTS)} from the first turns, {who}, {report.agent.turns} turns")
    _say(f"in the summary {len(report.summed_up)} · recalled {len(report.recalled)} · in files {len(report.filed)}")
    for fact in FACTS:
        if fact not in report.recalled:
            _say(f"not recalled by “{fact.asked}”: {fact.text}")
    _say(verdict("held by the summary, recall or files, all 20", len(report.found), lambda found: found == len(FACTS)))
    _say(verdict("recalled by a question in other words, 18", len(report.recalled), lambda found: found >= LEAST))


async def run_script(turns: int = MOST_TURNS) -> FactReport:
    """The script, with the embedder of this machine."""
    async with start_signoff(Town(), turns, EMBEDDING_MODEL="local") as (signoff, _):
        return await _run_agent(signoff, f"Read page_1.txt to page_{PAGES}.txt, then write report.md about roofs")


async def run_with_model(environment: dict[str, str]) -> FactReport:
    """The same goal for a real model, within a budget."""
    with tempfile.TemporaryDirectory() as folder:
        async with assemble(load({**environment, "SIGNOFF_HOME": folder}, None), WebSurface()) as signoff:
            await signoff.models.prepare()
            goal = f"Read page_1.txt to page_{PAGES}.txt one by one, then write report.md about roofs in 25 short steps"
            return await _run_agent(signoff, goal)


async def _run_agent(signoff: Signoff, goal: str) -> FactReport:
    draft = AgentDraft(name="Clerk", goals=(goal,), policy=Policy(free=RISK_CLASSES), budget=BUDGET)

    async def write_pages(agent: Agent) -> None:
        for page in range(PAGES):
            facts = FACTS[page * 4 : page * 4 + 4]
            text = "".join(f"{FILLER * 2}{fact.text} " for fact in facts)
            await signoff.core.uploads.workspaces.of(agent).write(f"page_{page + 1}.txt", text.encode())

    agent = await run_agent(signoff, draft, prepare=write_pages)
    summary = " ".join((agent.digest.summary, *agent.digest.recalled))
    recalled = set()
    async with signoff.core.loop.ledger.open_tracker(agent) as tracker:
        for fact in FACTS:
            found = await signoff.core.loop.proposer.memory.recall(agent, fact.asked, MAX_RECALLED, tracker)
            if any(fact.keyword in one.memory.text for one in found):
                recalled.add(fact)
    files = signoff.core.uploads.workspaces.of(agent)
    written = " ".join([(await files.read(file.path)).decode() for file in await files.list_files()])
    return FactReport(agent, _in(summary), frozenset(recalled), _in(written))


def _in(text: str) -> frozenset[Fact]:
    return frozenset(fact for fact in FACTS if fact.keyword in text)


def _reply(text: str, name: str, arguments: dict[str, str]) -> str:
    return json.dumps({"thoughts": {"text": text}, "command": {"name": name, "args": arguments}})


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
