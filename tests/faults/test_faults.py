"""Faults on real processes over a real PostgreSQL. A storm of any length: `python -m tests.faults SEED SECONDS`."""

from pathlib import Path

import pytest

from tests.faults.storm import run_storm
from tests.packages import SANDBOX, need
from tests.standins.postgres import PostgresServer

SHORT_SECONDS, PEOPLE, TURNS = 12.0, 10, 18
SETTLED_SECONDS = 170  # a storm that goes wrong takes 90 seconds more

pytestmark = pytest.mark.slow


@pytest.mark.proves("faults:storm")
@pytest.mark.timeout(SETTLED_SECONDS)
async def test_a_storm_on_one_process_and_sqlite_loses_nothing_and_does_nothing_twice(tmp_path: Path) -> None:
    need(*SANDBOX)
    storm = await run_storm(tmp_path, None, seed=1, seconds=SHORT_SECONDS, people=PEOPLE, turns=TURNS)
    assert storm.complaints() == [], storm.report()
    assert storm.seen.finished


@pytest.mark.proves("faults:storm")
@pytest.mark.timeout(SETTLED_SECONDS)
async def test_a_storm_on_real_processes_loses_nothing_and_does_nothing_twice(
    own_postgres: PostgresServer,
    tmp_path: Path,
) -> None:
    need(*SANDBOX)
    storm = await run_storm(tmp_path, own_postgres, seed=1, seconds=SHORT_SECONDS, people=PEOPLE, turns=TURNS)
    assert storm.complaints() == [], storm.report()
    assert storm.seen.finished
