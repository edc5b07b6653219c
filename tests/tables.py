"""Tables for a test's SQLite database, without the quarter of a second that the migrations take."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, make_url

from agent_core.persistence.connections import make_engine
from agent_core.persistence.schema import run_on, upgrade
from agent_core.testing.database import template

T = TypeVar("T")


async def make_tables(url: str) -> None:
    """Give a database its tables: a new SQLite file is copied, any other database is migrated as at a start."""
    if not _is_new_file(url):
        await upgrade(url)
        return
    _file_of(url).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(template(), _file_of(url))


def _is_new_file(url: str) -> bool:
    return url.startswith("sqlite") and not _file_of(url).exists()


def _file_of(url: str) -> Path:
    return Path(make_url(url).database or "")


async def on_database(url: str, act: Callable[[Connection], T]) -> T:
    """Run a function on a connection of its own, and commit what it changed."""

    def run(connection: Connection) -> T:
        done = act(connection)
        connection.commit()
        return done

    return await run_on(make_engine(url), run)
