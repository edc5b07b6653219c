"""Every example runs as its page says, and prints what is written here."""

import asyncio
import os
import subprocess
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from agent_core.testing.language_model import reply_text
from tests.standins.openai import Says, openai_standin

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


EMBEDDED = "embed"  # which needs an endpoint
REPLIES = (
    reply_text("write_to_file", {"filename": "tea.txt", "text": "Tea at four."}),
    reply_text("task_complete", {"reason": "It is written."}),
)
ASKED = (
    "Clerk asks for write_to_file {'filename': 'tea.txt', 'text': 'Tea at four.'}. Run it? [y, or why not]",
    "Clerk asks for task_complete {'reason': 'It is written.'}. Run it? [y, or why not]",
    "Clerk is done: “It is written.”",
    "finished after 2 turns, for $0.0000",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRINTED)
def test_an_example_runs_and_prints_what_it_should(name: str) -> None:
    command = [sys.executable, "-m", f"examples.{name}"]
    environ = {**os.environ, "PYTHONUTF8": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert tuple(done.stdout.splitlines()[-len(PRINTED[name]) :]) == PRINTED[name]


def test_no_example_is_left_out() -> None:
    folders = {path.parent.name for path in ROOT.glob("examples/*/__main__.py")}
    files = {path.stem for path in ROOT.glob("examples/*.py")} - {"__init__"}
    assert folders | files == {*PRINTED, EMBEDDED}


@pytest.mark.slow
def test_the_example_runs_on_sqlite_with_a_real_endpoint(tmp_path: Path) -> None:
    async def run() -> list[str]:
        async with openai_standin() as endpoint:
            endpoint.answers(*(Says(text) for text in REPLIES))
            command = [sys.executable, "-m", f"examples.{EMBEDDED}"]
            environ = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_BASE_URL": endpoint.base_url, "SMART_MODEL": ""}
            process = await asyncio.create_subprocess_exec(
                *command, cwd=tmp_path, env=environ, stdin=PIPE, stdout=PIPE, stderr=PIPE
            )
            printed, faults = await process.communicate(b"y\ny\n")
            assert (process.returncode, faults) == (0, b"")
            return printed.decode().splitlines()

    assert asyncio.run(run()) == [*ASKED]
    (written,) = tmp_path.glob("agents/workspaces/*/tea.txt")
    assert written.read_text(encoding="utf-8") == "Tea at four."
