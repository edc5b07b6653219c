"""The workers of all plugins: starts one for each plugin and agent at first use, and ends it when idle."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from agent_core.capabilities.autogpt.discovery import FoundPlugin
from agent_core.capabilities.autogpt.worker import PluginWorker, WorkerHost
from agent_core.capabilities.files.folder_workspace import FolderFiles, FolderWorkspaces
from agent_core.capabilities.files.workspace_paths import LIMITS
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.plugins.plugin import LoadSites
from agent_core.toolset.registry import CommandContext

IDLE_SECONDS = 600.0
MAX_WORKERS = 24

Key: TypeAlias = tuple[str, AgentId]


@dataclass(slots=True, kw_only=True, eq=False)
class Place:
    """Where the worker of one plugin and agent is or will be. `used_at`: when it was last asked."""

    used_at: datetime
    worker: PluginWorker | None = None
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    idling: "asyncio.Task[None] | None" = None


@dataclass(slots=True, kw_only=True)
class WorkerPool:
    """Starts and ends workers. `load_sites`: loads which sites the agents of a channel may reach."""

    host: WorkerHost
    workspaces: FolderWorkspaces
    idle_seconds: float = IDLE_SECONDS
    load_sites: LoadSites | None = None
    _places: dict[Key, Place] = field(default_factory=dict)
    _lent_to: set[AgentId] = field(default_factory=set)

    async def look(self, found: FoundPlugin) -> dict[str, Any]:
        """What a plugin adds, asked in an empty folder without network; raise CommandError as `ask` does.

        A start waits for it, so it has no more time than a hook.
        """
        root = self.workspaces.root
        root.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".plugin-", dir=root, ignore_cleanup_errors=True) as folder:
            files = FolderFiles(Path(folder) / "empty", LIMITS)
            worker = await self.host.start(found, files, None)
            try:
                return await worker.load(("", "", ()), self.host.seconds)
            finally:
                await worker.end()

    async def ask(self, found: FoundPlugin, request: Mapping[str, Any], context: CommandContext) -> dict[str, Any]:
        """The answer of the agent's own worker, which is started if it is not running. Nothing is asked twice.

        Raise PluginRaised or WorkerEnded, or another CommandError if no worker can be started.
        """
        worker, place = await self._worker_of(found, context)
        try:
            sites = await self.load_sites(context) if self.load_sites else None
            return await worker.ask(request, self.host.seconds, sites)
        finally:
            place.used_at = self.host.clock.now()

    def had_folder(self, agent: Agent) -> bool:
        """Whether a worker has, or had in this process, the agent's folder."""
        return agent.id in self._lent_to

    async def close(self) -> None:
        """End all workers."""
        while self._places:
            await self._remove(next(iter(self._places)))

    async def _worker_of(self, found: FoundPlugin, context: CommandContext) -> tuple[PluginWorker, Place]:
        key = (found.title, context.agent.id)
        while True:
            place = self._places.setdefault(key, Place(used_at=self.host.clock.now()))
            place.used_at = self.host.clock.now()
            async with place.starting:
                if self._places.get(key) is not place:
                    continue  # it was removed while this one waited
                if place.worker is None or not place.worker.is_running:
                    if place.worker:
                        await place.worker.end()
                    place.worker = await self._start(found, context)
                if place.idling is None or place.idling.done():
                    place.idling = asyncio.create_task(self._end_when_idle(key, place))
                return place.worker, place

    async def _start(self, found: FoundPlugin, context: CommandContext) -> PluginWorker:
        await self._make_room()
        sites = await self.load_sites(context) if self.load_sites else None
        agent = context.agent
        self._lent_to.add(agent.id)
        worker = await self.host.start(found, self.workspaces.of(agent), sites)
        try:
            await worker.load((agent.name, agent.role, agent.goals))
        except BaseException:
            await worker.end()
            raise
        return worker

    async def _make_room(self) -> None:
        """End the worker that was used least recently, if there are too many and it is not busy."""
        idle = [
            (place.used_at, key)
            for key, place in self._places.items()
            if place.worker and not place.worker.lock.locked() and not place.starting.locked()
        ]
        if len(self._places) > MAX_WORKERS and idle:
            await self._remove(min(idle)[1])

    async def _end_when_idle(self, key: Key, place: Place) -> None:
        idle = timedelta(seconds=self.idle_seconds)
        while (left := place.used_at + idle - self.host.clock.now()) > timedelta():
            await self.host.clock.sleep(left.total_seconds())
        place.idling = None
        if self._places.get(key) is place:
            await self._remove(key)

    async def _remove(self, key: Key) -> None:
        place = self._places.pop(key)
        if place.idling:
            place.idling.cancel()
        async with place.starting:
            if place.worker:
                await place.worker.end()
