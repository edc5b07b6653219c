"""The modules that the tests of the architecture read."""

from collections.abc import Sequence

import pytest

from tests.architecture.sources import SHIPPED, Source, parse


@pytest.fixture(scope="session")
def shipped() -> Sequence[Source]:
    """All shipped modules, parsed once in a process."""
    return [*parse(*SHIPPED)]
