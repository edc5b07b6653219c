"""The write-ahead log of a SQLite file stays small, although the event loop's thread commits while it is copied."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import Connection

from agent_core.persistence.checkpoints import COMMITS_BETWEEN_CHECKPOINTS, copy_wal
from agent_core.persistence.connections import make_file_engine
from agent_core.persistence.file_connections import FileConnections
from tests.contract.test_file_connections import keys, write_row


@pytest.fixture
async def connections(sqlite_url: str) -> AsyncIterator[FileConnections]:
    connections = FileConnections(sqlite_url)
    yield connections
    await connections.close()


async def test_the_journal_of_commits_on_the_event_loop_is_copied_by_the_writer(
    connections: FileConnections, sqlite_url: str
) -> None:
    assert await keys(connections) == []
    journal = Path(f"{sqlite_url.removeprefix('sqlite:///')}-wal")
    for number in range(4 * COMMITS_BETWEEN_CHECKPOINTS):  # two pages each
        await connections.write(write_row(f"{number}"))
        if connections._since_checkpoint == 0:
            await connections._run(connections._writer, lambda _: None)  # behind the checkpoint
    assert file_size(journal) < 1_100 * 4_120, "the writer copies 1,000 pages by itself"
    assert len(await keys(connections)) == 4 * COMMITS_BETWEEN_CHECKPOINTS


async def test_a_commit_during_the_copying_of_the_journal_does_not_make_it_grow(
    connections: FileConnections, sqlite_url: str
) -> None:
    journal = Path(f"{sqlite_url.removeprefix('sqlite:///')}-wal")
    engine = make_file_engine(sqlite_url)
    sizes = []
    with engine.connect() as copier, engine.connect() as reader:
        for turn in range(4):
            for number in range(50):
                await connections.write(write_row(f"{turn} {number}"))
            begin_reading(reader)
            await connections.write(write_row(f"{turn} last"))
            copy_wal(cast(Connection, OvertakenCopy(copier, end=partial(end_reading, reader))))
            sizes.append(file_size(journal))
    engine.dispose()
    assert sizes[1:] == [sizes[0]] * 3, "it is overwritten from its start"
    assert len(await keys(connections)) == 4 * 51


def begin_reading(reader: Connection) -> None:
    """From now on a copy ends here, as it ends where it began while others commit."""
    reader.exec_driver_sql("BEGIN")
    reader.exec_driver_sql("SELECT count(*) FROM preferences").all()


def end_reading(reader: Connection) -> None:
    reader.exec_driver_sql("COMMIT")


@dataclass(frozen=True)
class OvertakenCopy:
    """A connection whose first copy does not reach the end of the log."""

    connection: Connection
    end: Callable[[], None]

    def exec_driver_sql(self, statement: str) -> Any:
        found = self.connection.exec_driver_sql(statement)
        if "PASSIVE" in statement:
            self.end()
        return found


def file_size(path: Path) -> int:
    return path.stat().st_size
