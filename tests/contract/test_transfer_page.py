"""The commands of the page on backups and moves, run as they are written."""

import os
import re
import shutil
import sys
from asyncio import create_subprocess_exec
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

import pytest

from agent_core.persistence import schema
from agent_core.persistence.database import SqlDatabase
from agent_core.testing.examples import a_turn, an_agent, keep
from tests.contract.transfers import empty, files_in, rows_in, write_files
from tests.e2e.process import ROOT

PAGE = ROOT / "docs/how-to/run-on-a-server.md"


def blocks(heading: str) -> list[str]:
    """The shell commands of a section."""
    section = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
    text = next(part for part in section if part.startswith(f"{heading}\n"))
    return re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


async def sh(folder: Path, script: str, **environ: str) -> str:
    """Run commands in a folder where `python` is the one of the tests; return what they print."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    given = {"PATH": path, "HOME": str(folder), "PYTHONPATH": str(ROOT), **environ}
    process = await create_subprocess_exec("sh", "-ec", script, cwd=folder, env=given, stdout=PIPE, stderr=STDOUT)
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    return output.decode()


def with_places(script: str, places: dict[str, str]) -> str:
    """A script of the page with places of the test instead of those that the page names."""
    for named, place in places.items():
        assert named in PAGE.read_text()
        script = script.replace(named, place)
    return script


@pytest.fixture
async def source(tmp_path: Path) -> str:
    """The database of a data folder with an agent and a file."""
    url = f"sqlite:///{tmp_path}/.signoff/signoff.db"
    await schema.upgrade(url)
    database = SqlDatabase(url)
    await keep(database, an_agent(), a_turn(an_agent()))
    await database.close()
    write_files(tmp_path / ".signoff", {"agent-ada/poem.txt": b"Roses"})
    return url


@pytest.mark.slow
async def test_a_backup_is_restored_on_sqlite_and_on_postgresql(source: str, tmp_path: Path, postgres: str) -> None:
    await empty(postgres)
    address = "postgresql://signoff:password@db.example.com/signoff_restored"
    places = {"/backup": f"{tmp_path}", "/var/lib": f"{tmp_path}/lib", "/srv": f"{tmp_path}/srv", address: postgres}
    backup, to_sqlite, to_postgresql = (with_places(text, places) for text in blocks("Back up"))
    await sh(tmp_path, backup)
    await sh(tmp_path, to_sqlite)
    restored = tmp_path / "lib/signoff-restored"
    assert await rows_in(f"sqlite:///{restored}/signoff.db") == await rows_in(source)
    assert files_in(restored) == files_in(tmp_path / ".signoff")
    shutil.rmtree(restored)
    await sh(tmp_path, to_postgresql)
    assert await rows_in(postgres) == await rows_in(source)


@pytest.mark.slow
async def test_everything_moves_to_postgresql(source: str, tmp_path: Path, postgres: str) -> None:
    await empty(postgres)
    (commands,) = blocks("From SQLite to PostgreSQL")
    address = "postgresql://signoff:password@db.example.com/signoff"
    assert address in commands
    await sh(tmp_path, commands.replace(address, postgres))
    assert await rows_in(postgres) == await rows_in(source)
