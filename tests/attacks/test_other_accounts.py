"""Attacks by other accounts of the same machine, on what Signoff keeps in files."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core.capabilities.files.folder_workspace import FolderFiles
from bot.bootstrap import assemble
from bot.private_files import close_to_others, paths_open_to_others
from bot.settings import Settings, load
from tests.attacks.ordinary import NOBODY, ROOT
from tests.attacks.rows import attack
from tests.packages import need

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can try it as another account")
DENIED = "Permission denied"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """A folder that every account may enter, with a `.env` and a data folder as an earlier version left them."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        (folder / "home" / "workspaces" / "0ada").mkdir(parents=True)
        (folder / ".env").write_text("OPENAI_API_KEY=sk-secret")
        (folder / "home" / "signoff.db").touch()
        for path in folder.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        monkeypatch.chdir(folder)
        yield load({"SIGNOFF_HOME": str(folder / "home")}, None)


@pytest.mark.slow
@needs_root
@pytest.mark.proves("home:private")
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(".env", marks=attack("files", "Another account of the machine reads `.env`", DENIED)),
        pytest.param("home/signoff.db", marks=attack("files", "It reads the database", DENIED)),
        pytest.param("home/workspaces/0ada/notes.txt", marks=attack("files", "It reads a workspace's file", DENIED)),
    ],
)
async def test_other_accounts_read_nothing(installed: Settings, path: str, answer: str) -> None:
    async with assemble(installed):
        await FolderFiles(installed.home / "workspaces" / "0ada").write("notes.txt", b"secret")
    assert as_another_account("cat", path).endswith(f"{answer}\n")


@pytest.mark.slow
@needs_root
@pytest.mark.proves("home:private")
@attack("files", "It runs a setuid file in a workspace", "Permission denied")
async def test_other_accounts_run_nothing_of_a_workspace(installed: Settings, answer: str) -> None:
    async with assemble(installed):
        tool = installed.home / "workspaces" / "0ada" / "tool"
        shutil.copy("/usr/bin/id", tool)
        tool.chmod(0o4755)
        assert as_another_account("sh", "-c", f"exec {tool}").endswith(f"{answer}\n")


@pytest.mark.proves("home:private")
async def test_what_was_open_is_closed_at_the_start(installed: Settings) -> None:
    names = [path.name for path in paths_open_to_others(installed)]
    assert names == ["home", "workspaces", "signoff.db", ".env"]
    async with assemble(installed):
        assert paths_open_to_others(installed) == []


def test_a_group_keeps_the_settings_that_were_given_to_it(installed: Settings) -> None:
    Path(".env").chmod(0o640)
    close_to_others(installed)
    assert Path(".env").stat().st_mode & 0o777 == 0o640


def test_a_folder_of_the_whole_machine_is_left_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    (tmp_path / "workspaces").mkdir(mode=0o755)
    close_to_others(load({"SIGNOFF_HOME": str(tmp_path)}, None))
    assert tmp_path.stat().st_mode & 0o7777 == 0o1777
    assert (tmp_path / "workspaces").stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
@pytest.mark.proves("home:private")
def test_a_process_makes_files_for_its_own_account_only() -> None:
    code = "import os\nfrom bot.__main__ import main\ntry: main(['--help'])\nexcept SystemExit: print(oct(os.umask(0)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0o77"


def as_another_account(*line: str) -> str:
    """What a program prints that an account without rights runs."""
    need("util-linux")
    done = subprocess.run(
        ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--", *line],
        check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return done.stdout
