"""The `Database` port on a SQLite file of its own, in memory where the system offers that; runs without threads."""

import asyncio
import shutil
from atexit import register
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar
from weakref import finalize

from agent_core.persistence.connections import FileConnections
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade

T = TypeVar("T")
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - mkdtemp makes the folder


class TemporaryDatabase(SqlDatabase):
    """An empty database, which is deleted with this object. Its reads and commits end without waiting."""

    def __init__(self) -> None:
        folder = _new_folder()
        finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._connections = ConnectionsOnLoop(f"sqlite:///{shutil.copy(template(), folder)}")


class ConnectionsOnLoop(FileConnections):
    """Connections that use no threads, so that the order of all that happens is the order of the event loop."""

    async def _in_thread(self, executor: ThreadPoolExecutor | None, work: Callable[[], T]) -> T:
        return work()


def at_once(reads: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that does not wait; raise RuntimeError if it does."""
    try:
        reads.send(None)
    except StopIteration as result:
        return result.value  # type: ignore[no-any-return]
    reads.close()
    raise RuntimeError("The coroutine waits.")


@cache
def template() -> Path:
    """A database with its tables and no rows, made once in a process."""
    file = _new_folder() / "signoff.db"
    register(shutil.rmtree, file.parent, ignore_errors=True)
    with ThreadPoolExecutor(1) as thread:  # this one may have a running event loop
        thread.submit(asyncio.run, upgrade(f"sqlite:///{file}")).result()
    return file


def _new_folder() -> Path:
    return Path(mkdtemp(prefix="signoff-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None))
