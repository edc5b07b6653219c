"""Every example runs as its page says, and prints what is written here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PRINTED = {
    "hook_that_counts": (
        "2 × append_to_file succeeded",
        "1 × list_files succeeded",
        "then Clerk asks for do_nothing",
    ),
    "own_command": (
        "replace_text · menu.txt · 2 ×",
        "-tea",
        "+cake",
        "Black cake at 4, green cake at 5.",
        "Your last reply could not be used: menu.txt does not hold 'soup'. Nothing was run.",
    ),
    "scripted_agent": (
        "Clerk asks for write_to_file: I begin the haiku.",
        "Clerk asks for task_complete: That will do.",
        "Clerk is finished. haiku.txt holds:",
        "An old silent pond",
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_runs_and_prints_what_it_should(name: str) -> None:
    command = [sys.executable, "-m", f"examples.{name}"]
    environ = {**os.environ, "PYTHONUTF8": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert tuple(done.stdout.splitlines()[-len(PRINTED[name]) :]) == PRINTED[name]


def test_no_example_is_left_out() -> None:
    assert {path.parent.name for path in ROOT.glob("examples/*/__main__.py")} == set(PRINTED)
