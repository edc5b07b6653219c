"""Workers that share agents on PostgreSQL: turns per second and CPU of a turn with one, two and three of them.

Each worker is a `python -m bot worker`. The number of agents grows with the number of workers, so that each has the
same load, below what fills the cores: their number bounds every rate beyond that.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
import time
from asyncio.subprocess import Process
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
from aiohttp import web

from agent_core.model.decision import Policy
from agent_core.model.draft import AgentDraft
from agent_core.model.origin import Actor, ChannelScope, Origin, ThreadRef
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade
from agent_core.providers.clock import SystemClock
from benchmarks.overhead import replies
from benchmarks.overhead_signoff import SUMMARY
from benchmarks.scale_flight import MODEL_SECONDS, SCRIPT, endless, wait
from tests.standins.postgres import serving_postgres

HERE = Path(__file__).parent
RESULTS = HERE / "results"
WORKERS, AGENTS_OF_EACH = (1, 2, 3), 10
WARM_UP_SECONDS, MEASURED_SECONDS, PATIENCE = 8.0, 20.0, 60.0
PROMISE = 0.8
NAME = re.compile(r"You are Clerk \d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What a number of workers did: turns per second, and CPU milliseconds of workers and server for each turn."""

    workers: int
    turns: float
    worker_cpu: float
    server_cpu: float
    spread: Sequence[float]


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    rates = []
    say(f"{'workers':>8}{'agents':>8}{'turns/s':>10}{'of linear':>11}{'CPU ms a turn':>15}{'PostgreSQL':>12}")
    for workers in WORKERS:
        with tempfile.TemporaryDirectory(dir=RESULTS, prefix="workers-") as folder, serving_postgres() as server:
            rates.append(asyncio.run(measure(Path(folder), server.url, workers)))
        say(line(rates[-1], rates[0]))
    report(rates)


async def measure(folder: Path, url: str, workers: int) -> Rate:
    """Let so many workers share their agents, and count turns by the calls of the model."""
    model = SlowModel()
    async with AsyncExitStack() as stack:
        model_url = await stack.enter_async_context(serve(model))
        await upgrade(url)
        await fill(url, workers * AGENTS_OF_EACH)
        begun = [
            await stack.enter_async_context(start_worker(folder / f"home{each}", folder, url, model_url))
            for each in range(workers)
        ]
        await wait(WARM_UP_SECONDS)
        processes = [psutil.Process(each.pid) for each in begun]
        before, own = model.asked, [cpu_of(each) for each in processes]
        theirs, began = server_cpu(), time.perf_counter()
        await wait(MEASURED_SECONDS)
        turns, seconds = model.asked - before, time.perf_counter() - began
        spent = [cpu_of(each) - was for each, was in zip(processes, own, strict=True)]
        of_each = 1000 / max(1, turns)
        return Rate(
            workers=workers,
            turns=turns / seconds,
            worker_cpu=sum(spent) * of_each,
            server_cpu=(server_cpu() - theirs) * of_each,
            spread=[each / max(sum(spent), 0.001) for each in spent],
        )


@dataclass(slots=True)
class SlowModel:
    """An endpoint that answers after a second, each agent by a script of its own; `asked` counts the thoughts."""

    scripts: defaultdict[str, Iterator[Mapping[str, Any]]] = field(
        default_factory=lambda: defaultdict(lambda: endless(list(replies(SCRIPT))))
    )
    asked: int = 0

    async def complete(self, request: web.Request) -> web.Response:
        """POST /v1/chat/completions: the next reply of the script; where prose is asked for, a summary."""
        body = await request.json()
        await wait(MODEL_SECONDS)
        text = SUMMARY
        if "command" in str(body.get("response_format")):
            self.asked += 1
            named = NAME.search(json.dumps(body["messages"]))
            text = json.dumps(next(self.scripts[named[0] if named else ""]))
        usage = {"prompt_tokens": 3000, "completion_tokens": 334, "total_tokens": 3334}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        answer = {"id": "c", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}
        return web.json_response({**answer, "usage": usage})


async def list_models(_request: web.Request) -> web.Response:
    """GET /v1/models."""
    return web.json_response({"object": "list", "data": [{"id": "gpt-test", "object": "model"}]})


@asynccontextmanager
async def serve(model: SlowModel) -> AsyncIterator[str]:
    """The endpoint on a free port; its address."""
    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_get("/v1/models", list_models)
    app.router.add_post("/v1/chat/completions", model.complete)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def fill(url: str, agents: int) -> None:
    """Save agents that may read and write files without asking, have a thread, and think next."""
    now, database = SystemClock().now(), SqlDatabase(url)
    async with database.begin() as work:
        for number in range(agents):
            channel = ChannelScope("web", "local", f"channel-{number % 10}")
            origin = Origin(by=Actor(id="ada", display="ada"), channel=channel)
            draft = AgentDraft(name=f"Clerk {number}", goals=("Keep notes",), policy=Policy(free=("read", "write")))
            made = draft.tidied().made(origin, now)
            work.agents.add(replace(made, thread=ThreadRef(channel, made.id)))
        await work.commit()
    await database.close()


@asynccontextmanager
async def start_worker(home: Path, folder: Path, url: str, model: str) -> AsyncIterator[Process]:
    """`python -m bot worker` with a home of its own and a shared folder of files. Ended with the block."""
    given = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(HERE.parent),
        "SIGNOFF_HOME": str(home),
        "DATABASE_URL": url,
        "WORKSPACE_URL": f"file://{folder / 'files'}",
        "OPENAI_BASE_URL": model,
        "OPENAI_API_KEY": "k",
    }
    null = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "worker", cwd=folder, env=given, stdout=null, stderr=null
    )
    try:
        yield process
    finally:
        process.terminate()
        await process.wait()


def cpu_of(process: psutil.Process) -> float:
    """CPU seconds."""
    used = process.cpu_times()
    return float(used.user + used.system)


def server_cpu() -> float:
    """CPU seconds of the PostgreSQL processes."""
    return sum(
        cpu_of(each) for each in psutil.process_iter(["name"]) if each.info["name"] in ("postgres", "postmaster")
    )


def line(rate: Rate, first: Rate) -> str:
    """A row of the table."""
    linear = rate.turns / (first.turns * rate.workers)
    load = f"{rate.workers:>8}{rate.workers * AGENTS_OF_EACH:>8}{rate.turns:>10.1f}{linear:>11.2f}"
    return f"{load}{rate.worker_cpu:>15.1f}{rate.server_cpu:>12.1f}"


def report(rates: Sequence[Rate]) -> None:
    """What became of the promise."""
    found = min(each.turns / (rates[0].turns * each.workers) for each in rates)
    verdict = "met" if found >= PROMISE else "NOT MET"
    say(f"promise: with 2 and 3 workers at least {PROMISE} × linear: {found:.2f} · {verdict}")
    least = min(min(each.spread) * each.workers for each in rates)
    say(f"the worker with the least work had {least:.2f} × its share of the CPU")


def say(text: str) -> None:
    """Print at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
