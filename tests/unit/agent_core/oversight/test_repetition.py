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


def test_the_same_call_with_the_same_result_is_a_circle_the_third_time() -> None:
    assert find_repetition(turns(READ, LIST, READ)) == ""
    assert "read_file with the same arguments had the same result 3 times" in find_repetition(turns(READ, READ, READ))
    other = ("google", {"query": "x"}, Succeeded("found"), "I look.")
    assert "3 times" in find_repetition(turns(READ, LIST, READ, other, READ))


def test_reading_again_what_has_changed_is_none() -> None:
    steps = [("read_file", {"filename": "a.txt"}, Succeeded(f"version {each} of it"), "I read it.") for each in "abcd"]
    words = ["alpha beta gamma", "delta epsilon zeta", "eta theta iota", "kappa lambda mu"]
    changed = [(*step[:2], Succeeded(text), step[3]) for step, text in zip(steps, words, strict=True)]
    assert find_repetition(turns(*changed)) == ""


def test_the_same_failure_is_a_circle_whatever_the_arguments() -> None:
    steps = [("browse", {"url": f"https://{each}.example"}, Failed("No network."), each) for each in ("a", "b", "c")]
    assert find_repetition(turns(*steps)) == "browse failed 3 times in the same way."


def test_two_calls_in_turn_are_a_circle_after_the_second_time() -> None:
    assert find_repetition(turns(READ, LIST, READ)) == ""
    assert (
        find_repetition(turns(READ, LIST, READ, LIST)) == "read_file and list_files took turns with the same results."
    )


PARAPHRASES = (
    ("best tennis strings for topspin", "I will look up which tennis strings give the best topspin."),
    ("top tennis strings topspin", "Let me search for the best tennis strings that give topspin."),
    ("tennis strings with best topspin", "Next I look for tennis strings giving the best topspin."),
)


def test_the_same_in_other_words_without_anything_new_is_a_circle() -> None:
    found = "1. RPM Blast review\n2. Ten best strings\n3. Strings for spin"
    steps = [("google", {"query": query}, Succeeded(found), thought) for query, thought in PARAPHRASES]
    assert "google was tried 3 times in other words" in find_repetition(turns(*steps))


def test_like_thoughts_with_new_results_are_none() -> None:
    outcomes = ["rackets weigh three hundred grams", "courts of clay are slow", "balls lose pressure within weeks"]
    steps = [
        ("google", {"query": query}, Succeeded(found), thought)
        for (query, thought), found in zip(PARAPHRASES, outcomes, strict=True)
    ]
    assert find_repetition(turns(*steps)) == ""


def test_chapter_after_chapter_is_none() -> None:
    bodies = ["Ships sail west towards islands.", "Storms break every mast aboard.", "Sailors repair what remains."]
    steps = [
        (
            "append_to_file",
            {"filename": "book.md", "text": body},
            Succeeded("30 characters were added."),
            "Next chapter.",
        )
        for body in bodies
    ]
    assert find_repetition(turns(*steps)) == ""


@pytest.mark.parametrize("lines", [("line A", "line B", "line C"), ("张三", "李四", "王五")])
def test_short_lines_that_differ_are_none(lines: Sequence[str]) -> None:
    added = Succeeded("7 characters were added.")
    steps = [("append_to_file", {"filename": "list.md", "text": f"{line}\n"}, added, "Next line.") for line in lines]
    assert find_repetition(turns(*steps)) == ""


def rejected(*steps: Step) -> list[Turn]:
    return [replace(turn, state="rejected", result=None) for turn in turns(*steps)]


def test_a_call_that_was_rejected_three_times_is_a_circle() -> None:
    assert find_repetition(rejected(READ, READ)) == ""
    assert find_repetition(rejected(READ, LIST, READ)) == ""
    found = find_repetition(rejected(READ, LIST, READ, READ))
    assert found == "read_file with the same arguments was rejected 3 times."


def test_rejected_calls_are_none_once_something_else_ran() -> None:
    assert find_repetition([*rejected(READ, READ, READ), a_step(4, *LIST)]) == ""


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
