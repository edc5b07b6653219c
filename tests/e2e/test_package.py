"""The wheel, installed into an empty environment away from the clone: what it ships is enough to walk a story."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.web.guard import USER
from bot.private_files import page_key
from tests.e2e.process import ROOT, free_port, running
from tests.patience import PATIENCE_SECONDS
from tests.scenario.page import PageChat

MOST_MEGABYTES = 250
OF_VENV = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence.pth")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def run(*line: str | Path, folder: Path) -> str:
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def megabytes(python: Path) -> float:
    """What all packages take on the disk, as `du -m` counts, without those of an empty environment."""
    [packages] = python.parents[1].glob("lib/python3.*/site-packages")
    of_signoff = [each for each in packages.iterdir() if not each.name.startswith(OF_VENV)]
    files = (file for each in of_signoff for file in (each, *each.rglob("*")))
    return sum(file.lstat().st_blocks * 512 for file in files) / 2**20


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The Python of an environment that has the wheel and what it asks for, and nothing else."""
    dist = tmp_path / "dist"
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", dist, ROOT, folder=tmp_path)
    [wheel] = dist.glob("signoff-*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "env", folder=tmp_path)
    python = tmp_path / "env/bin/python"
    run(python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", wheel, folder=tmp_path)
    return python


async def test_the_installed_package_walks_a_story_and_keeps_its_data_for_the_account(
    installed: Path, tmp_path: Path
) -> None:
    assert megabytes(installed) < MOST_MEGABYTES
    here, data = tmp_path / "here", tmp_path / "share"
    here.mkdir()
    assert run(installed.with_name("signoff"), "--version", folder=here).startswith("signoff ")
    report = run("env", f"XDG_DATA_HOME={data}", installed.with_name("signoff"), "doctor", folder=here)
    assert "signoff solo" in report
    assert "pip install 'signoff[embeddings]'" in report
    assert "make " not in report
    assert "python -m bot" not in report
    given = {"PORT": str(free_port()), "XDG_DATA_HOME": str(data), "PYTHONPATH": ""}
    async with running(here, "bot", "run", python=installed, **given) as started:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await started.says("Signoff is at ")
        address = f"http://{USER}:{page_key(data / 'signoff')}@127.0.0.1:{given['PORT']}"
        async with PageChat.opened(address, "ana") as ana:
            await ana.new_agent("Clerk", "writes", 'Write "tea" to a.md')
            await (await ana.asks("write_to_file")).press("Approve")
            assert await ana.sees("done")
    assert (data / "signoff/signoff.db").is_file()
    assert not list(here.iterdir())
