"""Files that people hand to an agent."""

import asyncio
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import PurePosixPath
from weakref import WeakValueDictionary

from agent_core.errors import CommandError, InvalidInput, NotFound
from agent_core.model.actors import Origin
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId
from agent_core.model.note import Note
from agent_core.oversight.policy import require_may_decide
from agent_core.ports.database import Database, UnitOfWork, in_one_unit
from agent_core.ports.engine import Waker
from agent_core.ports.world import Clock, Workspaces

MOST_BYTES = 20 * 2**20
LONGEST_NAME = 100
NO_FILE = ""  # the fingerprint of a path without a file
UNFIT = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')


@dataclass(frozen=True, slots=True, kw_only=True)
class FileUploads:
    """Puts what people drop into an agent's workspace, never in place of what is there."""

    database: Database
    workspaces: Workspaces
    waker: Waker
    clock: Clock
    locks: WeakValueDictionary[AgentId, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def receive(self, agent_id: AgentId, filename: str, data: bytes, origin: Origin) -> str:
        """Keep the file and tell the agent by a note; return its path, or "" where the delivery took effect before.

        Raise NotAllowed, InvalidInput for a file over 20 MB, CommandError when the workspace does not take it.
        """
        if len(data) > MOST_BYTES:
            raise too_large(filename)
        async with self.database.begin() as work:
            agent = await work.agents.get(origin.channel, agent_id)
        require_may_decide(agent, origin.by, "add files here")
        async with self.locks.setdefault(agent_id, asyncio.Lock()):
            return await self._keep(agent, filename, data, origin)

    async def _keep(self, agent: Agent, filename: str, data: bytes, origin: Origin) -> str:
        """Write the file first: a unit of work may be repeated, so that it only reads and saves."""
        files = self.workspaces.of(agent)
        async with self.database.begin() as work:
            if not await self._is_first(work, origin):
                return ""
        path = free_name(tidy_name(filename), (entry.path for entry in await files.list_files()))
        await files.write(path, data, expected=NO_FILE)
        try:
            is_told = await self._tell(agent, f"I put {path} ({len(data):,} bytes) into your workspace.", origin)
        except NotFound:  # the agent was deleted meanwhile, perhaps before the file was written
            with suppress(CommandError):
                await files.delete(path)
            raise
        if not is_told:
            await files.delete(path)
        self.waker.wake(agent.id)
        return path if is_told else ""

    async def _tell(self, agent: Agent, text: str, origin: Origin) -> bool:
        async def act(work: UnitOfWork) -> bool:
            present = await work.agents.get(origin.channel, agent.id)
            if not await self._is_first(work, origin):
                return False
            work.notes.add(Note.to(present, text, by=origin.by, at=self.clock.now()))
            return True

        return await in_one_unit(self.database, act)

    async def _is_first(self, work: UnitOfWork, origin: Origin) -> bool:
        return not origin.delivery or await work.deliveries.first_time(origin.delivery, self.clock.now())


def too_large(filename: str) -> InvalidInput:
    """What is said of a file that is not taken for its size."""
    return InvalidInput({"file": f"{filename} is larger than {MOST_BYTES // 2**20} MB, so it was not taken."})


def tidy_name(filename: str) -> str:
    """A name that every file system takes, of what a person called a file."""
    name = UNFIT.sub("_", filename).strip(". ")
    stem, suffix = PurePosixPath(name or "file").stem, PurePosixPath(name or "file").suffix
    return f"{stem[: LONGEST_NAME - len(suffix[:20])]}{suffix[:20]}"


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name, or with the first number in brackets that is free."""
    used = {path.casefold() for path in taken}
    path = PurePosixPath(name)
    names = (name if number == 1 else f"{path.stem} ({number}){path.suffix}" for number in count(1))
    return next(each for each in names if each.casefold() not in used)
