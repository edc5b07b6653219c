"""The default tests without some packages, and then the rest with all of them, run every test once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import os
from pathlib import Path

import pytest
from tests.packages import NotInstalled

def test_ordinary():
    note("ordinary")

@pytest.mark.slow
def test_slow():
    note("slow")

@pytest.mark.xdist_group("one")
def test_of_a_package():
    if os.environ.get("LACKS"):
        raise NotInstalled(("git",))
    note("package")

def note(what):
    with Path(os.environ["RAN"]).open("a") as ran:
        ran.write(what + "\\n")
"""


@pytest.mark.slow
def test_the_rest_is_what_the_default_run_left_out(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    ran = tmp_path / "ran.txt"

    def run(*arguments: str, **environ: str) -> list[str]:
        ran.write_text("")
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-p", "tests.conftest"]
        subprocess.run(
            [*command, "-c", "/dev/null", "--rootdir", tmp_path, *arguments, tmp_path],
            env={**os.environ, "RAN": str(ran), "PYTHONPATH": str(Path(__file__).parents[2]), "CI": "", **environ},
            timeout=100,
            check=True,
            capture_output=True,
        )
        return sorted(ran.read_text().split())

    assert run("-m", "", "--rest") == ["ordinary", "package", "slow"]  # no other run is known
    assert run("-m", "not slow", LACKS="git") == ["ordinary"]
    assert run("-m", "", "--rest") == ["package", "slow"]
