"""A test that ends its process costs no other test: each of the others runs, once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

DYING = """
import os
from pathlib import Path

import pytest

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

def note(what):
    with Path(os.environ["RAN"]).open("a") as ran:
        ran.write(what + "\\n")
"""


@pytest.mark.slow
def test_a_process_that_ends_costs_only_the_test_that_it_ran(tmp_path: Path) -> None:
    (tmp_path / "test_dying.py").write_text(DYING)
    ran = tmp_path / "ran.txt"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "--dist",
        "loadgroup",
        "-p",
        "tests.conftest",
        "-c",
        "/dev/null",
    ]
    done = subprocess.run(
        [*command, "--rootdir", tmp_path, tmp_path],
        env={**os.environ, "RAN": str(ran), "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert "2 failed, 6 passed" in done.stdout, done.stdout + done.stderr
    assert sorted(ran.read_text().split()) == [f"{name}-{number}" for name in ("alone", "group") for number in range(4)]
