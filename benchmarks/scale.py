"""Many agents: the start after kill -9, the memory of agents at rest, and agents that work at the same time."""

import asyncio
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median

from agent_core.model.agent import Awaiting
from agent_core.model.command import Succeeded
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import TurnId, new_id
from agent_core.model.origin import Actor, ChannelScope, Origin, ThreadRef
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade
from agent_core.providers.clock import SystemClock
from benchmarks.scale_flight import measure_flight
from benchmarks.start import (
    Start,
    a_proposed_turn,
    free_port,
    is_listening,
    measure_start,
    start_process,
)

HERE = Path(__file__).parent
RESULTS = HERE / "results"
AGENTS, TURNS, CHANNELS, BATCH, STARTS = 10_000, 20, 100, 250, 3
IN_FLIGHT, FLIGHT_SECONDS = 1_000, 20.0
READY_PROMISE, BYTES_PROMISE, MEMORY_PROMISE = 3.0, 1024, 150


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RESULTS, prefix="scale-") as folder:
        few, many, flight = (Path(folder, name) for name in ("few", "many", "flight"))
        flight.mkdir()
        rate, cpu = asyncio.run(measure_flight(flight, IN_FLIGHT, FLIGHT_SECONDS))
        many.mkdir()
        asyncio.run(fill(many))
        measure_start(few)  # makes the data folder
        report([measure_start(few) for _ in range(STARTS)], [measure_ready(many) for _ in range(STARTS)], rate, cpu)


async def fill(home: Path) -> None:
    """Save agents with ended turns and one proposal each."""
    url = f"sqlite:///{home / 'signoff.db'}"
    await upgrade(url)
    database = SqlDatabase(url)
    for first in range(0, AGENTS, BATCH):
        await fill_some(database, range(first, first + BATCH))
    await database.close()


async def fill_some(database: SqlDatabase, numbers: range) -> None:
    """Save some of the agents in one transaction."""
    now = SystemClock().now()
    async with database.begin() as work:
        for number in numbers:
            channel = ChannelScope("web", "local", f"channel-{number % CHANNELS}")
            origin = Origin(by=Actor(id="ada", display="ada"), channel=channel)
            draft = AgentDraft(name=f"Clerk {number}", goals=("Study the market",)).tidied()
            agent = draft.made(origin, now).become(Awaiting(), now)
            work.agents.add(replace(agent, thread=ThreadRef(channel, agent.id), turns=TURNS))
            proposed = a_proposed_turn(agent, now)
            ended = replace(proposed, state="done", result=Succeeded("Written."), ended_at=now)
            earlier = (replace(ended, id=TurnId(new_id(now)), number=turn) for turn in range(1, TURNS))
            for turn in (*earlier, replace(proposed, number=TURNS)):
                work.turns.add(turn)
                work.turns.mark_shown(turn, turn.id, now)
        await work.commit()


def measure_ready(home: Path) -> Start:
    """Kill a process that runs on this data folder, and start it again."""
    port = free_port()
    with start_process(home, port) as process:
        while not is_listening(port):
            if process.poll() is not None:
                raise RuntimeError(f"Signoff ended with code {process.returncode}.")
        process.kill()
    return measure_start(home)


def report(few: list[Start], many: list[Start], rate: float, cpu: float) -> None:
    """Print the table and what became of the promises."""
    ready, idle = median(start.seconds for start in many), median(start.idle for start in many)
    each = (idle - median(start.idle for start in few)) / AGENTS
    say(f"scale · {AGENTS:,} agents, {AGENTS * TURNS:,} turns, after kill -9 · medians of {STARTS}")
    say(f"{'first page':<46}{ready:.2f} s")
    say(f"{'resident when it listens':<46}{idle / 2**20:.0f} MB, {each:.0f} bytes an agent at rest")
    say(f"{f'{IN_FLIGHT:,} agents with a model of one second':<46}{rate:.0f} turns/s, {cpu:.1f} ms of CPU a turn")
    verdict("ready in at most 3 s", met=ready <= READY_PROMISE)
    verdict("at most 1 KB an agent at rest", met=each <= BYTES_PROMISE)
    verdict("process at most 150 MB", met=idle <= MEMORY_PROMISE * 2**20)


def verdict(promise: str, *, met: bool) -> None:
    say(f"promise: {promise} · {'met' if met else 'NOT MET'}")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
