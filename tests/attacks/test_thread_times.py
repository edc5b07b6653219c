"""An attack on the time that the page of a thread takes from everybody else: sources that were shown often."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.model.command import CommandCall, Preview, Proposal, Thoughts
from agent_core.testing.examples import keep
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from tests.attacks.test_page_times import AT_REST, MOST_SECONDS, PATH, done, longest_gap
from tests.scenario.served import served

RUNS = 25
ROW = "x = '" + "!x" * 45 + "'"  # 1,000 of them are under the 100,000 that a program may have


@pytest.fixture
def stages() -> list[Stage]:
    return []


@pytest.fixture
async def base(stages: list[Stage], tmp_path: Path) -> AsyncIterator[str]:
    async with served(ScriptedModel(waits=True), tmp_path, prepared=stages.append) as address:
        yield address


@pytest.mark.slow
@pytest.mark.parametrize("invisible", ["\u200b", "\u200d"])
async def test_a_thread_in_which_one_program_ran_again_and_again_leaves_time_for_others(
    base: str, stages: list[Stage], invisible: str
) -> None:
    """The source has invisible characters, which are spelled out each time."""
    agent = replace(AT_REST, turns=RUNS)
    source = "\n".join([ROW.replace("!", invisible)] * 1_000)
    preview = Preview(title="run.py", body=source, kind="text", target="run.py", basis="")
    call = CommandCall("execute_python_file", {"filename": "run.py"})
    proposal = Proposal(thoughts=Thoughts(text="Again."), call=call, preview=preview)
    await keep(stages[0].database, agent, *[done(agent, each, proposal=proposal) for each in range(1, RUNS + 1)])
    gap = await longest_gap(base, PATH)
    assert gap < MOST_SECONDS, f"{gap:.1f} s"
