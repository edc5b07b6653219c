"""What a tool server of the newest protocol asks people in the middle of a call: the question answers the call."""

from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.scenario.surfaces import opened
from tests.scenario.test_tool_server_story import DONE, serving


@pytest.mark.slow
@pytest.mark.proves("mcp:questions")
async def test_people_answer_what_a_server_asks(tmp_path: Path) -> None:
    model = ScriptedModel(reply_text("curious.pour", {}), DONE)
    async with opened("core", model, tmp_path) as scene, serving(scene, "curious", tmp_path):
        ana = scene.ana
        await ana.new_agent("Clerk", "pours tea", "Serve tea")
        await (await ana.asks("curious.pour")).press("Approve")
        card = await ana.is_asked()
        assert await ana.sees("The tool server curious asks: “How do you want it?⟨U+200B⟩")
        await card.press("Answer", tea="Green", cups="2")
        await ana.asks("task_complete")
    told = str(model.prompts[-1])
    assert "accept: {'tea': 'green', 'cups': 2}" in told.replace("\\'", "'")
    assert "answered: tea, cups.)" in told
