"""`--rest`: what the build server runs after `make check`.

These are tests whose packages were missing there, slow ones of rights and of what is stored, and a test of each promise
that only slow ones show.
"""

from collections.abc import Iterable

import pytest

from tests.behaviours import SHOWN_BY_SLOW_TESTS

OPTION = "--rest"
KEPT_AS = "signoff/left-out"  # in pytest's cache
# Slow tests of what cannot be mended afterwards: rights, and what is stored.
GUARDS = ("tests/attacks/", "tests/contract/")


def remember_left_out(config: pytest.Config, tests: Iterable[str]) -> None:
    """Keep the ids of tests whose packages were missing in this run, unless it runs the rest of another."""
    cache = getattr(config, "cache", None)  # pytest can run without
    if cache and not config.getoption(OPTION):
        cache.set(KEPT_AS, sorted(tests))


def choose_rest(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With the option, keep only the rest."""
    if not config.getoption(OPTION):
        return
    cache = getattr(config, "cache", None)
    known = cache.get(KEPT_AS, []) if cache else []
    left_out = {form for test in known for form in (test, test.rpartition("@")[0])}  # xdist appends the group
    unshown = set(SHOWN_BY_SLOW_TESTS)

    def is_rest(item: pytest.Item) -> bool:
        proved = {key for mark in item.iter_markers("proves") for key in mark.args}
        is_guard = item.nodeid.startswith(GUARDS) or not proved.isdisjoint(unshown)
        unshown.difference_update(proved)
        return item.nodeid in left_out or (is_guard and "slow" in item.keywords and "long" not in item.keywords)

    chosen = [each for each in items if is_rest(each)]
    config.hook.pytest_deselected(items=[*set(items).difference(chosen)])
    items[:] = chosen
