"""Long searches for garbage wait for moments in which little is computed."""

import asyncio
import gc
from collections.abc import Iterator
from contextlib import suppress

import pytest

from agent_core.testing.clock import FakeClock
from bot.short_pauses import LOOK_SECONDS, SEARCHES_BEFORE_LONG_ONE, SEARCHES_BEFORE_WHOLE_ONE, search_in_quiet_moments


@pytest.fixture(autouse=True)
def no_searches_by_python() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("generation", "shorter_searches", "seconds_computed", "is_searched"),
    [
        (1, SEARCHES_BEFORE_LONG_ONE, 0.1, True),
        (1, SEARCHES_BEFORE_LONG_ONE, 0.9, False),
        (1, SEARCHES_BEFORE_LONG_ONE - 1, 0.1, False),
        (2, SEARCHES_BEFORE_WHOLE_ONE, 0.1, True),
        (2, SEARCHES_BEFORE_WHOLE_ONE, 0.9, False),
        (2, SEARCHES_BEFORE_WHOLE_ONE - 1, 0.1, False),
    ],
)
async def test_a_long_search_waits_for_a_second_in_which_little_is_computed(
    generation: int, shorter_searches: int, seconds_computed: float, *, is_searched: bool
) -> None:
    clock, computed = FakeClock(), 0.0
    searching = asyncio.create_task(search_in_quiet_moments(clock, lambda: computed))
    await clock.until_sleeping()
    gc.collect()
    for _ in range(shorter_searches):
        gc.collect(generation - 1)
    computed = seconds_computed
    clock.advance(LOOK_SECONDS)
    await clock.until_sleeping()
    assert (gc.get_count()[generation] == 0) == is_searched
    searching.cancel()
    with suppress(asyncio.CancelledError):
        await searching
