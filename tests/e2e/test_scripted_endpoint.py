"""The whole program in a process of its own, asking an endpoint through the real SDK, used by a person over HTTP."""

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agent_core.replies.reading import reply_schema
from agent_core.testing.language_model import reply_text
from docs.reference.generate import every_command
from tests.e2e.process import Program, free_port, program, running
from tests.scenario.chat import adding, writing
from tests.scenario.page import PageChat, text_of
from tests.standins.openai import Fails, Hangs, OpenAIStandIn, Says, openai_standin

KEY = "sk-this-key-is-not-taken-anywhere"
DONE = Says(reply_text("task_complete", {"reason": "The report is written."}))
WRITES = Says(writing("report.md", "All is well.\n"))


@pytest.fixture
async def endpoint() -> AsyncIterator[OpenAIStandIn]:
    """Where the model is asked."""
    async with openai_standin() as standin:
        yield standin


@pytest.fixture
async def signoff(endpoint: OpenAIStandIn, tmp_path: Path) -> AsyncIterator[Program]:
    """The program, with a key that the endpoint takes and a price for what it says."""
    endpoint.key = "sk-the-right-key"
    prices = '{"gpt-test": [1000, 1000]}'
    async with program(
        tmp_path, OPENAI_BASE_URL=endpoint.base_url, OPENAI_API_KEY=endpoint.key, MODEL_PRICES=prices
    ) as started:
        yield started


@pytest.fixture
async def ana(signoff: Program) -> AsyncIterator[PageChat]:
    """Ana at the page."""
    async with PageChat.opened(signoff.address, "ana") as chat:
        yield chat


@pytest.mark.slow
@pytest.mark.proves("endpoint:goal")
async def test_a_goal_is_finished_through_the_real_sdk(endpoint: OpenAIStandIn, ana: PageChat) -> None:
    endpoint.answers(WRITES, Says(adding("report.md", "Ana agrees.\n")), DONE)
    await ana.new_agent("Clerk", "keeps notes", "Write a report")
    for command in ("write_to_file", "append_to_file", "task_complete"):
        await (await ana.asks(command)).press("Approve")
    assert await ana.sees("Clerk is done: “The report is written.”")
    assert await ana.file("report.md") == "All is well.\nAna agrees.\n"
    page = text_of(await ana.page())
    assert "gpt-test · 127.0.0.1" in page
    assert [said in page for said in ("$0.054 spent", "tokens54", "turns3")] == [True] * 3


@pytest.mark.slow
@pytest.mark.proves("model:later")
async def test_an_endpoint_that_is_busy_is_asked_again_when_it_said(endpoint: OpenAIStandIn, ana: PageChat) -> None:
    endpoint.answers(WRITES, Fails(429, "Slow down.", headers={"Retry-After": "1"}), DONE)
    await ana.new_agent("Clerk", "keeps notes", "Write a report")
    await (await ana.asks("write_to_file")).press("Approve")
    assert await ana.sees("waiting for the model: 127.0.0.1")
    await (await ana.asks("task_complete")).press("Approve")
    assert await ana.sees("Clerk is done: “The report is written.”")
    assert endpoint.completions[1]["messages"][:-1] == endpoint.completions[2]["messages"][:-1]


@pytest.mark.proves("endpoint:plain")
@pytest.mark.slow
async def test_an_endpoint_without_schemas_is_asked_for_plain_json_from_then_on(
    endpoint: OpenAIStandIn, ana: PageChat
) -> None:
    endpoint.refuses.add("json_schema")
    endpoint.answers(WRITES, DONE)
    await ana.new_agent("Clerk", "keeps notes", "Write a report")
    for command in ("write_to_file", "task_complete"):
        await (await ana.asks(command)).press("Approve")
    assert await ana.sees("Clerk is done")
    assert ["tools" in body for body in endpoint.completions] == [False, True, True]


@pytest.mark.slow
async def test_a_model_that_reasons_at_length_gets_room_and_its_reasoning_is_shown_as_spent(
    endpoint: OpenAIStandIn, ana: PageChat
) -> None:
    spent = {"prompt_tokens": 11, "completion_tokens": 6_000, "completion_tokens_details": {"reasoning_tokens": 6_000}}
    endpoint.answers(Says("", usage=spent, finish_reason="length", reasoning="Hm. " * 2_000), WRITES, DONE)
    await ana.new_agent("Clerk", "keeps notes", "Write a report")
    await (await ana.asks("write_to_file")).press("Approve")
    await ana.asks("task_complete")
    first, second, _ = [body["max_tokens"] for body in endpoint.completions]
    assert second > first
    assert "for reasoning6,000" in text_of(await ana.page())


@pytest.mark.slow
async def test_stop_ends_a_long_thought_that_is_seen_on_the_page_and_bills_it(
    endpoint: OpenAIStandIn, ana: PageChat
) -> None:
    endpoint.answers(Hangs(writing("report.md", "All is well. " * 40)))
    await ana.new_agent("Clerk", "keeps notes", "Write a report")
    assert await ana.sees("thinking for 5 s · about")
    assert "writing write_to_file report.md" in text_of(await ana.page())
    await ana.says("!stop")
    async with asyncio.timeout(60):
        await endpoint.lost_a_stream.wait()
    assert await ana.sees("topped by @ana")
    assert not re.search(r"spent\$0(?![.\d])", text_of(await ana.page()))


@pytest.mark.slow
async def test_a_stream_that_breaks_off_is_asked_for_again(endpoint: OpenAIStandIn, ana: PageChat) -> None:
    endpoint.answers(Says(writing("report.md", "All is well.\n"), breaks_after=4), WRITES, DONE)
    await ana.new_agent("Clerk", "keeps notes", "Write a report")
    assert await ana.sees("broke off in the middle of its reply")
    await (await ana.asks("write_to_file")).press("Approve")
    await ana.asks("task_complete")
    assert await ana.file("report.md") == "All is well.\n"


def test_no_bound_is_asked_for_that_a_llama_cpp_server_would_refuse_the_whole_schema_for() -> None:
    asked = json.dumps(reply_schema([command.spec for command in every_command().by_name.values()]))
    assert max(int(bound) for bound in re.findall(r'"(?:max|min)(?:Length|Items)": (\d+)', asked)) < 2000


@pytest.mark.slow
@pytest.mark.proves("endpoint:key")
async def test_a_key_that_is_refused_pauses_the_agent_and_is_written_nowhere(
    endpoint: OpenAIStandIn, tmp_path: Path
) -> None:
    endpoint.key = "sk-the-right-key"
    environ = {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": KEY, "LOG_LEVEL": "DEBUG"}
    async with program(tmp_path, **environ) as signoff, PageChat.opened(signoff.address, "ana") as ana:
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        assert await ana.sees("paused: The model did not answer")
        pages = [await ana.page(), *[page async for page in pages_of(ana)]]
        assert "Set OPENAI_API_KEY to a key" in pages[0]
        assert [page for page in pages if KEY in page] == []
        assert list(holding(KEY, tmp_path)) == []
        await signoff.stop()
    assert {request.headers["Authorization"] for request in endpoint.requests} == {f"Bearer {KEY}"}
    assert KEY not in signoff.output
    assert list(holding(KEY, tmp_path)) == []


@pytest.mark.proves("stop:restart")
@pytest.mark.slow
async def test_a_card_from_before_a_restart_is_pressed_after_it(endpoint: OpenAIStandIn, tmp_path: Path) -> None:
    endpoint.answers(WRITES, DONE)
    environ = {"OPENAI_BASE_URL": endpoint.base_url, "PORT": str(free_port())}
    async with program(tmp_path, **environ) as before, PageChat.opened(before.address, "ana") as ana:
        await ana.new_agent("Clerk", "keeps notes", "Write a report")
        card = await ana.asks("write_to_file")
        await before.stop()
        async with program(tmp_path, **environ):
            assert card.source in await ana.page()
            await card.press("Approve")
            await (await ana.asks("task_complete")).press("Approve")
            assert await ana.sees("Clerk is done")
            assert await ana.file("report.md") == "All is well.\n"
    assert len(endpoint.completions) == 2


@pytest.fixture
def taken() -> Iterator[str]:
    """A port that somebody else listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield str(listening.getsockname()[1])


@pytest.mark.slow
@pytest.mark.proves("settings:fault")
async def test_a_port_that_is_taken_ends_the_start_with_one_line(tmp_path: Path, taken: str) -> None:
    async with running(tmp_path, "bot", "run", PORT=taken) as refused:
        await refused.listen()
        assert await refused.ended() == 2
    (told,) = [line for line in refused.lines if "signoff starts" not in line]
    assert told.startswith(f"Signoff did not start. PORT: 127.0.0.1:{taken} cannot be listened on")


async def pages_of(ana: PageChat) -> AsyncIterator[str]:
    """What else a person can look at."""
    for path in ("/", ana.path.partition("/a/")[0], f"{ana.path}/audit", "/metrics"):
        async with ana.session.get(ana.base + path) as answer:
            assert answer.status == 200
            yield await answer.text()


def holding(word: str, folder: Path) -> Iterator[Path]:
    """The files that hold it."""
    yield from (path for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes())
