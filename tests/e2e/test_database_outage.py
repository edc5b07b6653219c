"""The real process while its PostgreSQL server is away: a start waits, and later everything goes on by itself."""

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession
from sqlalchemy import Connection, make_url, text

from adapters.screens.ui_text import AWAY
from adapters.terminal.console import STOPPED
from agent_core.errors import EngineTaken
from agent_core.persistence import schema
from agent_core.persistence.locks import import_lock
from agent_core.providers.clock import SystemClock
from agent_core.testing.language_model import reply_text
from tests.e2e.process import Program, clean, free_port, keyed, running, serving
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import writing
from tests.scenario.page import PageChat, text_of
from tests.standins.openai import OpenAIStandIn, Says, openai_standin
from tests.standins.postgres import PostgresServer
from tests.tables import on_database

DONE = Says(reply_text("task_complete", {"reason": "It is done."}))
REFUSALS = {
    "password": "password authentication failed",
    "database": 'database "nothing" does not exist',
    "host": "nowhere.invalid/postgres cannot be reached",
}
ASKS = "y approve"
WAITS = "does not answer: the start waits for it."

pytestmark = pytest.mark.slow


@pytest.fixture
async def endpoint() -> AsyncIterator[OpenAIStandIn]:
    async with openai_standin() as standin:
        yield standin


async def says(process: Program, said: str) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        await process.says(said)


@pytest.mark.proves("start:waits")
@pytest.mark.parametrize("command", ["run", "web", "worker"])
async def test_a_start_waits_for_a_server_that_does_not_answer_and_goes_on(
    own_postgres: PostgresServer,
    tmp_path: Path,
    command: str,
) -> None:
    await own_postgres.stop("fast")
    port = free_port()
    async with running(tmp_path, "bot", command, DATABASE_URL=own_postgres.url, PORT=str(port)) as process:
        await says(process, WAITS)
        if command != "worker":
            async with ClientSession(headers={"Origin": f"http://127.0.0.1:{port}"}) as session:
                await is_told_to_wait(session, keyed(tmp_path, port))
        await own_postgres.start()
        await says(process, "The worker runs" if command == "worker" else "Signoff is at ")
        assert (process.output.count(WAITS), process.output.count("answers: the start goes on.")) == (1, 1)
        await process.stop()


async def is_told_to_wait(session: ClientSession, base: str) -> None:
    """Look at what a load balancer and a person get from a process that waits."""
    async with session.get(f"{base}/healthz") as answer:
        assert (answer.status, await answer.json()) == (503, {"status": "database away"})
    async with session.post(f"{base}/c/web/local/general/new", data={"goals": "One\nTwo"}) as answer:
        page = await answer.text()
        assert (answer.status, answer.headers["Retry-After"], AWAY in text_of(page)) == (503, "2", True)
        assert "One\nTwo</textarea>" in page
    async with session.get(f"{base}/static/page.css") as answer:
        assert answer.status == 200
    async with session.get(f"{base}/", headers={"Host": "evil.example"}) as answer:
        assert answer.status == 403


async def wrong_address(server: PostgresServer, fault: str) -> str:
    """The address of the server with this fault."""
    url = make_url(server.url).set(password="hunter22")
    match fault:
        case "password":

            def want_password(connection: Connection) -> None:
                (server.server.pgdata / "pg_hba.conf").write_text("local all all scram-sha-256\n")
                connection.exec_driver_sql("SELECT pg_reload_conf()")

            await on_database(server.url, want_password)
        case "database":
            url = url.set(database="nothing")
        case _:
            url = url.set(host="nowhere.invalid", query={})
    return url.render_as_string(hide_password=False)


@pytest.mark.proves("start:one-line")
@pytest.mark.parametrize("fault", ["password", "database"])
async def test_a_server_that_refuses_is_not_waited_for(
    own_postgres: PostgresServer,
    tmp_path: Path,
    fault: str,
) -> None:
    given = await wrong_address(own_postgres, fault)
    async with running(tmp_path, "bot", "worker", DATABASE_URL=given) as process:
        assert await process.ended() == 2
        await process.listen()
    assert process.output.startswith("Signoff did not start. DATABASE_URL: postgresql://")
    assert REFUSALS[fault] in process.output
    assert (process.output.count("\n"), "hunter22" in process.output) == (1, False)


@pytest.mark.proves("start:one-line")
@pytest.mark.parametrize("fault", REFUSALS)
async def test_backups_and_the_doctor_say_in_one_line_what_is_wrong_with_a_server_and_what_to_check(
    own_postgres: PostgresServer,
    tmp_path: Path,
    fault: str,
) -> None:
    given = await wrong_address(own_postgres, fault)
    for command in ("export x.zip", "backup x.zip", "import x.zip", "doctor"):
        async with running(tmp_path, "bot", *command.split(), DATABASE_URL=given) as process:
            assert await process.ended() == 1
            await process.listen()
        told = [line for line in process.lines if REFUSALS[fault] in line]
        assert (len(told), "Traceback" in process.output, "hunter22" in process.output) == (1, False, False)
        assert "Check " in told[0]
        assert command == "doctor" or process.lines == told


@pytest.mark.proves("database:restart")
async def test_an_outage_is_two_lines_of_the_log_and_agents_and_pages_go_on(
    own_postgres: PostgresServer,
    endpoint: OpenAIStandIn,
    tmp_path: Path,
) -> None:
    given = {"DATABASE_URL": own_postgres.url, "OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "k"}
    async with serving(tmp_path, "web", **given) as web, running(tmp_path, "bot", "worker", **given) as worker:
        await says(worker, "The worker runs")
        async with PageChat.opened(web.address, "ana") as ana:
            threads = []
            for number in range(3):
                endpoint.answers(Says(writing(f"{number}.txt", "one\n")))
                await ana.new_agent(f"Agent {number}", "writes", "Write")
                await ana.asks("write_to_file")
                threads.append(ana.path)
            await own_postgres.stop("immediate")
            async with ana.session.get(f"{web.address}{ana.path}") as answer:
                assert (answer.status, AWAY in text_of(await answer.text())) == (503, True)
            for process in (web, worker):
                await says(process, "database away, work waits for it")
            await own_postgres.start()
            for process in (web, worker):
                await says(process, "database back, work goes on")
            for ana.path in threads:
                ana.seen.clear()
                endpoint.answers(DONE)
                await (await ana.asks("write_to_file")).press("Approve")
                await ana.asks("task_complete")
        for process in (worker, web):
            await process.stop()
            await process.listen()
            lines = [line for line in process.lines if " WARNING " in line or " ERROR " in line or "Traceback" in line]
            assert ["away" in line for line in lines if "persistence.connections" in line] == [True, False]
            assert [line for line in lines if "persistence.connections" not in line] == []


@pytest.mark.proves("engine:only-one")
async def test_solo_and_an_import_do_not_work_on_one_server_at_a_time(postgres: str, tmp_path: Path) -> None:
    await schema.upgrade(postgres)
    imports = import_lock(postgres, SystemClock())
    await imports.acquire()
    arguments = ("solo", "--name", "Clerk", "--goal", 'Write "tea" to a.md')
    async with running(tmp_path, "bot", *arguments, DATABASE_URL=postgres) as refused:
        assert await refused.ended() == 2
        await refused.listen()
    assert "an import into this database is under way: start again when it is done." in refused.lines[-1]
    await imports.release()
    async with talking(tmp_path, postgres, *arguments):
        with pytest.raises(EngineTaken):
            await imports.acquire()
    await imports.release()


@pytest.mark.proves("engine:only-one")
@pytest.mark.proves("database:restart")
async def test_solo_goes_on_after_a_restart_of_the_server_and_takes_its_lock_again(
    own_postgres: PostgresServer,
    tmp_path: Path,
) -> None:
    await schema.upgrade(own_postgres.url)
    async with talking(tmp_path, own_postgres.url, "solo", "--name", "Clerk", "--goal", 'Write "tea" to a.md') as solo:
        await says(solo, ASKS)
        await own_postgres.stop("immediate")
        await types(solo, "y")
        await says(solo, AWAY)
        await own_postgres.start()
        await says(solo, ASKS)
        locks = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await on_database(own_postgres.url, lambda session: session.scalar(locks)):
                continue
        imports = import_lock(own_postgres.url, SystemClock())
        with pytest.raises(EngineTaken):
            await imports.acquire()
        await imports.release()
        await types(solo, "x")
        assert await solo.ended() == STOPPED, solo.output


async def types(solo: Program, line: str) -> None:
    assert solo.process.stdin
    solo.process.stdin.write(f"{line}\n".encode())
    await solo.process.stdin.drain()


@asynccontextmanager
async def talking(folder: Path, url: str, *arguments: str) -> AsyncIterator[Program]:
    """`solo` with an agent that waits for its person, who types nothing."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", *arguments,
        cwd=folder, env=clean(folder, {"DATABASE_URL": url}), stdin=PIPE, stdout=PIPE, stderr=STDOUT,
    )  # fmt: skip
    solo = Program(process=process)
    try:
        await says(solo, "Model: ")
        yield solo
    finally:
        solo.send(signal.SIGKILL)
        await process.wait()
        await solo.listen()
