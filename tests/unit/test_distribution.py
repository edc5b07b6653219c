"""How tests are spread: a dead process costs one test, and the rest is what the default run left out."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
NOTE = """
import os
from pathlib import Path

import pytest
from tests.packages import NotInstalled

def note(what):
    with Path(os.environ["RAN"]).open("a") as ran:
        ran.write(what + "\\n")
"""
DYING = """
@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("number", range(4))
def test_of_a_group(number):
    note(f"group-{number}")
    if number == 1:
        os._exit(1)

@pytest.mark.parametrize("number", range(4))
def test_alone(number):
    note(f"alone-{number}")
    if number == 3:
        os._exit(1)
"""
LACKING = """
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
"""
COMMAND = (sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-p", "tests.conftest")


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., tuple[list[str], str]]:
    """Runs tests with these arguments; gives what was noted, and what pytest said."""

    def run(tests: str, *arguments: str, **environ: str) -> tuple[list[str], str]:
        ran = tmp_path / "ran.txt"
        ran.write_text("")
        folder = tmp_path / "tests" / "contract"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "test_some.py").write_text(NOTE + tests)
        done = subprocess.run(
            [*COMMAND, "-c", "/dev/null", "--rootdir", tmp_path, *arguments, tmp_path],
            env={**os.environ, "RAN": str(ran), "PYTHONPATH": str(Path(__file__).parents[2]), "CI": "", **environ},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        return sorted(ran.read_text().split()), done.stdout + done.stderr

    return run


def test_a_process_that_ends_costs_only_the_test_that_it_ran(run: Callable[..., tuple[list[str], str]]) -> None:
    ran, said = run(DYING)
    assert "2 failed, 6 passed" in said, said
    assert ran == [f"{name}-{number}" for name in ("alone", "group") for number in range(4)]


def test_the_rest_is_what_lacked_packages_and_the_slow_guards(run: Callable[..., tuple[list[str], str]]) -> None:
    assert run(LACKING, "-m", "", "--rest")[0] == ["slow"]  # no other run is known
    assert run(LACKING, "-m", "not slow", LACKS="git")[0] == ["ordinary"]
    assert run(LACKING, "-m", "", "--rest")[0] == ["package", "slow"]
