"""What stands for older turns: when it is made, from what, and how long it may be."""

from dataclasses import replace

import pytest

from agent_core.model.agent import Digest
from agent_core.model.command import Failed, Succeeded
from agent_core.model.decision import Approve, Reject
from agent_core.model.model_calls import Reply, Usage
from agent_core.model.turn import Turn
from agent_core.prompt.compaction import (
    MAX_SUMMARY_CHARACTERS,
    Fold,
    fold_due,
    parse_summary,
    summarise_without_model,
    summary_messages,
)
from agent_core.prompt.packing import Situation, TokenRoom, shared_prefix
from agent_core.testing.examples import ANA, NOON, a_turn, an_agent

ROOM = TokenRoom(100_000, len)
AGENT = an_agent(turns=6)


def turns(number: int = 6) -> list[Turn]:
    return [
        a_turn(AGENT, number=each).decide(Approve(), by=ANA, at=NOON).start(NOON).finish(Succeeded(f"r{each}"), NOON)
        for each in range(1, number + 1)
    ]


def situation(past_turns: list[Turn]) -> Situation:
    return Situation(agent=AGENT, commands=(), turns=past_turns, notes=(), now=NOON)


def said(text: str, finish_reason: str = "stop") -> Reply:
    return Reply(text=text, usage=Usage(), finish_reason=finish_reason)


def the_fold() -> Fold:
    """What is folded of six turns in little room."""
    fold = fold_due(situation(turns()), ROOM, 100)
    assert fold is not None
    return fold


def digest_of(text: str, finish_reason: str = "stop") -> Digest:
    return parse_summary(said(text, finish_reason), Digest(), the_fold())


def test_all_but_the_newest_turn_are_folded_once_there_is_more_than_is_kept_anyway() -> None:
    assert fold_due(situation(turns(1)), ROOM, 1) is None
    assert fold_due(situation(turns()), ROOM, 100_000) is None
    assert (the_fold().upto, the_fold().retained.number) == (5, 6)


def test_the_request_begins_as_the_prompt_does_and_names_what_stays() -> None:
    prompt = summary_messages(situation(turns()), the_fold())
    assert prompt[:-1] == shared_prefix(situation(turns()))
    for words in ("up to turn 5", "turn 6 stays readable", "Decisions", "Files", "Facts", "Open steps", "no JSON"):
        assert words in prompt[-1].content


NOTES = "Decisions: none.\nFiles: a.txt holds a poem.\nFacts: -"


@pytest.mark.parametrize("text", [NOTES, f"<think>long musing</think>\n{NOTES}"])
def test_prose_is_taken_as_it_is_without_musing(text: str) -> None:
    assert digest_of(text) == Digest(upto=5, summary=NOTES)


@pytest.mark.parametrize(
    "text", ["", "ok", '{"thoughts": {"text": "I go on with the next step of the work"}}', "```\nx = 1\n```" * 9]
)
def test_what_is_no_summary_is_made_from_the_turns(text: str) -> None:
    assert digest_of(text).upto == 5
    assert digest_of(text).summary.splitlines()[0] == "Turn 1: write_file poem.txt: r1"


def test_a_summary_that_was_cut_off_loses_its_broken_line() -> None:
    assert digest_of(f"{NOTES}\nOpen st", "length").summary == NOTES


def test_a_summary_that_is_too_long_keeps_its_beginning_and_its_end() -> None:
    summary = digest_of(f"Decisions: Ana wants rhymes. {'fact ' * 900} Open steps: print it.").summary
    assert len(summary) <= MAX_SUMMARY_CHARACTERS + 10
    assert summary.startswith("Decisions: Ana wants rhymes.")
    assert summary.endswith("Open steps: print it.")


def test_a_plain_digest_goes_on_from_the_one_before_and_tells_what_failed() -> None:
    failed = a_turn(AGENT, number=5).decide(Approve(), by=ANA, at=NOON).start(NOON).finish(Failed("No disk."), NOON)
    rejected = a_turn(AGENT, number=6).decide(Reject("Too long"), by=ANA, at=NOON)
    digest = summarise_without_model(Digest(upto=4, summary="Turn 4: done"), [failed, rejected])
    assert digest.upto == 6
    assert digest.summary.splitlines() == [
        "Turn 4: done",
        "Turn 5: write_file poem.txt: Result of write_file: Error: No disk.",
        "Turn 6: write_file poem.txt: write_file was not run. @ana rejected it: Too long",
    ]


def test_a_plain_digest_stays_short_however_often_it_is_made() -> None:
    digest = Digest()
    for start in range(1, 400, 4):
        made = [replace(turn, number=turn.number + start) for turn in turns(4)]
        digest = summarise_without_model(digest, made)
    assert len(digest.summary) <= MAX_SUMMARY_CHARACTERS + 100
    assert "Turn 401" in digest.summary
