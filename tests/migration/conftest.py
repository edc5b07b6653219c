"""Databases with nothing in them."""

from pathlib import Path
from uuid import uuid4

import pytest

from agent_core.persistence.connections import make_engine
from agent_core.persistence.schema import run_on


@pytest.fixture(params=["sqlite", "postgres"])
async def url(request: pytest.FixtureRequest, tmp_path: Path, server: str) -> str:
    """A database without tables; the folder of the SQLite file is not there yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/not/there/signoff.db"
    name = f"empty_{uuid4().hex}"
    outside = make_engine(server).execution_options(isolation_level="AUTOCOMMIT")
    await run_on(outside, lambda connection: connection.exec_driver_sql(f"CREATE DATABASE {name}"))
    return server.replace("/postgres?", f"/{name}?")


@pytest.fixture
def server(request: pytest.FixtureRequest) -> str:
    """The PostgreSQL server, started before a loop runs."""
    return str(request.getfixturevalue("postgres"))
