"""Hundreds of storms, each decided by its seed; a seed that fails does so again in the same way.

To look at one: `python -m tests.simulation SEED`.
"""

import logging
import random
from dataclasses import replace

import pytest

from tests.simulation.scheduler import Chance, run
from tests.simulation.town import End, Town
from tests.simulation.world import Faults

logging.getLogger("agent_core").setLevel(logging.CRITICAL)

STORMS: dict[str, tuple[tuple[End, ...], Faults]] = {
    "calm": ((), Faults()),
    "deploys": (("drained",), Faults()),
    "power cuts": (("killed",), Faults()),
    "outages": ((), Faults(away=0.02, lost=0.02)),
    "everything": (("killed", "drained"), Faults(away=0.01, lost=0.01, busy=0.02, unreachable=0.05)),
}


def run_seed(seed: int, storm: str) -> Town:
    """The run of this seed, at its end."""
    ends, faults = STORMS[storm]

    async def live() -> Town:
        town = Town(Chance.of(seed), replace(faults), ends)
        await town.live()
        return town

    random.seed(seed)  # the loop spreads its retries by chance
    return run(live())


@pytest.mark.proves("simulation:storms")
@pytest.mark.parametrize("storm", STORMS)
def test_a_storm_loses_nothing_and_does_nothing_twice(storm: str) -> None:
    for seed in range(4):
        assert run_seed(seed, storm).complaints() == [], f"{storm}, seed {seed}"


@pytest.mark.slow
@pytest.mark.proves("simulation:storms")
@pytest.mark.parametrize("first", range(0, 300, 100))
@pytest.mark.parametrize("storm", STORMS)
def test_many_storms_lose_nothing_and_do_nothing_twice(storm: str, first: int) -> None:
    for seed in range(first, first + 100):
        assert run_seed(seed, storm).complaints() == [], f"{storm}, seed {seed}"


@pytest.mark.proves("simulation:replay")
def test_a_seed_plays_the_same_run_again() -> None:
    first, second = run_seed(7, "everything"), run_seed(7, "everything")
    assert first.chance.events
    assert first.chance.events == second.chance.events
