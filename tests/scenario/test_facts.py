"""Lean prompts do not forget: what was folded away is found again."""

import pytest

from benchmarks.facts import FACTS, LEAST, PAGES, run_script


@pytest.mark.slow
@pytest.mark.proves("memory:facts")
async def test_twenty_facts_of_the_first_turns_are_held_after_summaries_that_forget_them_all() -> None:
    report = await run_script(30)
    assert report.agent.digest.upto > PAGES
    assert report.summed_up == frozenset()
    assert len(report.recalled) >= LEAST
    assert report.found == frozenset(FACTS)
