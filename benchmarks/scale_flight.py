"""Agents that work at the same time: turns per second with a model that takes one second."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adapters.web.surface import WebSurface
from agent_core.assembly import Core, CorePorts
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.memory.database_vector_index import DatabaseVectorIndex
from agent_core.capabilities.memory.local_embedder import LocalEmbedder
from agent_core.model.decision import Policy
from agent_core.model.draft import AgentDraft
from agent_core.model.model_calls import Message, Reply, Usage
from agent_core.model.origin import Actor, ChannelScope, Origin, ThreadRef
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade
from agent_core.ports.models import CallOptions
from agent_core.providers.clock import SystemClock
from agent_core.toolset.registry import Commands
from benchmarks.overhead import replies
from benchmarks.overhead_signoff import SUMMARY, ReplayModel

MODEL_SECONDS = 1.0
SCRIPT = 300  # replies; each agent begins at another one


@dataclass(frozen=True, slots=True)
class SlowModel(ReplayModel):
    """Answers after one second. `asked` counts the thoughts."""

    asked: list[float] = field(default_factory=list)

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        """The next reply of the script; where prose is asked for, a summary."""
        await wait(MODEL_SECONDS)
        if options.schema is None:
            return Reply(text=SUMMARY, usage=Usage(prompt=3000, completion=60))
        self.asked.append(time.perf_counter())
        return Reply(text=json.dumps(next(self.replies)), usage=Usage(prompt=3000, completion=334))


async def measure_flight(folder: Path, agents: int, seconds: float) -> tuple[float, float]:
    """Turns per second and CPU milliseconds per turn, after each agent had time for its first turn."""
    async with run_agents(folder, agents) as model:
        await wait(5 + agents / 50)
        begun, cpu, before = time.perf_counter(), time.process_time(), len(model.asked)
        await wait(seconds)
        turns = len(model.asked) - before
        return turns / (time.perf_counter() - begun), (time.process_time() - cpu) / max(1, turns) * 1000


@asynccontextmanager
async def run_agents(folder: Path, agents: int) -> AsyncIterator[SlowModel]:
    """An engine with agents that may write and read files without asking."""
    url = f"sqlite:///{folder / 'signoff.db'}"
    await upgrade(url)
    database, model = SqlDatabase(url), SlowModel(endless(list(replies(SCRIPT))))
    await fill(database, agents)
    core = Core.assemble(
        CorePorts(
            database=database,
            model=model,
            index=DatabaseVectorIndex(database),
            embedder=LocalEmbedder(),
            surfaces=(WebSurface(),),
            workspaces=FolderWorkspaces(folder / "workspaces"),
        ),
        lambda _parts: Commands.of(*FILE_COMMANDS),
    )
    task = asyncio.create_task(core.engine.run(core.loop.advance))
    try:
        yield model
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await database.close()


async def fill(database: SqlDatabase, agents: int) -> None:
    """Save agents that have a thread and think next."""
    now = SystemClock().now()
    async with database.begin() as work:
        for number in range(agents):
            channel = ChannelScope("web", "local", f"channel-{number % 100}")
            origin = Origin(by=Actor(id="ada", display="ada"), channel=channel)
            draft = AgentDraft(name=f"Clerk {number}", goals=("Keep notes",), policy=Policy(free=("read", "write")))
            made = draft.tidied().made(origin, now)
            work.agents.add(replace(made, thread=ThreadRef(channel, made.id)))
        await work.commit()


def endless(script: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The script again and again, with thoughts that differ, so that no agent is found to repeat itself."""
    turn = 0
    while True:
        reply = dict(script[turn % len(script)])
        reply["thoughts"] = {**reply["thoughts"], "text": f"{turn}: {reply['thoughts']['text']}"}
        yield reply
        turn += 1


async def wait(seconds: float) -> None:
    """Let the time go by."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()
