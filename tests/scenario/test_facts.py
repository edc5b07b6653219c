"""Lean prompts do not forget: what was folded away is found again."""

import pytest

from benchmarks.facts import FACTS, LEAST, PAGES, scripted


@pytest.mark.proves("memory:facts")
async def test_twenty_facts_of_the_first_turns_are_held_after_summaries_that_forget_them_all() -> None:
    kept = await scripted(30)
    assert kept.agent.digest.upto > PAGES
    assert kept.summed_up == frozenset()
    assert len(kept.recalled) >= LEAST
    assert kept.found == frozenset(FACTS)
