"""Databases with nothing in them."""

from pathlib import Path
from uuid import uuid4

import pytest

from agent_core.persistence.connections import make_engine


@pytest.fixture(params=["sqlite", "postgres"])
async def url(request: pytest.FixtureRequest, tmp_path: Path, server: str) -> str:
    """A database without tables; the folder of the SQLite file is not there yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/not/there/signoff.db"
    name = f"empty_{uuid4().hex}"
    engine = make_engine(server)
    async with engine.connect() as connection:
        await connection.exec_driver_sql(f"CREATE DATABASE {name}")
    await engine.dispose()
    return server.replace("/postgres?", f"/{name}?")


@pytest.fixture
def server(request: pytest.FixtureRequest) -> str:
    """The PostgreSQL server, started before a loop runs."""
    return str(request.getfixturevalue("postgres"))
