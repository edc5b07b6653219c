"""Faults on real processes over a real PostgreSQL. A storm of any length: `python -m tests.faults SEED SECONDS`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.faults.storm import run_storm
from tests.packages import SANDBOX, need
from tests.standins.postgres import PostgresServer

SHORT = {"seconds": 12.0, "people": 10, "turns": 18}
LONG = {"seconds": 5_400.0, "enough": 5_000, "most_pause": 40.0}  # starting a process takes seconds
of_two_sizes = pytest.mark.parametrize(
    "size",
    [
        pytest.param(SHORT, marks=pytest.mark.timeout(260), id="short"),  # one that goes wrong takes 180 seconds more
        pytest.param(LONG, marks=[pytest.mark.long, pytest.mark.timeout(6_000)], id="5,000 turns"),
    ],
)

pytestmark = [pytest.mark.slow, pytest.mark.proves("faults:storm")]


@of_two_sizes
async def test_a_storm_on_one_process_and_sqlite_loses_nothing_and_does_nothing_twice(
    tmp_path: Path, size: Mapping[str, Any]
) -> None:
    need(*SANDBOX)
    storm = await run_storm(tmp_path, None, seed=1, **size)
    assert storm.complaints() == [], storm.report()
    assert storm.seen.finished


@of_two_sizes
async def test_a_storm_on_real_processes_loses_nothing_and_does_nothing_twice(
    own_postgres: PostgresServer, tmp_path: Path, size: Mapping[str, Any]
) -> None:
    need(*SANDBOX)
    storm = await run_storm(tmp_path, own_postgres, seed=1, **size)
    assert storm.complaints() == [], storm.report()
    assert storm.seen.finished
