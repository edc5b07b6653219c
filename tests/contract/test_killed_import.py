"""An import that is killed at any step is repeated, without losing or doubling a row or a file."""

import signal
from pathlib import Path

import pytest

from agent_core.persistence import schema
from agent_core.persistence.database import SqlDatabase
from agent_core.testing.examples import a_note, a_turn, an_agent, keep
from tests.contract.transfers import empty, files_in, rows_in, transfer, write_files
from tests.e2e.process import running

pytestmark = pytest.mark.slow

FILES = {"agent-ada/a": b"one", "agent-ada/b/c.sh": b"two", "agent-ada/d/": b""}
STEPS = 12  # two looks whether it is empty, 3 folders, 2 files, 4 batches of rows, the texts that people search
EVERY = [*((number, "before") for number in range(1, STEPS + 1)), (STEPS, "after")]  # nothing is between two steps


@pytest.fixture(params=["sqlite", "postgres"])
async def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/to/signoff.db"
    url = str(request.getfixturevalue("postgres"))
    await empty(url)
    return url


async def export(folder: Path) -> str:
    """An export with some rows and files; return the address of its database."""
    url, ada = f"sqlite:///{folder}/from/signoff.db", an_agent()
    await schema.upgrade(url)
    database = SqlDatabase(url)
    turns = (a_turn(ada, number=number) for number in range(1, 5))
    await keep(database, ada, *turns, a_note(ada))
    await database.close()
    write_files(folder / "from", FILES)
    await transfer(url, folder / "from").export_to(folder / "x.zip")
    return url


async def run(folder: Path, target: str, number: int, moment: str) -> tuple[int, str]:
    """The exit code and the output of an import that dies at a step."""
    given = {"SIGNOFF_HOME": str(folder / "to"), "DATABASE_URL": target, "DIES_AT": str(number), "DIES": moment}
    async with running(folder, "tests.crash.import_killer", "x.zip", **given) as program:
        await program.listen()
        return await program.ended(), program.output


@pytest.mark.proves("transfer:killed")
@pytest.mark.parametrize(("number", "moment"), EVERY)
async def test_a_killed_import_is_repeated(tmp_path: Path, target: str, number: int, moment: str) -> None:
    source = await export(tmp_path)
    code, said = await run(tmp_path, target, number, moment)
    assert code == -signal.SIGKILL, said
    await transfer(target, tmp_path / "to").import_from(tmp_path / "x.zip")
    assert await rows_in(target) == await rows_in(source)
    assert files_in(tmp_path / "to") == files_in(tmp_path / "from")


@pytest.mark.proves("transfer:killed")
async def test_the_command_repeats_it(tmp_path: Path, target: str) -> None:
    source = await export(tmp_path)
    await run(tmp_path, target, STEPS, "before")
    code, said = await run(tmp_path, target, 0, "")
    assert code == 0, said
    assert await rows_in(target) == await rows_in(source)


async def test_every_step_of_the_import_is_tried(tmp_path: Path) -> None:
    await export(tmp_path)
    code, said = await run(tmp_path, f"sqlite:///{tmp_path}/to/signoff.db", 0, "")
    assert (code, said.splitlines()[-1]) == (0, f"It made {STEPS} steps.")
