"""The story of a working day, played on every surface."""

from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import Story
from tests.scenario.surfaces import SURFACES, Name, opened


@pytest.mark.proves("story:surfaces")
@pytest.mark.parametrize("surface", SURFACES)
async def test_an_agent_works_from_form_to_finished_goal(surface: Name, tmp_path: Path) -> None:
    async with opened(surface, ScriptedModel(*Story().replies), tmp_path) as scene:
        await Story().play(scene.ana)
