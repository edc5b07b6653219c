"""Two machines, one PostgreSQL, one folder of files: real processes that share the agents, and lose one of them."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_core.testing.language_model import reply_text
from tests.e2e.process import LONGEST_STOP, Program, running, serving
from tests.packages import SANDBOX, need
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import writing
from tests.scenario.page import PageChat
from tests.standins.openai import OpenAIStandIn, Says, openai_standin
from tests.standins.postgres import PostgresServer

DONE = Says(reply_text("task_complete", {"reason": "It is done."}))
STOP_SECONDS = 3.0  # promised is 1; the machine is shared with other tests

pytestmark = pytest.mark.slow


def says_no_worker(page: str) -> bool:
    return "No worker runs, so agents wait." in page


def shell(line: str) -> Says:
    return Says(reply_text("execute_shell", {"command_line": line}))


@dataclass(slots=True)
class Machines:
    """Two web processes and two workers, in two data folders."""

    webs: list[Program]
    workers: list[Program]
    endpoint: OpenAIStandIn
    files: Path

    async def until_made(self, name: str) -> None:
        """Wait until a program has made this file in its agent's folder."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await asyncio.to_thread(self.has, name):
                continue

    def let_commands_end(self) -> None:
        """Let the commands of `begin_commands` end that still run."""
        for begun in self.files.rglob("*.begun"):
            begun.with_name("end").touch()

    def has(self, name: str) -> bool:
        return any(self.files.rglob(name))


@pytest.fixture
async def machines(own_postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[Machines]:
    async with openai_standin() as endpoint, AsyncExitStack() as stack:
        files = tmp_path / "files"
        given = {
            "DATABASE_URL": own_postgres.url,
            "WORKSPACE_URL": f"file://{files}",
            "OPENAI_BASE_URL": endpoint.base_url,
            "OPENAI_API_KEY": "k",
            "EXECUTE_LOCAL_COMMANDS": "true",
        }
        found = Machines([], [], endpoint, files)
        for name in ("one", "two"):
            home = tmp_path / name
            home.mkdir()
            found.webs.append(await stack.enter_async_context(serving(home, "web", **given)))
            found.workers.append(await stack.enter_async_context(working(home, **given)))
        yield found


@asynccontextmanager
async def working(home: Path, **environ: str) -> AsyncIterator[Program]:
    async with running(home, "bot", "worker", **environ) as worker:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await worker.says("The worker runs")
        yield worker


@pytest.mark.proves("workers:none")
async def test_the_page_says_so_while_no_worker_runs(own_postgres: PostgresServer, tmp_path: Path) -> None:
    given = {"DATABASE_URL": own_postgres.url}
    async with serving(tmp_path, "web", **given) as web, PageChat.opened(web.address, "ana") as ana:
        await ana.new_agent("Clerk", "writes", 'Write "tea" to a.md')
        await ana.until(says_no_worker)
        async with ana.session.get(f"{web.address}/c/web/local/general") as channel:
            assert says_no_worker(await channel.text())
        async with working(tmp_path, **given) as worker:
            await ana.until(lambda page: not says_no_worker(page) and "Clerk" in page)
            await worker.kill()
        await ana.until(says_no_worker)


async def test_a_worker_asks_for_the_models_before_an_agent_needs_one(
    own_postgres: PostgresServer,
    tmp_path: Path,
) -> None:
    async with openai_standin() as endpoint:
        given = {"DATABASE_URL": own_postgres.url, "OPENAI_BASE_URL": endpoint.base_url}
        async with working(tmp_path, **given), asyncio.timeout(PATIENCE_SECONDS):
            await endpoint.was_listed.wait()


async def new_agent(chat: PageChat, endpoint: OpenAIStandIn, name: str, reply: Says) -> str:
    """Make an agent that proposes this; return where its thread is."""
    endpoint.answers(reply)
    await chat.new_agent(name, "works", "Work")
    return chat.path


async def begin_commands(machines: Machines, chat: PageChat) -> list[str]:
    """Let four agents each run a command, until `let_commands_end`; return where their threads are.

    A command that ended by itself could do so before all have begun, and its agent would be given another's reply.
    """
    threads = []
    for number in range(4):
        line = f"touch {number}.begun; until test -e end; do sleep 0.05; done; echo ran >> {number}.txt"
        threads.append(await new_agent(chat, machines.endpoint, f"Agent {number}", shell(line)))
        await (await chat.asks("execute_shell")).press("Approve")
        await machines.until_made(f"{number}.begun")
    return threads


@pytest.mark.proves("workers:many")
async def test_agents_are_worked_on_by_both_and_each_call_is_made_once(machines: Machines) -> None:
    async with PageChat.opened(machines.webs[0].address, "ana") as ana:
        for number in range(6):
            name = f"Agent {number}"
            await new_agent(ana, machines.endpoint, name, Says(writing(f"{number}.txt", "one\n")))
            card = await ana.asks("write_to_file")
            machines.endpoint.answers(DONE)
            await card.press("Approve")
            await ana.asks("task_complete")
            assert await ana.file(f"{number}.txt") == "one\n"
    assert len(machines.endpoint.completions) == 12


@pytest.mark.proves("workers:stop")
async def test_stop_ends_a_command_that_runs_in_another_process(machines: Machines) -> None:
    need(*SANDBOX)
    async with PageChat.opened(machines.webs[0].address, "ana") as ana:
        await new_agent(ana, machines.endpoint, "Ada", shell("touch begun; sleep 4; touch ended"))
        await (await ana.asks("execute_shell")).press("Approve")
        await machines.until_made("begun")
        begun = time.monotonic()
        async with PageChat.opened(machines.webs[1].address, "ben", ana.path) as ben:
            await ben.stops()
            assert await ben.sees("stopped by")
        assert time.monotonic() - begun < STOP_SECONDS
        machines.endpoint.answers(shell("sleep 4; touch later"))
        await ana.resume()
        await (await ana.asks("execute_shell")).press("Approve")
        await machines.until_made("later")
    assert not machines.has("ended")


@pytest.mark.proves("workers:messages")
async def test_a_page_of_another_process_hears_of_a_change(machines: Machines) -> None:
    async with (
        PageChat.opened(machines.webs[0].address, "ana") as ana,
        PageChat.opened(machines.webs[1].address, "ben") as ben,
        ben.session.get(f"{ben.base}/events") as events,
    ):
        await new_agent(ana, machines.endpoint, "Ada", Says(writing("a.txt", "one\n")))
        agent_id = ana.path.rpartition("/")[2]
        async with asyncio.timeout(PATIENCE_SECONDS):
            while agent_id not in (await events.content.readline()).decode():
                continue


@pytest.mark.proves("workers:death")
async def test_a_worker_is_killed_and_the_other_goes_on_with_its_agents(machines: Machines) -> None:
    need(*SANDBOX)
    async with PageChat.opened(machines.webs[0].address, "ana") as ana:
        threads = await begin_commands(machines, ana)
        await machines.workers[0].kill()
        machines.endpoint.answers(*[DONE] * 8)
        machines.let_commands_end()
        for number, ana.path in enumerate(threads):
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not ("run again:" in (page := await ana.page()) or "It is done." in page):
                    continue
            if "run again:" not in page:
                assert await ana.file(f"{number}.txt") == "ran\n"


@pytest.mark.proves("workers:leave")
async def test_a_worker_that_is_told_to_end_asks_nobody_and_the_other_goes_on(machines: Machines) -> None:
    need(*SANDBOX)
    async with PageChat.opened(machines.webs[0].address, "ana") as ana:
        threads = await begin_commands(machines, ana)
        machines.endpoint.answers(*[DONE] * 4)
        machines.workers[0].send(signal.SIGTERM)
        machines.let_commands_end()
        assert await machines.workers[0].ended(LONGEST_STOP) == 0
        for number, ana.path in enumerate(threads):
            await ana.asks("task_complete")
            assert "run again:" not in await ana.page()
            assert await ana.file(f"{number}.txt") == "ran\n"
