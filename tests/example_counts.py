"""How many examples Hypothesis tries: the default run a third of those that `make test-all` tries."""

from math import ceil

import pytest
from hypothesis import settings

EXAMPLES, SHARE = 100, 3  # of a property that says no other number
QUICK = "not slow"  # the default selection of tests, in pyproject.toml


class Run:
    """What this run of the tests is."""

    is_quick = False


def choose_examples(config: pytest.Config) -> None:
    """Take as many as the selected tests call for. Call this before a test module is imported."""
    Run.is_quick = config.getoption("markexpr") == QUICK
    settings.register_profile("house", deadline=None, max_examples=tried(EXAMPLES))  # tests must pass on a busy machine
    settings.load_profile("house")


def tried(number: int) -> int:
    """So many of this number of examples."""
    return ceil(number / SHARE) if Run.is_quick else number
