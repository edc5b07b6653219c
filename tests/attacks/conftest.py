"""What a test of an attack is given."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.attacks.rows import row_of
from tests.attacks.sandboxes import Cell
from tests.autogpt_plugins import Plugins


@pytest.fixture
def answer(request: pytest.FixtureRequest) -> str:
    """What the attack is answered with, as the table says it: the test compares what it saw with this."""
    row = row_of(request.node)
    if row is None:
        raise LookupError(f"{request.node.name} is marked with no attack.")
    return row.answer


@pytest.fixture
async def cell(tmp_path: Path) -> AsyncIterator[Cell]:
    """A sandbox with small limits, whose programs end with the test."""
    made = Cell.at(tmp_path)
    yield made
    await made.sandbox.close()


@pytest.fixture
async def plugins(tmp_path: Path) -> AsyncIterator[Plugins]:
    """Plugins of AutoGPT, whose workers end with the test."""
    made = Plugins(tmp_path)
    yield made
    await made.close()
