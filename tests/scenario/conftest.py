"""What several stories begin with."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.autogpt_plugins import Plugins
from tests.scenario.slack_app import Office


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    """Slack, with a team in it."""
    async with Office.opened() as opened:
        yield opened


@pytest.fixture
async def plugins(tmp_path: Path) -> AsyncIterator[Plugins]:
    """A folder of AutoGPT's plugins, and their workers."""
    made = Plugins(tmp_path)
    yield made
    await made.close()
