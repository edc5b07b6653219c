"""Traces of one story, through `web` and `worker` as two processes, as a collector is sent them."""

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest
from aiohttp import ClientSession

from adapters.terminal.console import STOPPED
from agent_core.testing.language_model import reply_text
from bot.release import release
from tests.e2e.process import LONGEST_STOP, Program, free_port, running, serving
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import writing
from tests.scenario.page import PageChat
from tests.standins.openai import OpenAIStandIn, Says, openai_standin
from tests.standins.otlp import Collector, Span, collecting
from tests.standins.postgres import PostgresServer

pytestmark = pytest.mark.slow

GOAL, THOUGHT, CONTENT, NAME = "Reconcile the zebra ledger", "walrus thoughts", "quagga content", "Otter"
TOKEN = "read-numbers-and-nothing-else"


Spans: TypeAlias = Mapping[str, Sequence[Span]]


@dataclass(slots=True)
class Pair:
    """A web process and a worker that send to one collector."""

    web: Program
    worker: Program
    probes: str
    endpoint: OpenAIStandIn
    collector: Collector


@pytest.fixture
async def pair(own_postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[Pair]:
    probes = str(free_port())
    async with openai_standin() as endpoint, collecting() as collector:
        given = {
            "DATABASE_URL": own_postgres.url,
            "OPENAI_BASE_URL": endpoint.base_url,
            "OPENAI_API_KEY": "k",
            "METRICS_TOKEN": TOKEN,
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.base_url,
            "OTEL_BSP_SCHEDULE_DELAY": "100",
            "OTEL_METRIC_EXPORT_INTERVAL": "200",
        }
        async with (
            serving(tmp_path, "web", **given) as web,
            running(tmp_path, "bot", "worker", PROBE_PORT=probes, **given) as worker,
        ):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await worker.says("The worker runs")
            yield Pair(web, worker, f"http://127.0.0.1:{probes}", endpoint, collector)


async def tell_story(pair: Pair) -> None:
    """A file is written after an approval, and the agent's wish to end is rejected."""
    done = reply_text("task_complete", {"reason": "Narwhal reason"})
    pair.endpoint.answers(Says(writing("zebra-ledger.txt", CONTENT)), Says(done), Says(done))
    async with PageChat.opened(pair.web.address, "Pangolin") as ana:
        await ana.new_agent(NAME, "keeps accounts", GOAL)
        await (await ana.asks("write_to_file")).press("Approve")
        await (await ana.asks("task_complete")).press("Reject", reason="Aardvark reason")
        await ana.asks("task_complete")


def turn_of(collector: Collector, number: int) -> dict[str, list[Span]]:
    """The spans of a turn, by name."""
    (turn,) = (each for each in collector.named("turn") if each.facts["signoff.turn.number"] == number)
    found: dict[str, list[Span]] = {}
    for span in collector.spans:
        if span.trace == turn.trace:
            found.setdefault(span.name, []).append(span)
    return found


def check_inside(inner: Span, outer: Span) -> None:
    """Check that a span is the other's child, and within its time; clocks of a machine differ by microseconds."""
    assert inner.parent == outer.id
    assert outer.began - 1_000_000 <= inner.began <= inner.ended <= outer.ended + 1_000_000, (inner, outer)


@pytest.mark.proves("watch:traces")
async def test_a_story_is_read_back_span_by_span_across_both_processes(pair: Pair) -> None:
    await tell_story(pair)
    await pair.collector.until(lambda: len(pair.collector.named("turn")) == 2)
    await pair.collector.until(lambda: {"think", "card"} <= set(turn_of(pair.collector, 2)))
    await pair.collector.until(lambda: "signoff.turn.duration" in pair.collector.metrics)

    first, second = turn_of(pair.collector, 1), turn_of(pair.collector, 2)
    check_times(first)
    check_facts(first)
    check_processes(first, second)
    assert len({span.id for span in pair.collector.spans}) == len(pair.collector.spans)
    assert {span.service for span in pair.collector.spans} == {f"signoff {release()}"}
    assert not any(span.failed for span in pair.collector.spans)
    assert_no_text(pair.collector)


def check_times(spans: Spans) -> None:
    """Check parents and times of a turn whose command ran."""
    (turn,), (think,), (decision,) = spans["turn"], spans["think"], spans["decision"]
    (call,), (command,) = spans["chat gpt-test"], spans["execute_tool write_to_file"]
    assert turn.parent == ""
    for each in (think, decision, command):
        check_inside(each, turn)
    check_inside(call, think)
    assert decision.ended <= command.began
    assert {card.parent for card in spans["card"]} == {turn.id}


def check_facts(spans: Spans) -> None:
    """Check the attributes, of which those that have a name in OpenTelemetry's conventions bear it."""
    (turn,), (decision,) = spans["turn"], spans["decision"]
    (call,), (command,) = spans["chat gpt-test"], spans["execute_tool write_to_file"]
    whose = {"gen_ai.agent.id": turn.facts["gen_ai.agent.id"], "signoff.turn.number": 1}
    ran = {"signoff.command": "write_to_file", "signoff.result": "succeeded"}
    assert turn.facts == {**whose, **ran, "signoff.state": "done"}
    assert decision.facts == {**whose, "signoff.decision": "approve", "signoff.surface": "web"}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "write_to_file"}
    assert command.facts == {**whose, **ran, **tool}
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-test",
        "gen_ai.response.finish_reasons": ["stop"],
        "signoff.kind": "chat",
    }
    assert {name: call.facts[name] for name in expected} == expected
    assert all(call.facts[f"gen_ai.usage.{kind}_tokens"] for kind in ("input", "output"))


def check_processes(first: Spans, second: Spans) -> None:
    """Check that a person decided in the web process, where a rejection ended its turn, and the worker did the rest."""
    (decision,), (rejection,), (rejected,) = first["decision"], second["decision"], second["turn"]
    (worker,) = {first[name][0].process for name in ("turn", "think", "chat gpt-test", "execute_tool write_to_file")}
    assert worker != decision.process == rejection.process == rejected.process
    assert rejection.facts["signoff.decision"] == "reject"
    assert rejected.facts["signoff.state"] == "rejected"


def assert_no_text(collector: Collector) -> None:
    """Nothing that people or the model wrote was sent, and no name of a file or a person."""
    everything = b"".join(collector.raw)
    for text in (GOAL, "zebra", "walrus", CONTENT, NAME, "Pangolin", "Aardvark", "Narwhal", "accounts", TOKEN):
        assert text.encode() not in everything, text


@pytest.mark.proves("watch:workers")
async def test_a_worker_tells_prometheus_what_it_did_for_a_token_of_its_own(pair: Pair) -> None:
    await tell_story(pair)
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    async with ClientSession() as session:
        assert (await session.get(f"{pair.probes}/metrics")).status == 401
        text = await (await session.get(f"{pair.probes}/metrics", headers=bearer)).text()
        pages = await (await session.get(f"http://{host(pair)}/metrics", headers=bearer)).text()
        assert (await session.get(f"http://{host(pair)}/", headers=bearer)).status == 401
    assert 'signoff_command_duration_seconds_count{result="succeeded"} 1.0' in text
    assert f'signoff_build_info{{version="{release()}"}} 1.0' in text
    assert "signoff_sweep_duration_seconds_count" in text
    assert 'signoff_model_tokens_total{model="gpt-test",type="input"}' in text
    assert "signoff_agents{" not in text
    assert 'signoff_decision_duration_seconds_count{decision="approve"} 1.0' in pages
    assert 'signoff_agents{status="awaiting"} 1.0' in pages
    assert "signoff_workers 1.0" in pages


def host(pair: Pair) -> str:
    """The page's host and port, without the key."""
    return pair.web.address.rpartition("@")[2]


@pytest.mark.proves("watch:collector")
async def test_a_collector_that_is_away_holds_up_no_end(own_postgres: PostgresServer, tmp_path: Path) -> None:
    away = f"http://127.0.0.1:{free_port()}"
    given = {"DATABASE_URL": own_postgres.url, "OTEL_EXPORTER_OTLP_ENDPOINT": away}
    async with serving(tmp_path, "web", **given) as web:
        web.send(signal.SIGTERM)
        assert await web.ended(LONGEST_STOP) == 0


@asynccontextmanager
async def hanging() -> AsyncIterator[str]:
    """A collector that takes connections and never answers."""
    ends = asyncio.Event()

    async def be_silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ends.wait()
        writer.close()

    async with await asyncio.start_server(be_silent, "127.0.0.1", 0) as server:
        try:
            yield "http://{}:{}".format(*server.sockets[0].getsockname())
        finally:
            ends.set()


@pytest.mark.proves("watch:collector")
async def test_a_collector_that_hangs_holds_up_no_end(tmp_path: Path) -> None:
    async with hanging() as silent:
        given = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": silent,
            "OTEL_EXPORTER_OTLP_TIMEOUT": "60",
            "OTEL_METRIC_EXPORT_INTERVAL": "200",
        }
        async with serving(tmp_path, "run", **given) as program:
            async with PageChat.opened(program.address, "ana") as ana:
                await ana.new_agent("Clerk", "writes", 'Write "tea" to a.md')
                await ana.asks("write_to_file")
            program.send(signal.SIGTERM)
            assert await program.ended(LONGEST_STOP) == 0


@pytest.mark.proves("watch:collector")
async def test_a_collector_that_hangs_does_not_keep_the_terminal(tmp_path: Path) -> None:
    async with hanging() as silent:
        given = {"OTEL_EXPORTER_OTLP_ENDPOINT": silent, "OTEL_EXPORTER_OTLP_TIMEOUT": "60"}
        async with running(tmp_path, "bot", "solo", "--name", "C", "--goal", 'Write "t" to a.md', **given) as program:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await program.says("write_to_file")
            program.send(signal.SIGINT)
            assert await program.ended(LONGEST_STOP) == STOPPED
