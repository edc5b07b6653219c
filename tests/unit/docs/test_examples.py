"""Every example runs as its page says, and prints what is written here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_core.headless import HeadlessSurface, run_agent
from agent_core.model.agent import Agent
from agent_core.model.decision import Decision
from agent_core.model.turn import Turn
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from examples import embed
from tests.standins.openai import Says, openai_standin

ROOT = Path(__file__).parents[3]
PRINTED = {
    "embed": (
        "Clerk asks for write_to_file {'filename': 'tea.txt', 'text': 'Tea at four.'}",
        "Clerk asks for task_complete {'reason': 'It is written.'}",
        "On doubles: finished.",
    ),
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
    folders = {path.parent.name for path in ROOT.glob("examples/*/__main__.py")}
    files = {path.stem for path in ROOT.glob("examples/*.py")} - {"__init__"}
    assert folders | files == set(PRINTED)


async def test_an_agent_is_embedded_on_sqlite_with_a_real_endpoint(tmp_path: Path) -> None:
    async with openai_standin() as endpoint:
        endpoint.answers(*(Says(text) for text in embed.REPLIES))
        agent = await embed.on_sqlite(tmp_path, endpoint.base_url, "sk-test")
    assert (agent.status.kind, agent.turns) == ("finished", 2)
    assert (tmp_path / "workspaces" / agent.id / "tea.txt").read_text(encoding="utf-8") == "Tea at four."


async def test_an_error_of_the_deciding_function_ends_the_run() -> None:
    stage = Stage(model=ScriptedModel(*embed.REPLIES), surface=HeadlessSurface())

    async def fail(_agent: Agent, _turn: Turn) -> Decision:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_agent(stage.core, embed.DRAFT, fail)
