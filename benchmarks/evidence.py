"""The hash chain of the decision log: what it adds to a commit, and how long a million records take to check."""

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from statistics import median
from typing import Any

from sqlalchemy import Connection, insert

from agent_core.model.records.audit import AuditEntry
from agent_core.persistence.connections import Connections, FileConnections, ServerConnections
from agent_core.persistence.decision_log.chain import NO_HASH, digest, seal
from agent_core.persistence.decision_log.checking import check_log
from agent_core.persistence.decision_log.repository import SqlAudit
from agent_core.persistence.json_codec import encode
from agent_core.persistence.schema import upgrade
from agent_core.persistence.tables import audit, audit_heads
from agent_core.persistence.write_buffer import WriteBuffer
from agent_core.testing.examples import ANA, NOON, a_turn, an_agent
from benchmarks.memory import RESULTS
from tests.standins.postgres import serving_postgres
from tests.tables import on_database

COMMITS, ROUNDS, RECORDS, BATCH = 300, 3, 1_000_000, 5_000
MOST_ADDED, MOST_SECONDS = 1.0, 20.0
AGENT = an_agent()
ENTRY = replace(AuditEntry.on(AGENT, "approve", by=ANA, at=NOON, detail="×3", turn=a_turn(AGENT)), grant="approve")


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RESULTS) as folder, serving_postgres() as server:
        url = f"sqlite:///{folder}/signoff.db"
        for place, connect in ((url, FileConnections), (server.url, ServerConnections)):
            asyncio.run(_compare(place, connect))
        asyncio.run(_check(f"sqlite:///{folder}/many.db"))


async def _compare(url: str, connect: type[Connections]) -> None:
    """Commits of one record each, alternately with and without the chain."""
    await upgrade(url)
    connections = connect(url)  # type: ignore[call-arg]
    rounds = [[await _commits(connections, chained=chained) for chained in (False, True)] for _ in range(ROUNDS)]
    await connections.close()
    without, chained = (median(each) for each in zip(*rounds, strict=True))
    added = chained - without
    _say(
        f"{url.partition(':')[0]}: a commit with one record {chained:.2f} ms, {without:.2f} without the chain:"
        f" {added:.2f} more (at most {MOST_ADDED}: {'met' if added <= MOST_ADDED else 'NOT MET'})"
    )


async def _commits(connections: Connections, *, chained: bool) -> float:
    """The median in ms."""
    times = []
    for number in range(COMMITS):
        entry = replace(ENTRY, id=f"{chained}-{time.monotonic_ns()}-{number}")
        started = time.perf_counter()
        buffer = WriteBuffer(connections)
        if chained:
            SqlAudit(buffer).append(entry)
        else:
            columns = {"id": entry.id, "channel": entry.channel.key, "agent_id": entry.agent_id, "at": entry.at}
            buffer.queue(insert(audit), {**columns, "data": encode(entry)})
        await buffer.commit()
        times.append(time.perf_counter() - started)
    return median(times) * 1000


async def _check(url: str) -> None:
    await upgrade(url)
    await on_database(url, _fill)
    started = time.perf_counter()
    (report,) = await check_log(url, {})
    seconds = time.perf_counter() - started
    if report.faults or report.records != RECORDS:
        raise RuntimeError(report.faults)
    _say(
        f"{RECORDS:,} records checked in {seconds:.1f} s"
        f" (at most {MOST_SECONDS:g}: {'met' if seconds <= MOST_SECONDS else 'NOT MET'})"
    )


def _fill(connection: Connection) -> None:
    rows = _records()
    last: dict[str, Any] = {}
    while batch := list(islice(rows, BATCH)):
        connection.execute(insert(audit), batch)
        last = batch[-1]
    head = {"channel": last["channel"], "seq": RECORDS, "hash": last["hash"]}
    connection.execute(insert(audit_heads), {**head, "first_seq": 1, "first_previous": NO_HASH})


def _records() -> Iterator[dict[str, Any]]:
    """Records that differ in id, place and time: the first one, with these written into its text."""
    record = seal(replace(ENTRY, id="id-1"), 1, NO_HASH)
    data, at, previous = record["data"], '"2026-03-14T12:00:00Z"', NO_HASH
    before = data.index('"at":') + len('"at":')
    assert data[before:].startswith(at)
    for number in range(1, RECORDS + 1):
        moment = NOON + timedelta(seconds=number)
        text = data.replace('"seq":1,', f'"seq":{number},').replace('"id-1"', f'"id-{number}"')
        text = text.replace(f'"at":{at}', f'"at":"{moment:%Y-%m-%dT%H:%M:%SZ}"').replace(NO_HASH, previous)
        previous = digest(text)
        yield {**record, "id": f"id-{number}", "seq": number, "at": moment, "data": text, "hash": previous}


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
