"""Hundreds of storms, each decided by its seed; a seed that fails does so again in the same way.

To look at one: `python -m tests.simulation STORM SEED`.
"""

import itertools
import logging
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import pytest

from agent_core.model import ids
from tests.simulation.complaints import list_complaints
from tests.simulation.scheduler import Chance, Stuck, no_collection, run
from tests.simulation.town import End, Town
from tests.simulation.wire import Faults

MANY, ON_PAGE = "many workers", "on a page"
EVERY_FAULT = Faults(away=0.01, lost=0.01, busy=0.02, unreachable=0.05, deaf=0.2)
STORMS: dict[str, tuple[tuple[End, ...], Faults]] = {
    "calm": ((), Faults()),
    "deploys": (("drained",), Faults()),
    "power cuts": (("killed",), Faults()),
    "outages": ((), Faults(away=0.02, lost=0.02)),
    "everything": (("killed", "drained"), Faults(away=0.01, lost=0.01, busy=0.02, unreachable=0.05)),
    "late commits": ((), Faults(late=0.02)),
    f"late commits, {MANY}": (("killed",), Faults(late=0.02, lost=0.01)),
    f"calm, {MANY}": ((), Faults(deaf=0.2)),
    f"deploys, {MANY}": (("drained",), Faults(deaf=0.2)),
    f"suspensions, {MANY}": (("suspended",), Faults()),
    f"everything, {MANY}": (("killed", "drained", "suspended"), EVERY_FAULT),
    f"policies, {MANY}": (("killed", "suspended"), EVERY_FAULT),
    f"everything, {MANY} {ON_PAGE}": (("killed", "drained", "suspended"), EVERY_FAULT),
}


class Size(NamedTuple):
    """How many agents there are, how many commands each runs before it ends, and how many workers advance them."""

    agents: int
    steps: int
    workers: int


# With the guards of test_mutations.py taken out, each of these finds about as much in the same time; some faults need
# several agents, others long work of one.
ONE, TWO, THREE = (
    Size(agents=1, steps=3, workers=2),
    Size(agents=2, steps=2, workers=2),
    Size(agents=3, steps=4, workers=3),
)
SIZES = (ONE, TWO, ONE, THREE, ONE, TWO, ONE, ONE)


@contextmanager
def silence() -> Iterator[None]:
    """Log nothing: a run has hundreds of faults, each of them meant."""
    before = logging.root.manager.disable
    if before < logging.CRITICAL:
        logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        if before < logging.CRITICAL:
            logging.disable(before)


def run_seed(seed: int, storm: str) -> Town:
    """The run of this seed, at its end."""
    ends, faults = STORMS[storm]

    async def live() -> Town:
        size = SIZES[seed % len(SIZES)]
        workers, webs = (size.workers, 2) if MANY in storm else (1, 0)
        town = Town(
            Chance.of(seed),
            replace(faults),
            ends,
            workers=workers,
            webs=webs,
            agents=size.agents,
            steps=size.steps,
            on_page=ON_PAGE in storm,
            sets_policies="policies" in storm,
        )
        await town.live()
        return town

    random.seed(seed)  # the loop spreads its retries by chance
    with pytest.MonkeyPatch.context() as patch:  # which worker takes an agent goes by their ids
        patch.setattr(ids, "RANDOM", random.Random(seed))
        patch.setattr(ids, "COUNTER", itertools.count())
        with silence():
            return run(live())


def find_complaints(seed: int, storm: str) -> list[str]:
    """What went wrong in the run of this seed, also if it never came to its end."""
    with no_collection():  # until the town is gone: what is left then is little
        try:
            return list_complaints(run_seed(seed, storm))
        except (Stuck, TimeoutError, ExceptionGroup) as never_ended:
            return [f"it did not come to its end: {never_ended!r}"]


@pytest.mark.proves("simulation:storms")
@pytest.mark.parametrize("storm", STORMS)
def test_a_storm_loses_nothing_and_does_nothing_twice(storm: str) -> None:
    assert find_complaints(1, storm) == []


@pytest.mark.slow
@pytest.mark.proves("simulation:storms")
@pytest.mark.parametrize("storm", STORMS)
def test_many_storms_lose_nothing_and_do_nothing_twice(storm: str) -> None:
    """`python -m tests.simulation` plays more."""
    for seed in (0, *range(2, 44)):
        assert find_complaints(seed, storm) == [], f"{storm}, seed {seed}"


@pytest.mark.slow
@pytest.mark.proves("simulation:replay")
@pytest.mark.parametrize(("seed", "storm"), [(7, "everything"), (3, f"everything, {MANY}")])
def test_a_seed_plays_the_same_run_again(seed: int, storm: str) -> None:
    first, second = run_seed(seed, storm), run_seed(seed, storm)
    assert first.chance.events
    assert first.chance.events == second.chance.events
