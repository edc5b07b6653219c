"""Whether an approved turn on PostgreSQL takes longer beside 200,000 turns of other agents."""

import asyncio
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from sqlalchemy import Connection, text

from benchmarks.overhead import replies
from benchmarks.overhead_signoff import run
from tests.standins.postgres import serving_postgres
from tests.tables import on_database

TURNS, ROUNDS, SKIPPED = 40, 3, 5
AGENTS, TURNS_OF_EACH = 1_000, 200
MOST_RATIO = 1.2
# Agents of others at rest in ten channels, with copies of the first agent's first turn; all of these are shown.
FILL = (
    "INSERT INTO agents (id, channel, surface, workspace, owner, name_key, status, since, fence, revision, data)"
    " SELECT 'filler-' || n, channel || n % 10, surface, workspace, 'person ' || n, 'filler ' || n, 'finished', since,"
    " fence, 1, data"
    " FROM agents, generate_series(1, :agents) n WHERE name_key = 'clerk'",
    "INSERT INTO turns (id, channel, agent_id, number, state, stage, shown_stage, shown_as, shown_hash, revision, data)"
    " SELECT a || '-' || n, channel || a % 10, 'filler-' || a, n, 'done', 'done', 'done', '', '', 1, data"
    " FROM (SELECT * FROM turns WHERE number = 1) one, generate_series(1, :agents) a, generate_series(1, :turns) n",
)


def main() -> None:
    script = list(replies(TURNS))
    with serving_postgres() as empty, serving_postgres() as full, tempfile.TemporaryDirectory() as folder:
        rounds = asyncio.run(_measure(empty.url, full.url, Path(folder), script))
    beside_none, beside_many = (median(each) for each in zip(*rounds, strict=True))
    ratio = beside_many / beside_none
    holds = "kept" if ratio <= MOST_RATIO else "MISSED"
    sys.stdout.write(
        f"ms for an approved turn: {beside_none:.1f} in an empty database, {beside_many:.1f} beside"
        f" {AGENTS * TURNS_OF_EACH:,} turns ({ratio:.2f} ×)\nat most {MOST_RATIO} ×: {holds}\n"
    )


async def _measure(
    empty: str, full: str, folder: Path, script: Sequence[Mapping[str, Any]]
) -> list[tuple[float, float]]:
    """Medians in ms, alternately; both databases are used once before, and one of them is filled then."""
    for url in (empty, full):
        await run(folder, script, url)
    await on_database(full, _fill)
    await on_database(empty, _forget)
    return [
        (await _median(empty, folder, script, f"empty{number}"), await _median(full, folder, script, f"full{number}"))
        for number in range(ROUNDS)
    ]


async def _median(url: str, folder: Path, script: Sequence[Mapping[str, Any]], name: str) -> float:
    (folder / name).mkdir(exist_ok=True)
    times = await run(folder / name, script, url)
    await on_database(url, _forget)
    return median(times.whole[SKIPPED:]) * 1000


def _fill(connection: Connection) -> None:
    for statement in FILL:
        connection.execute(text(statement), {"agents": AGENTS, "turns": TURNS_OF_EACH})
    _forget(connection)
    connection.exec_driver_sql("ANALYZE")


def _forget(connection: Connection) -> None:
    connection.exec_driver_sql("DELETE FROM agents WHERE name_key = 'clerk'")
    connection.exec_driver_sql("DELETE FROM deliveries")


if __name__ == "__main__":
    main()
