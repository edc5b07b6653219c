"""What a test of an attack is given."""

import pytest

from tests.attacks.rows import row_of


@pytest.fixture
def answer(request: pytest.FixtureRequest) -> str:
    """What the attack is answered with, as the table says it: the test compares what it saw with this."""
    row = row_of(request.node)
    if row is None:
        raise LookupError(f"{request.node.name} is marked with no attack.")
    return row.answer
