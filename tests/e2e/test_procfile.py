"""The lines of the Procfile as they are written: release ends well, web and worker share a story and answer probes."""

import asyncio
from pathlib import Path

import pytest
from aiohttp import ClientSession

from tests.e2e.process import ROOT, Program, free_port, running, serving
from tests.patience import PATIENCE_SECONDS
from tests.scenario.page import PageChat
from tests.standins.postgres import PostgresServer

pytestmark = pytest.mark.slow
LINES = dict(line.split(": ", 1) for line in (ROOT / "Procfile").read_text().splitlines())


def words_of(name: str) -> list[str]:
    """What follows `python -m` in a line."""
    python, module, *words = LINES[name].split()
    assert (python, module) == ("python", "-m")
    return words


async def probed(port: str, path: str) -> tuple[int, dict[str, str]]:
    async with ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.status, await answer.json()


async def test_the_lines_of_the_procfile_run_a_story_together(own_postgres: PostgresServer, tmp_path: Path) -> None:
    port = str(free_port())
    given = {"DATABASE_URL": own_postgres.url, "PROBE_PORT": port}
    async with running(tmp_path, *words_of("release"), **given) as release:
        assert await release.ended() == 0, release.output
    bot, web = words_of("web")
    assert bot == "bot"
    async with (
        running(tmp_path, *words_of("worker"), **given) as worker,
        serving(tmp_path, web, **given) as pages,
        PageChat.opened(pages.address, "ana") as ana,
    ):
        await until_ready(worker)
        await ana.new_agent("Clerk", "writes", 'Write "tea" to a.md')
        await (await ana.asks("write_to_file")).press("Approve")
        assert await ana.sees("done")
        assert await probed(port, "/livez") == (200, {"status": "ok"})
        assert await probed(port, "/readyz") == (200, {"status": "ok", "model": "ok"})
        await own_postgres.stop("fast")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await probed(port, "/readyz"))[0] != 503:
                continue
        assert await probed(port, "/livez") == (200, {"status": "ok"})
        await own_postgres.start()


async def until_ready(worker: Program) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        await worker.says("The worker runs")
