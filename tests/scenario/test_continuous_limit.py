"""The operator's limit on commands that run without asking, on every surface."""

import re
from functools import partial
from pathlib import Path

import pytest

from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from tests.scenario.chat import writing
from tests.scenario.member import GuildCard, labels_of
from tests.scenario.surfaces import Name, opened
from tests.scenario.test_signed_off import on_each_surface

LIMIT = 4


def limited(stage: Stage, limit: int = LIMIT) -> None:
    """Set the limit where the surface's listeners hold the service already."""
    for holder in (stage.service.decisions, stage.surface):
        if hasattr(holder, "continuous_limit"):
            object.__setattr__(holder, "continuous_limit", limit)


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.proves("lease:limit")
@pytest.mark.parametrize("surface", ["web", "slack-http", "discord"])
@pytest.mark.parametrize(
    ("limit", "offered"),
    [(1, []), (2, ["Approve ×2", "Another number…"]), (4, ["Approve ×3", "Another number…"])],
    ids=["1", "2", "4"],
)
async def test_a_card_offers_only_counts_up_to_the_operators_limit(
    surface: Name, limit: int, offered: list[str], tmp_path: Path
) -> None:
    model = ScriptedModel(writing("a.md", "one\n"), waits=True)
    async with opened(surface, model, tmp_path, partial(limited, limit=limit)) as scene:
        await scene.ana.new_agent("Clerk", "keeps notes", "Write a report")
        card = await scene.ana.asks("write_to_file")
        shown = " ".join(labels_of(card.message)) if isinstance(card, GuildCard) else card.text
        assert re.findall(r"Approve ×\d+|Another number…", shown) == offered
