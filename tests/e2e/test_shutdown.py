"""The real process is told to end, as at every deploy: nobody is asked anything that need not be asked."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from agent_core.testing.language_model import reply_text
from bot.worker import ENDED_AT_ONCE
from tests.e2e.process import LONGEST_STOP, free_port, program, running
from tests.packages import SANDBOX, need
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import writing
from tests.scenario.page import PageChat
from tests.standins.openai import Hangs, OpenAIStandIn, Says, openai_standin

pytestmark = pytest.mark.slow

DONE = Says(reply_text("task_complete", {"reason": "It is done."}))
AGENTS = ("Ada", "Bob", "Cleo")


@pytest.fixture
async def endpoint() -> AsyncIterator[OpenAIStandIn]:
    """Where the model is asked."""
    async with openai_standin() as standin:
        yield standin


def shell(line: str) -> Says:
    return Says(reply_text("execute_shell", {"command_line": line}))


async def until_made(folder: Path, name: str) -> None:
    """Wait until a program has made this file in its agent's folder."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await asyncio.to_thread(is_made, folder, name):
            continue


def is_made(folder: Path, name: str) -> bool:
    with suppress(FileNotFoundError):  # a folder that was removed meanwhile, of the sandbox's own test
        return any(folder.rglob(name))
    return False


@pytest.mark.proves("engine:drain")
async def test_commands_that_run_at_sigterm_end_and_nobody_is_asked(endpoint: OpenAIStandIn, tmp_path: Path) -> None:
    need(*SANDBOX)
    given = {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "k", "EXECUTE_LOCAL_COMMANDS": "true"}
    port, threads = str(free_port()), list[str]()
    async with program(tmp_path, PORT=port, **given) as first:
        for name in AGENTS:
            endpoint.answers(shell(f"touch {name}.begun; sleep 2; echo ran >> {name}.txt"))
            async with PageChat.opened(first.address, "ana") as ana:
                await ana.new_agent(name, "waits", "Wait")
                await (await ana.asks("execute_shell")).press("Approve")
                threads.append(ana.path)
            await until_made(tmp_path, f"{name}.begun")
        first.send(signal.SIGTERM)
        await first.says("Signoff stops: 3 agents at work")
        async with PageChat.opened(first.address, "ana") as ana:
            ana.path = threads[0]
            assert await ana.sees("Signoff is stopping. Running commands get some seconds to end.")
            assert "No worker runs" not in await ana.page()
        assert await first.ended(LONGEST_STOP) == 0
        await first.listen()
    endpoint.answers(DONE, DONE, DONE)
    async with program(tmp_path, PORT=port, **given) as second, PageChat.opened(second.address, "ana") as ana:
        for name, ana.path in zip(AGENTS, threads, strict=True):
            await ana.asks("task_complete")
            assert "run again:" not in await ana.page()
            assert await ana.file(f"{name}.txt") == "ran\n"


@pytest.mark.proves("engine:drain")
async def test_ctrl_c_in_a_terminal_leaves_a_program_its_time(endpoint: OpenAIStandIn, tmp_path: Path) -> None:
    need(*SANDBOX)
    given = {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "k", "EXECUTE_LOCAL_COMMANDS": "true"}
    port = str(free_port())
    endpoint.answers(shell("touch begun; sleep 2; echo ran >> a.txt"))
    async with program(tmp_path, PORT=port, **given) as first:
        async with PageChat.opened(first.address, "ana") as ana:
            await ana.new_agent("Ada", "waits", "Wait")
            await (await ana.asks("execute_shell")).press("Approve")
        await until_made(tmp_path, "begun")
        await first.interrupt()
    endpoint.answers(DONE)
    async with program(tmp_path, PORT=port, **given) as second, PageChat.opened(second.address, "ana") as again:
        again.path = ana.path
        await again.asks("task_complete")
        assert "failed" not in await again.page()
        assert await again.file("a.txt") == "ran\n"


@pytest.mark.proves("engine:drain")
async def test_a_command_that_takes_too_long_is_ended_and_its_card_says_so(
    endpoint: OpenAIStandIn, tmp_path: Path
) -> None:
    need(*SANDBOX)
    given = {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "k", "EXECUTE_LOCAL_COMMANDS": "true"}
    port = str(free_port())
    endpoint.answers(shell("echo half; touch begun; sleep 600; touch ended"))
    async with program(tmp_path, PORT=port, SHUTDOWN_SECONDS="1", **given) as first:
        async with PageChat.opened(first.address, "ana") as ana:
            await ana.new_agent("Ada", "waits", "Wait")
            await (await ana.asks("execute_shell")).press("Approve")
        await until_made(tmp_path, "begun")
        await first.stop()
        await first.listen()
    assert "Ended after 1 s: the command of 1 agent. Each card asks what became of it." in first.output
    async with program(tmp_path, PORT=port, **given) as second, PageChat.opened(second.address, "ana") as again:
        again.path = ana.path
        assert await again.sees("Signoff stopped and ended this")
        assert "run again:" in await again.page()
    assert not is_made(tmp_path, "ended")


@pytest.mark.proves("engine:drain")
async def test_a_model_call_is_given_up_at_sigterm_and_made_again_at_the_next_start(
    endpoint: OpenAIStandIn, tmp_path: Path
) -> None:
    given = {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "k"}
    port = str(free_port())
    endpoint.answers(Hangs())
    async with program(tmp_path, PORT=port, **given) as first:
        async with PageChat.opened(first.address, "ana") as ana:
            await ana.new_agent("Ada", "writes", "Write")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not endpoint.completions:
                await asyncio.to_thread(lambda: None)
        await first.stop()
    endpoint.answers(Says(writing("a.txt", "one\n")))
    async with program(tmp_path, PORT=port, **given) as second, PageChat.opened(second.address, "ana") as again:
        again.path = ana.path
        await again.asks("write_to_file")


@pytest.mark.proves("engine:drain")
async def test_a_second_signal_ends_the_process_at_once(endpoint: OpenAIStandIn, tmp_path: Path) -> None:
    need(*SANDBOX)
    given = {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": "k", "EXECUTE_LOCAL_COMMANDS": "true"}
    endpoint.answers(shell("touch begun; sleep 600"))
    async with program(tmp_path, SHUTDOWN_SECONDS="600", **given) as signoff:
        async with PageChat.opened(signoff.address, "ana") as ana:
            await ana.new_agent("Ada", "waits", "Wait")
            await (await ana.asks("execute_shell")).press("Approve")
        await until_made(tmp_path, "begun")
        signoff.send(signal.SIGTERM)
        await signoff.says("Signoff stops: 1 agent at work")
        signoff.send(signal.SIGTERM)
        assert await signoff.ended() == ENDED_AT_ONCE


@pytest.mark.proves("engine:only-one")
async def test_a_second_engine_with_a_folder_of_its_own_is_refused(tmp_path: Path) -> None:
    shared = f"sqlite:///{tmp_path / 'shared.db'}"
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    port = str(free_port())
    async with (
        program(tmp_path / "one", DATABASE_URL=shared),
        running(tmp_path / "two", "bot", "run", DATABASE_URL=shared, PORT=port) as second,
    ):
        assert await second.ended() == 2
        await second.listen()
    said = "Signoff did not start. DATABASE_URL: another Signoff is already at work on this database."
    assert said in second.output


@pytest.mark.proves("budget:killed")
async def test_a_call_that_was_killed_is_charged_as_an_estimate(endpoint: OpenAIStandIn, tmp_path: Path) -> None:
    given = {
        "OPENAI_BASE_URL": endpoint.base_url,
        "OPENAI_API_KEY": "k",
        "SMART_MODEL": "gpt-test",
        "MODEL_PRICES": '{"gpt-test": [10, 50]}',
    }
    port = str(free_port())
    endpoint.answers(Hangs())
    async with program(tmp_path, PORT=port, **given) as first:
        async with PageChat.opened(first.address, "ana") as ana:
            await ana.new_agent("Ada", "writes", "Write")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not endpoint.completions:
                await asyncio.to_thread(lambda: None)
        await first.kill()
    endpoint.answers(Says(writing("a.txt", "one\n")))
    async with program(tmp_path, PORT=port, **given) as second, PageChat.opened(second.address, "ana") as again:
        again.path = ana.path
        await again.asks("write_to_file")
        assert "of it estimated, because a process ended during a call" in await again.page()
