"""A person minds an agent: its plan is reviewed, its goals, budget and memory are changed. On every surface."""

from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.scenario.chat import writing
from tests.scenario.surfaces import SURFACES, Name, opened

REPLIES = (
    writing("notes.md", "one\n"),
    "Nobody asked for notes, and the report is what counts.",
    reply_text("task_complete", {"reason": "All is served."}),
)


@pytest.mark.slow
@pytest.mark.parametrize("surface", [name for name in SURFACES if name != "discord"])
async def test_a_person_has_a_step_reviewed_changes_goals_and_budget_and_searches_memory(
    surface: Name, tmp_path: Path
) -> None:
    async with opened(surface, ScriptedModel(*REPLIES), tmp_path) as scene:
        ana = scene.ana
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        card = await ana.asks("write_to_file")
        await card.press("Self-review")
        assert await ana.sees("Nobody asked for notes")
        await ana.says("!goals Write the report; Serve tea")
        assert await ana.told("2. Serve tea")
        await ana.says("!budget 5")
        assert await ana.told("of $5.00")
        await ana.says("!memory add Tea is served at four")
        assert await ana.told("Saved to the memory of Clerk.")
        await ana.says("!memory search when is tea served")
        assert await ana.told("• Tea is served at four ·")
        await card.press("Approve")
        await (await ana.asks("task_complete")).press("Approve")
        assert await ana.sees("Clerk is done: “All is served.”")
        assert await ana.file("notes.md") == "one\n"
