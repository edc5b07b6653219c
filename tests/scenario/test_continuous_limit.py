"""The operator's limit on commands that run without asking, on every surface."""

from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from tests.scenario.chat import writing
from tests.scenario.surfaces import Name, opened
from tests.scenario.test_signed_off import on_each_surface

LIMIT = 4


def limited(stage: Stage) -> None:
    """Set the limit where the surface's listeners hold the service already."""
    object.__setattr__(stage.service, "continuous_limit", LIMIT)


@pytest.mark.proves("lease:limit")
@on_each_surface()
@pytest.mark.parametrize("times", [5, 6], ids=["button", "another number"])
async def test_a_number_above_the_operators_limit_is_refused_and_one_below_is_not(
    surface: Name, times: int, tmp_path: Path
) -> None:
    model = ScriptedModel(*[writing(f"{number}.md", "one\n") for number in range(9)])
    async with opened(surface, model, tmp_path, limited) as scene:
        await scene.ana.new_agent("Clerk", "keeps notes", "Write a report")
        card = await scene.ana.asks("write_to_file")
        await card.press(f"Approve ×{times}")
        assert await scene.ana.told(f"At most {LIMIT} commands may run without asking here, not {times}")
        assert (await scene.agent()).lease is None
        await card.press("Approve ×3")
        await scene.ana.asks("write_to_file")
        assert (await scene.agent()).turns == 4
