"""The log as a collector of logs reads it: with LOG_FORMAT=json each line that a process writes is JSON."""

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from bot.release import release
from tests.e2e.process import LONGEST_STOP, ROOT, free_port, running
from tests.patience import PATIENCE_SECONDS
from tests.scenario.page import PageChat

pytestmark = pytest.mark.slow
TOKEN = "a-token-of-the-team-1234"
FAULTS = """
import threading, warnings
from bot.logs import configure
configure("INFO", "json", ["sesame"])
warnings.warn("a library warns")
thread = threading.Thread(target=lambda: 1 / 0)
thread.start()
thread.join()
raise ValueError("open sesame\\nsecond line")
"""


def events(lines: list[str]) -> list[dict[str, Any]]:
    """Every line as JSON; fail at the first that is none."""
    return [json.loads(line) for line in lines]


def of(found: list[dict[str, Any]], message: str) -> dict[str, Any]:
    """The only event with this message."""
    (event,) = (each for each in found if each["message"] == message)
    return event


@pytest.mark.proves("watch:log")
async def test_every_line_of_a_whole_story_is_json(tmp_path: Path) -> None:
    port = str(free_port())
    given = {"LOG_FORMAT": "json", "WEB_TOKEN": TOKEN, "PORT": port}
    base = f"http://127.0.0.1:{port}"
    async with running(tmp_path, "bot", "run", **given) as program:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await program.says("Signoff is at ")
        await guess_token(base)
        async with PageChat.opened(base, "ana") as ana:
            await ana.session.post(f"{base}/enter", data={"token": TOKEN})
            await ana.new_agent("Clerk", "writes", 'Write "top secret tea" to a.md')
            await (await ana.asks("write_to_file")).press("Reject", reason="I prefer coffee")
            await ana.asks("write_to_file", "task_complete")
        program.send(signal.SIGTERM)
        assert await program.ended(LONGEST_STOP) == 0
    found = events(program.lines)
    assert all({"time", "level", "logger", "message"} <= event.keys() for event in found)
    started = of(found, "signoff starts")
    assert (started["version"], len(started["settings"])) == (release(), 12)
    decided = of(found, "decided")
    assert {"by", "agent", "decision", "surface", "turn"} <= decided.keys()
    assert (decided["decision"], decided["surface"], decided["turn"]) == ("reject", "web", 1)
    assert of(found, "a wrong token was given for the page")["level"] == "WARNING"
    for text in ("tea", "coffee", TOKEN):
        assert text not in program.output


async def guess_token(base: str) -> None:
    async with ClientSession() as session:
        wrong = await session.post(f"{base}/enter", data={"token": "guessed"}, headers={"Origin": base})
        assert "That is not the token." in await wrong.text()


async def test_a_start_that_is_refused_says_so_in_json(tmp_path: Path) -> None:
    async with running(tmp_path, "bot", "run", LOG_FORMAT="json", PORT="no number") as program:
        assert await program.ended() == 2
    (refused,) = events(program.lines)
    assert "Signoff did not start. PORT" in refused["message"]
    assert refused["level"] == "ERROR"


async def test_tracebacks_and_warnings_are_json_without_secrets() -> None:
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", FAULTS, cwd=ROOT, stdout=PIPE, stderr=STDOUT, env={"PYTHONPATH": str(ROOT)}
    )
    output, _ = await program.communicate()
    warned, of_thread, ended = events(output.decode().splitlines())
    assert "a library warns" in warned["message"]
    assert "ZeroDivisionError" in of_thread["exc_info"]
    assert "ValueError" in ended["exc_info"]
    assert "sesame" not in output.decode()
    assert program.returncode == 1
