"""Signoff's part of the overhead bench: its own service, engine, loop, database, folders and web surface.

`python -m benchmarks.overhead_signoff FOLDER` reads FOLDER/replies.json and prints its figures as JSON. The database is
an SQLite file in this folder; with `postgres` behind it, that of a PostgreSQL server that is started for it.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from adapters.web.surface import WebSurface
from agent_core.assembly import Core, CorePorts
from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.memory.database_vector_index import DatabaseVectorIndex
from agent_core.capabilities.memory.local_embedder import LocalEmbedder
from agent_core.engines.job_queue import JobQueueEngine
from agent_core.engines.local import LocalEngine
from agent_core.errors import ModelRefused
from agent_core.model.agent import Agent
from agent_core.model.decision import Approve
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import FREE, Message, Reply, Usage
from agent_core.model.origin import Actor, ChannelScope, Origin
from agent_core.model.turn import Turn
from agent_core.persistence.connections import job_queue_address
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade
from agent_core.ports.models import CallOptions
from agent_core.service.agents import AgentService
from agent_core.toolset.registry import Commands
from tests.standins.postgres import serving_postgres

ADA = Actor(id="ada", display="ada", workspace="local")
CHANNEL = ChannelScope("web", "local", "general")
DRAFT = AgentDraft(name="Clerk", role="a market analyst", goals=("Study the market and keep notes in files",))
PATIENCE = 60.0
SUMMARY = "Decisions: none.\nFiles: notes_1.md holds what was found.\nFacts: many.\nOpen steps: to go on."


def main() -> None:
    folder = Path(sys.argv[1])
    replies = json.loads((folder / "replies.json").read_text("utf-8"))
    with serving_postgres() if sys.argv[2:] == ["postgres"] else nullcontext() as server:
        figures = asyncio.run(run(folder, replies, server.url if server else ""))
    disk = sum(path.stat().st_size for path in folder.glob("signoff.db*"))
    sys.stdout.write(json.dumps({"shown": figures.shown, "whole": figures.whole, "cpu": figures.cpu, "disk": disk}))


@dataclass(frozen=True, slots=True)
class TurnTimes:
    """Seconds of each turn: to the next proposal, until the agent waits with all recorded, and of CPU."""

    shown: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


async def run(folder: Path, replies: Sequence[Mapping[str, Any]], url: str = "") -> TurnTimes:
    """Approve every proposal but the last. Without `url` the database is a file in `folder`."""
    times = TurnTimes()
    async with run_core(folder, replies, url or f"sqlite:///{folder / 'signoff.db'}") as at:
        await at.service.lifecycle.create(DRAFT, Origin(by=ADA, channel=CHANNEL))
        turn = await at.first_proposal()
        for number in range(len(replies) - 1):
            origin = Origin(by=ADA, channel=CHANNEL, delivery=f"click-{number}")
            before, cpu_before = time.perf_counter(), time.process_time()
            await at.service.decisions.decide(turn.id, Approve(), origin, shown=turn.control_hash)
            turn = await at.surface.next_proposal()
            times.shown.append(time.perf_counter() - before)
            await at.rested.wait()
            times.whole.append(time.perf_counter() - before)
            times.cpu.append(time.process_time() - cpu_before)
            at.rested.clear()
    return times


@dataclass(slots=True, kw_only=True)
class RunningCore:
    """Signoff at work. `rested` is set when the loop lets go of the agent."""

    service: AgentService
    surface: "WatchedSurface"
    rested: asyncio.Event = field(default_factory=asyncio.Event)

    async def first_proposal(self) -> Turn:
        """The first proposal."""
        turn = await self.surface.next_proposal()
        await self.rested.wait()
        self.rested.clear()
        return turn


@dataclass(frozen=True, slots=True)
class WatchedSurface(WebSurface):
    """The web surface, which tells the bench of every proposal it shows."""

    proposals: asyncio.Queue[Turn] = field(default_factory=asyncio.Queue)

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        """Show it as always."""
        address = await WebSurface.show(self, agent, turn, may_exist=may_exist)
        if turn.state == "proposed":
            self.proposals.put_nowait(turn)
        return address

    async def next_proposal(self) -> Turn:
        """The next proposal that is shown."""
        async with asyncio.timeout(PATIENCE):
            return await self.proposals.get()


@dataclass(frozen=True, slots=True)
class ReplayModel:
    """Answers at once, and forgets what it was asked."""

    replies: Iterator[Mapping[str, Any]]
    label: str = "scripted"
    default_model: str = "scripted"

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        """The next reply; where prose is asked for, a summary."""
        if options.schema is None:
            return Reply(text=SUMMARY, usage=Usage(prompt=3000, completion=60))
        if reply := next(self.replies, None):
            return Reply(text=json.dumps(reply, indent=4), usage=Usage(prompt=3000, completion=334))
        raise ModelRefused("The script has no reply left.")

    def window(self, model: str) -> int:
        """That of a large one."""
        return 128_000

    def takes_images(self, model: str) -> bool:
        return False

    def max_reply(self, model: str) -> None:
        """Unknown."""

    def price(self, usage: Usage, model: str) -> Decimal:
        """Nothing."""
        return FREE


@asynccontextmanager
async def run_core(folder: Path, replies: Sequence[Mapping[str, Any]], url: str) -> AsyncIterator[RunningCore]:
    """The core as `bot` assembles it, and its engine running."""
    await upgrade(url)
    database, surface = SqlDatabase(url), WatchedSurface()
    core = Core.assemble(
        CorePorts(
            database=database,
            model=ReplayModel(iter(replies)),
            index=DatabaseVectorIndex(database),
            embedder=LocalEmbedder(),
            surfaces=(surface,),
            workspaces=FolderWorkspaces(folder / "workspaces"),
            engine=partial(JobQueueEngine, address=address) if (address := job_queue_address(url)) else LocalEngine,
        ),
        lambda _parts: Commands.of(*FILE_COMMANDS, *FINISH_COMMANDS),
    )
    at = RunningCore(service=core.service, surface=surface)

    async def advance(agent_id: AgentId) -> None:
        await core.loop.advance(agent_id)
        at.rested.set()

    async with core.engine.connect():
        task = asyncio.create_task(core.engine.run(advance))
        try:
            yield at
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    await database.close()


if __name__ == "__main__":
    main()
