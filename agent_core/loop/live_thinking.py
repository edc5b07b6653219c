"""Shows people the progress of a model call: how long it has taken, how much was written, and which command."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from agent_core.errors import DatabaseAway, NotFound, Superseded, SurfaceError
from agent_core.loop.claim import AgentClaim
from agent_core.loop.outcome import Outcome
from agent_core.model.agent import Agent, Thinking
from agent_core.ports.clock import Clock
from agent_core.ports.database import UnitOfWork, finish_uncancelled
from agent_core.ports.models import ModelProgress
from agent_core.text.lines import one_line

logger = logging.getLogger(__name__)

T = TypeVar("T")
INTERVAL_SECONDS = 5.0  # a reply that comes sooner needs no line; Slack and Discord allow about one edit a second
MAX_NAME_CHARACTERS = 60
# What a reply in JSON says of its command, as far as it has come; plain names only, since nothing was checked yet.
COMMAND_NAME = re.compile(r'"name"\s*:\s*"([A-Za-z_][\w.-]{0,79})"')
FILENAME = re.compile(r'"(?:filename|path|directory)"\s*:\s*"([\w./ -]{1,200})"')


@dataclass(slots=True, kw_only=True)
class LiveThinking:
    """Saves the progress of one model call as a line in the agent's status every 5 seconds."""

    claim: AgentClaim
    clock: Clock
    redact: Callable[[str], str] = str
    progress: ModelProgress | None = None
    is_saving: bool = False

    def report(self, progress: ModelProgress) -> None:
        """Keep the progress of the reply for the next line."""
        self.progress = progress

    async def run(self, thinking: Awaitable[T]) -> T:
        """Await the model call, then any line that is still being saved, so that none is saved after the proposal."""
        updates = asyncio.create_task(self._update_periodically())
        try:
            return await thinking
        finally:
            updates.cancel()
            if self.is_saving:
                await asyncio.wait([updates])

    async def _update_periodically(self) -> None:
        begun = self.clock.now()
        while True:
            await self.clock.sleep(INTERVAL_SECONDS)
            line = activity((self.clock.now() - begun).total_seconds(), self.progress, self.redact)
            self.is_saving = True
            try:
                await finish_uncancelled(self._save(line))
            except (Superseded, NotFound):
                return
            except DatabaseAway:
                continue
            except SurfaceError as fault:
                logger.warning(
                    "progress not shown", extra={"agent": self.claim.agent.id, "fault": type(fault).__name__}
                )
            finally:
                self.is_saving = False

    async def _save(self, line: str) -> None:
        async def act(_work: UnitOfWork, agent: Agent) -> Outcome:
            if not isinstance(agent.status, Thinking):
                raise Superseded(agent.id)
            return Outcome(agent=replace(agent, status=replace(agent.status, activity=line)))

        outcome = await self.claim.save_and_present(act)
        await self.claim.surface.status(outcome.agent)


def activity(seconds: float, progress: ModelProgress | None, redact: Callable[[str], str] = str) -> str:
    """The line on a model call: how long it has taken, the estimated tokens, and what the model writes."""
    parts = [f"for {_duration(seconds)}"]
    if progress and progress.characters:
        parts.append(f"about {progress.tokens:,} tokens")
    # Redacted as a whole, before a part of it is taken: a part of a secret would not be recognised.
    if progress and (written := _written(redact(progress.written()))):
        parts.append(written)
    return " · ".join(parts)


def _written(text: str) -> str:
    """Which command the unfinished reply proposes, and its file, on one line; "" for reasoning or an empty text."""
    text = text.rpartition("</think>")[2]
    if "<think" in text:
        return ""
    name, filename = COMMAND_NAME.search(text), FILENAME.search(text)
    if not name:
        return "writing" if text.strip() else ""
    return one_line(f"writing {name[1]}{f' {filename[1]}' if filename else ''}", MAX_NAME_CHARACTERS)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
