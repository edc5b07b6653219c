"""What `export` and `import` say, and the exit codes."""

from pathlib import Path

import pytest
from filelock import FileLock

from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade
from agent_core.testing.examples import a_turn, an_agent, keep
from tests.command_line import said
from tests.contract.transfers import write_files

PRIVATE = "It contains conversations, files and tokens: keep it private."


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    """A data folder with one agent, its turn and two files, one of which is a link."""
    home = tmp_path / "home"
    write_files(home, {"agent-ada/poem.txt": b"Roses"})
    (home / "workspaces/agent-ada/link").symlink_to("poem.txt")
    await upgrade(f"sqlite:///{home}/signoff.db")
    database = SqlDatabase(f"sqlite:///{home}/signoff.db")
    await keep(database, an_agent(), a_turn(an_agent()))
    await database.close()
    return home


@pytest.mark.slow
async def test_an_export_and_its_import_say_what_they_did(home: Path) -> None:
    folder = home.parent
    code, output = await said(folder, "export", "x.zip", SIGNOFF_HOME="home")
    assert (code, output) == (
        0,
        f"Exported 1 agent (2 rows) and 1 file to x.zip. {PRIVATE}\n"
        "Left out: 'agent-ada/link'. Agents cannot use links, devices and unusual names either.\n",
    )
    code, output = await said(folder, "import", "x.zip", SIGNOFF_HOME="new")
    new = folder / "new"
    assert (code, output) == (0, f"Imported 1 agent (2 rows) and 1 file into sqlite:///{new}/signoff.db and {new}.\n")
    code, output = await said(folder, "import", "x.zip", SIGNOFF_HOME="new")
    assert (code, output) == (
        1,
        "The import was not done. The database is not empty, and an import needs an empty one.\n",
    )


@pytest.mark.slow
async def test_a_backup_is_an_export(home: Path) -> None:
    folder = home.parent
    code, output = await said(folder, "backup", "x.zip", SIGNOFF_HOME="home")
    assert (code, output.splitlines()[0]) == (0, f"Exported 1 agent (2 rows) and 1 file to x.zip. {PRIVATE}")
    code, output = await said(folder, "import", "x.zip", SIGNOFF_HOME="new")
    assert (code, output.partition(" into ")[0]) == (0, "Imported 1 agent (2 rows) and 1 file")
    assert (folder / "new/workspaces/agent-ada/poem.txt").read_bytes() == b"Roses"


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("*")]


@pytest.mark.slow
async def test_a_folder_where_a_signoff_is_at_work_is_refused(home: Path) -> None:
    with FileLock(home / "engine.lock"):
        code, output = await said(home.parent, "import", "x.zip", SIGNOFF_HOME="home")
    assert (code, output) == (1, f"Nothing was imported. A Signoff is at work in {home}: stop it first.\n")


@pytest.mark.slow
async def test_a_database_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    code, output = await said(tmp_path, "export", "x.zip", SIGNOFF_HOME="home")
    assert (code, output) == (1, f"Nothing was exported. There is no database {tmp_path}/home/signoff.db.\n")
    code, output = await said(tmp_path, "export", "x.zip", DATABASE_URL="postgresql://u:hunter22@127.0.0.1:1/x")
    assert (code, output.count("\n"), "hunter22" in output) == (1, 1, False)
    assert output.startswith(
        "Nothing was exported. postgresql://127.0.0.1:1/x cannot be reached (Connection refused). "
    )
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "arguments", [("export",), ("backup",), ("import",), ("export", "x", "--take-files"), ("import", "x", "y")]
)
async def test_a_wrong_command_line_is_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    code, output = await said(tmp_path, *arguments)
    assert (code, f"usage: signoff {arguments[0]}" in output) == (2, True)


@pytest.mark.slow
async def test_files_of_another_database_are_refused_in_one_line(home: Path) -> None:
    folder = home.parent
    await said(folder, "export", "x.zip", SIGNOFF_HOME="home")
    (folder / "new/workspaces").mkdir(parents=True)
    (folder / "new/workspaces/.database.id").write_text("0123")
    code, output = await said(folder, "import", "x.zip", SIGNOFF_HOME="new")
    assert (code, output.count("\n"), "Leave WORKSPACE_URL empty" in output) == (1, 1, True)
    code, _ = await said(folder, "import", "--take-files", "x.zip", SIGNOFF_HOME="new")
    assert code == 0
