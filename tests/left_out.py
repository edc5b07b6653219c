"""`--rest`: what runs of the default tests left out, so that both together run every test once.

These are the slow tests, those whose packages were missing, and the properties, which then try all their examples.
"""

from collections.abc import Iterable

import pytest

OPTION = "--rest"
KEPT_AS = "signoff/left-out"  # in pytest's cache


def remember_left_out(config: pytest.Config, tests: Iterable[str]) -> None:
    """Keep also the ids of tests whose packages were missing in this run, unless it runs the rest of others."""
    cache = getattr(config, "cache", None)  # pytest can run without
    if cache and not config.getoption(OPTION):
        cache.set(KEPT_AS, sorted({*cache.get(KEPT_AS, []), *tests}))


def choose_rest(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take the other tests out of the list; none if no run is known that they could have been in."""
    known = config.cache.get(KEPT_AS, None) if config.getoption(OPTION) else None
    if known is None:
        return
    left_out = {form for test in known for form in (test, test.rpartition("@")[0])}  # xdist appends the group

    def is_left(item: pytest.Item) -> bool:
        is_property = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        return item.get_closest_marker("slow") is not None or is_property or item.nodeid in left_out

    config.hook.pytest_deselected(items=[each for each in items if not is_left(each)])
    items[:] = filter(is_left, items)
