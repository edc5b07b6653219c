"""Tables for a test's SQLite database, without the quarter of a second that the migrations take."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from sqlalchemy import Connection, make_url

from agent_core.persistence.connections import make_engine
from agent_core.persistence.schema import run_on, upgrade

T = TypeVar("T")

_MIGRATED: list[bytes] = []  # an empty database with its tables, once in each process


async def make_tables(url: str) -> None:
    """Give a database its tables: a new SQLite file is copied, any other database is migrated as at a start."""
    if not _is_new_file(url):
        await upgrade(url)
        return
    if not _MIGRATED:
        with TemporaryDirectory() as folder:
            migrated = f"sqlite:///{folder}/signoff.db"
            await upgrade(migrated)
            _MIGRATED.append(_file_of(migrated).read_bytes())
    _write(url, _MIGRATED[0])


def _is_new_file(url: str) -> bool:
    return url.startswith("sqlite") and not _file_of(url).exists()


def _write(url: str, data: bytes) -> None:
    _file_of(url).parent.mkdir(parents=True, exist_ok=True)
    _file_of(url).write_bytes(data)


def _file_of(url: str) -> Path:
    return Path(make_url(url).database or "")


async def on_database(url: str, act: Callable[[Connection], T]) -> T:
    """Run a function on a connection of its own, and commit what it changed."""

    def run(connection: Connection) -> T:
        done = act(connection)
        connection.commit()
        return done

    return await run_on(make_engine(url), run)
