"""Creates the tables, and migrates older ones with Alembic; whether this release can work on newer tables."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import Connection, Engine, inspect, text

from agent_core.errors import NewerTables
from agent_core.persistence.connections import first_line, is_database_error, make_engine, transaction, translate_outage
from agent_core.ports.database import finish_uncancelled

if TYPE_CHECKING:
    from alembic.config import Config

T = TypeVar("T")
HEAD = "0019"  # the newest revision in migrations/versions; a test compares them
WORKS_WITH = "works_with"  # a column that Signoff adds to alembic_version: the revision and its OLDEST_RELEASE
OLDEST_RELEASE = "0017"  # the oldest revision whose release can work on the tables of HEAD


async def upgrade(url: str) -> bool:
    """Create the tables, or migrate the tables of an older release. Return whether they are of a newer one.

    Only reads the revision if they are up to date.

    Tables of a newer release are left as they are if that release says that this one can work on them. Raise
    NewerTables if it does not, DatabaseAway if the database does not answer, ConnectionError if it refuses, such as for
    a wrong password, WorkersAtWork if another release is at work.
    """
    found = await version(url)
    if found > HEAD:
        if await can_work(url):
            return True
        raise NewerTables("its tables were made by a newer Signoff: use that one, or another database.")
    with _translate_faults():
        await migrate(url, HEAD)
    return False


async def can_work(url: str) -> bool:
    """Whether this release can work on tables of a newer one; raise DatabaseAway, or ConnectionError if it refuses."""
    return await _read(url, _can_work)


async def version(url: str) -> str:
    """The revision of the tables, "" if there are none; raise DatabaseAway, or ConnectionError if it refuses."""
    return await _read(url, read_version)


async def _read(url: str, ask: Callable[[Connection], T]) -> T:
    with _translate_faults():
        return await run_on(_engine(url), ask)


async def run_on(engine: Engine, work: Callable[[Connection], T]) -> T:
    """Run a function on a connection of this engine in a thread, and close the engine."""

    def run() -> T:
        try:
            with engine.connect() as connection:
                return work(connection)
        finally:
            engine.dispose()

    return await finish_uncancelled(asyncio.to_thread(run))


async def migrate(url: str, revision: str) -> None:
    """Migrate up to a revision in one transaction. Create the folder of a SQLite file if needed."""

    def change(connection: Connection) -> None:
        if read_version(connection) != revision:
            connection.rollback()  # what was read has begun a transaction
            _migrate(connection, revision)

    await run_on(_engine(url), change)


@contextmanager
def _translate_faults() -> Iterator[None]:
    try:
        with translate_outage():
            yield
    except Exception as fault:
        if not is_database_error(fault):
            raise
        raise ConnectionError(first_line(fault)) from fault


def _engine(url: str) -> Engine:
    engine = make_engine(url)
    if engine.dialect.name == "sqlite" and engine.url.database:
        Path(engine.url.database).parent.mkdir(parents=True, exist_ok=True)
    return engine


def alembic_config() -> "Config":
    """Alembic's configuration, made in code because there is no alembic.ini."""
    from alembic.config import Config  # imported late: 100 ms, and most starts migrate nothing

    config = Config()
    config.set_main_option("script_location", "agent_core.persistence:migrations")
    config.set_main_option("path_separator", "os")
    return config


def read_version(connection: Connection) -> str:
    """The revision of the tables, "" if there are none."""
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or ""


def _can_work(connection: Connection) -> bool:
    """Whether the newer release that made the tables says that this release can work on them."""
    if not _has_works_with(connection):
        return False
    found = connection.execute(text("SELECT works_with FROM alembic_version")).scalar() or ""
    revision, _, oldest = found.partition(" ")
    return revision == read_version(connection) and "" < oldest <= HEAD


def _has_works_with(connection: Connection) -> bool:
    return any(column["name"] == WORKS_WITH for column in inspect(connection).get_columns("alembic_version"))


def _save_works_with(connection: Connection, oldest: str) -> None:
    if not _has_works_with(connection):
        connection.exec_driver_sql("ALTER TABLE alembic_version ADD COLUMN works_with VARCHAR(32)")
    connection.execute(
        text("UPDATE alembic_version SET works_with = version_num || ' ' || :oldest"), {"oldest": oldest}
    )


def _migrate(connection: Connection, revision: str) -> None:
    from alembic import command

    with transaction(connection):
        if connection.dialect.name == "postgresql":  # two processes may start at once; in SQLite, BEGIN IMMEDIATE locks
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtext('signoff/schema'))")
        config = alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        _save_works_with(connection, OLDEST_RELEASE if revision == HEAD else revision)
