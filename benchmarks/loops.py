"""Agents that go round in a circle, and what a budget lets through, through the real loop and the OpenAI SDK.

Each circle is played twice: with every class of command running unasked, and under an approval of fifty commands.
"""

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from agent_core.model.agent import Agent, Awaiting
from agent_core.model.decision import Policy
from benchmarks.tokens import verdict
from benchmarks.tokens_figures import Call
from benchmarks.tokens_run import DRAFT, run_agent, start_signoff
from benchmarks.tokens_script import Script

LENGTH = 40
LIMIT = Decimal("1.00")
PRICE = Decimal("0.03"), Decimal("0.06")  # US dollars a thousand tokens, prompt and completion
NOTHING_NEW = "Nothing that was not said before."
OPENINGS = ("I will look up", "Let me search for", "Next I try to find", "I should now look for", "It is time to find")
QUERIES = ("best strings for topspin", "top topspin strings", "strings with best topspin", "topspin: best strings")


@dataclass(frozen=True, slots=True)
class Circle:
    """A run that never ends by itself: `steps` over and over, with its thoughts in turn."""

    name: str
    steps: Sequence[tuple[str, dict[str, str]]]
    thoughts: Sequence[str] = ("I take the next step towards the goal.",)
    length: int = 1

    def replies(self, turns: int) -> Iterator[str]:
        """One for each turn."""
        for turn in range(turns):
            name, arguments = self.steps[turn % len(self.steps)]
            text = self.thoughts[turn % len(self.thoughts)]
            yield json.dumps({"thoughts": {"text": text}, "command": {"name": name, "args": arguments}})

    def search(self, query: str) -> Sequence[dict[str, str]]:
        """The same, whatever is asked."""
        return [{"title": f"Strings {each}", "href": f"https://{each}.example", "body": NOTHING_NEW} for each in "abcd"]

    def summary(self, number: int) -> str:
        """Hardly anything."""
        return "Facts: nothing was found so far, and the search was tried in several ways.\nOpen steps: all of them."


CIRCLES = (
    Circle("the same step", [("list_files", {})]),
    Circle("two steps in turn", [("list_files", {}), ("google", {"query": "topspin"})], length=2),
    Circle(
        "other words",
        [("google", {"query": query}) for query in QUERIES],
        [f"{opening} the best tennis strings for topspin." for opening in OPENINGS],
    ),
    Circle("the same failure", [("google", {"query": query}) for query in QUERIES], ["I search."]),
)


def main() -> None:
    _say("loops · how often a step ran again before the agent was held")
    worst = 0.0
    for circle in CIRCLES:
        for how, lease in (("unasked", 0), ("under ×50", 50)):
            agent = asyncio.run(run_circle(circle, lease=lease))
            repeats = _run(agent) / circle.length - 1
            worst = max(worst, repeats)
            _say(f"{circle.name:<20} {how:<10} {repeats:>4.1f} repeats · {_state(agent)}")
    _say(verdict("stopped within 3 repeats", worst, lambda found: found <= 3))
    spent, after = asyncio.run(run_with_budget())
    _say(f"budget · ${spent:.4f} of ${LIMIT} spent, {after} calls begun after it was reached")
    _say(verdict("overshoot at most 1 call", after, lambda found: found <= 1))
    _say(verdict("spent at most the budget", float(spent / LIMIT), lambda found: found <= 1))


async def run_circle(circle: Circle, *, lease: int) -> Agent:
    """The agent as it is when it rests or asks."""
    draft = replace(DRAFT, policy=Policy()) if lease else DRAFT
    away = {"GOOGLE_SEARCH_URL": "http://127.0.0.1:9/customsearch/v1"} if circle.name == "the same failure" else {}
    async with start_signoff(circle, LENGTH, **away) as (signoff, _):
        return await run_agent(signoff, draft, lease=lease)


async def run_with_budget() -> tuple[Decimal, int]:
    """What an agent spent of its budget, and how many calls were begun when nothing of it was left."""
    chat = [str(price * 1000) for price in PRICE]
    prices = json.dumps({"gpt-4": chat, "text-embedding-3-small": ["0.02", "0"]})
    async with start_signoff(Script(), 60, MODEL_PRICES=prices) as (signoff, endpoint):
        agent = await run_agent(signoff, replace(DRAFT, budget=LIMIT))
        return agent.budget.spent, _after(endpoint.calls)


def _after(calls: Sequence[Call]) -> int:
    spent, after = Decimal(0), 0
    for call in calls:
        after += spent >= LIMIT
        if call.kind != "embedding":
            spent += (call.size * PRICE[0] + call.completion * PRICE[1]) / 1000
    return after


def _run(agent: Agent) -> int:
    """Commands that ran: a proposal that waits has not."""
    return agent.turns - isinstance(agent.status, Awaiting)


def _state(agent: Agent) -> str:
    return f"{agent.status.kind}: {getattr(agent.status, 'reason', 'people are asked')}"[:90]


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
