"""What a tool server asks people in the middle of a call: answered by a reply on every surface, declined, refused."""

from contextlib import suppress
from pathlib import Path

import pytest

from agent_core.errors import PersonError
from agent_core.testing.language_model import ScriptedModel, reply_text
from tests.scenario.surfaces import Name, opened
from tests.scenario.test_signed_off import on_each_surface
from tests.scenario.test_tool_server_story import DONE, serving


@pytest.mark.slow
@pytest.mark.proves("mcp:questions")
@on_each_surface()
async def test_people_answer_what_a_server_asks(surface: Name, tmp_path: Path) -> None:
    model = ScriptedModel(reply_text("curious.pour", {}), DONE)
    async with opened(surface, model, tmp_path) as scene, serving(scene, "curious", tmp_path):
        ana = scene.ana
        await ana.new_agent("Clerk", "pours tea", "Serve tea")
        await (await ana.asks("curious.pour")).press("Approve")
        await ana.is_asked()
        assert await ana.sees("The tool server curious asks: “How do you want it?⟨U+200B⟩")
        await ana.says("answer tea: red; cups: 2")
        if surface != "core":  # whose clock stands still, and with it the next update of the card
            said = "Nothing was sent:" if surface == "terminal" else "was not sent:"
            assert await ana.sees(f"{said} tea must be one of green, black.")
        await ana.says("answer tea: Green; cups: 2")
        await ana.asks("task_complete")
    told = str(model.prompts[-1])
    assert "accept: {'tea': 'green', 'cups': 2}" in told.replace("\\'", "'")
    assert "(The server asked people a question, which" in told
    assert "answered: tea, cups.)" in told


@pytest.mark.slow
@pytest.mark.proves("mcp:questions")
async def test_a_question_is_declined(tmp_path: Path) -> None:
    model = ScriptedModel(reply_text("curious.pour", {}), DONE)
    async with opened("core", model, tmp_path) as scene, serving(scene, "curious", tmp_path):
        ana = scene.ana
        await ana.new_agent("Clerk", "pours tea", "Serve tea")
        await (await ana.asks("curious.pour")).press("Approve")
        assert await ana.sees("The tool server curious asks")
        await ana.says("Decline.")
        await ana.asks("task_complete")
    assert "declined.)" in str(model.prompts[-1])
    assert "decline" in str(model.prompts[-1])


@pytest.mark.slow
@pytest.mark.proves("mcp:questions")
async def test_who_may_not_approve_answers_nothing_and_stop_ends_the_question(tmp_path: Path) -> None:
    model = ScriptedModel(reply_text("curious.pour", {}), DONE)
    async with opened("core", model, tmp_path) as scene, serving(scene, "curious", tmp_path):
        ana = scene.ana
        await ana.new_agent("Clerk", "pours tea", "Serve tea")
        await (await ana.asks("curious.pour")).press("Approve")
        assert await ana.sees("The tool server curious asks")
        guest = await scene.join("Gus", "guest")
        with suppress(PersonError):
            await guest.says("answer tea: black; cups: 9")
        await ana.stops()
        assert await ana.sees_status("stopped")
    assert not any("cups" in str(prompt) for prompt in model.prompts[1:])
