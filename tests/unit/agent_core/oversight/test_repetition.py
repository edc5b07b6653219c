"""Whether an agent goes round in a circle."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import pytest

from agent_core.model.command import CommandCall, Failed, Proposal, Result, RiskClass, Succeeded, Thoughts
from agent_core.model.decision import Approve
from agent_core.model.turn import Turn
from agent_core.oversight.repetition import continues_repetition, find_repetition
from agent_core.testing.examples import ANA, NOON, a_turn, an_agent

Step: TypeAlias = tuple[str, Mapping[str, object], Result, str]


def turns(*steps: Step) -> list[Turn]:
    return [a_step(number, *step) for number, step in enumerate(steps, 1)]


def a_step(number: int, name: str, arguments: Mapping[str, object], result: Result, thought: str) -> Turn:
    risks: tuple[RiskClass, ...] = ("write",) if name.startswith(("write", "append")) else ("read",)
    proposal = Proposal(thoughts=Thoughts(text=thought), call=CommandCall(name, arguments))
    turn = a_turn(an_agent(), number=number, proposal=proposal, risks=risks)
    return turn.decide(Approve(), by=ANA, at=NOON).start(NOON).finish(result, NOON)


READ: Step = ("read_file", {"filename": "a.txt"}, Succeeded("hello"), "I read it.")
LIST: Step = ("list_files", {}, Succeeded("a.txt"), "I look round.")


GOOGLE: Step = ("google", {"query": "x"}, Succeeded("found"), "I look.")
PARAPHRASES = (
    ("best tennis strings for topspin", "I will look up which tennis strings give the best topspin."),
    ("top tennis strings topspin", "Let me search for the best tennis strings that give topspin."),
    ("tennis strings with best topspin", "Next I look for tennis strings giving the best topspin."),
)


def read(*results: str) -> list[Turn]:
    return turns(*(("read_file", {"filename": "a.txt"}, Succeeded(text), "I read it.") for text in results))


def searched(*results: str) -> list[Turn]:
    """Searches in other words, which found this."""
    found = zip(PARAPHRASES, results, strict=True)
    return turns(*(("google", {"query": query}, Succeeded(text), thought) for (query, thought), text in found))


def appended(thought: str, *texts: str) -> list[Turn]:
    added = Succeeded("30 characters were added.")
    return turns(*(("append_to_file", {"filename": "a.md", "text": text}, added, thought) for text in texts))


def failed(*hosts: str) -> list[Turn]:
    return turns(*(("browse", {"url": f"https://{each}"}, Failed("No network."), each) for each in hosts))


def rejected(*steps: Step) -> list[Turn]:
    return [replace(turn, state="rejected", result=None) for turn in turns(*steps)]


THREE_TIMES = "read_file with the same arguments had the same result 3 times."
IN_TURN = "read_file and list_files took turns with the same results."
REJECTED = "read_file with the same arguments was rejected 3 times."
FAILED = "browse failed 3 times in the same way."
SAME = "1. RPM Blast review\n2. Ten best strings\n3. Strings for spin"
CHAPTERS = ("Ships sail west towards islands.", "Storms break every mast aboard.", "Sailors repair what remains.")
NEWS = ("rackets weigh three hundred grams", "courts of clay are slow", "balls lose pressure within weeks")
CIRCLES: list[tuple[str, Sequence[Turn], str]] = [
    ("twice the same", turns(READ, LIST, READ), ""),
    ("three times the same", turns(READ, READ, READ), THREE_TIMES),
    ("three times the same with others between", turns(READ, LIST, READ, GOOGLE, READ), THREE_TIMES),
    ("what has changed is read again", read(*NEWS), ""),
    ("the same failure of any arguments", failed("a.example", "b.example", "c.example"), FAILED),
    ("two calls in turn", turns(READ, LIST, READ, LIST), IN_TURN),
    ("the same in other words", searched(SAME, SAME, SAME), "google was tried 3 times in other words"),
    ("like thoughts with new results", searched(*NEWS), ""),
    ("chapter after chapter", appended("Next chapter.", *CHAPTERS), ""),
    ("short lines that differ", appended("Next line.", "line A\n", "line B\n", "line C\n"), ""),
    ("short lines in another script", appended("Next line.", "张三\n", "李四\n", "王五\n"), ""),
    ("rejected twice", rejected(READ, LIST, READ), ""),
    ("rejected three times", rejected(READ, LIST, READ, READ), REJECTED),
    ("something else ran since", [*rejected(READ, READ, READ), a_step(4, *LIST)], ""),
]


@pytest.mark.parametrize(("steps", "told"), [case[1:] for case in CIRCLES], ids=[case[0] for case in CIRCLES])
def test_an_agent_goes_round_in_a_circle_or_not(steps: Sequence[Turn], told: str) -> None:
    found = find_repetition(steps)
    assert found.startswith(told)
    assert bool(found) == bool(told)


def test_only_the_rejected_call_is_more_of_a_rejected_circle() -> None:
    before = rejected(LIST, READ, READ, READ)
    assert continues_repetition(CommandCall("read_file", {"filename": "a.txt"}), before)
    assert not continues_repetition(CommandCall("list_files", {}), before)
    assert not continues_repetition(CommandCall("read_file", {"filename": "drafts/a.txt"}), before)


@pytest.mark.parametrize(
    ("call", "more"),
    [
        (CommandCall("read_file", {"filename": "a.txt"}), True),
        (CommandCall("read_file", {"filename": "other.md"}), False),
        (CommandCall("list_files", {}), False),
    ],
)
def test_a_proposal_is_more_of_it_when_it_is_like_the_newest_steps(call: CommandCall, more: bool) -> None:
    assert continues_repetition(call, turns(READ, READ, READ)) is more
