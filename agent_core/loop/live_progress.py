"""Shows the progress of a model call in the status line, and the output of a running command on the card."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from agent_core.errors import DatabaseAway, NotFound, Superseded, SurfaceError
from agent_core.loop.claim import AgentClaim
from agent_core.loop.outcome import Outcome
from agent_core.model.agent import Acting, Agent, Thinking
from agent_core.model.ids import TurnId
from agent_core.model.note import Notice
from agent_core.model.question import AskedQuestion
from agent_core.ports.clock import Clock
from agent_core.ports.database import UnitOfWork, finish_uncancelled
from agent_core.ports.models import ModelProgress
from agent_core.text.lines import one_line
from agent_core.toolset.run_display import RunDisplay

logger = logging.getLogger(__name__)

T = TypeVar("T")
OUTPUT_SECONDS = 2.0  # Slack and Discord allow about one edit of a message per second
MAX_SHOWN_CHARACTERS = 1_500
MAX_KEPT_CHARACTERS = 200_000  # saved when a person stops the command


@dataclass(slots=True, kw_only=True)
class LiveOutput:
    """Shows the output of one run. Without output, nothing is saved."""

    claim: AgentClaim
    clock: Clock
    turn_id: TurnId
    newest: str = ""
    shown: str = ""
    announced: list[str] = field(default_factory=list)
    question: AskedQuestion | None = None
    is_over: bool = False
    work: asyncio.Task[None] | None = None
    pause: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def display(self) -> RunDisplay:
        """What the command is given."""
        return RunDisplay(self.report, self.announce, self.ask, lambda: self.claim.draining.is_requested)

    def report(self, text: str) -> None:
        """Replace the output so far."""
        self.newest = text[-MAX_KEPT_CHARACTERS:]
        self._begin()

    def announce(self, text: str) -> None:
        """Post a sentence in the thread, with the next update."""
        self.announced.append(text)
        self._begin()

    def ask(self, question: AskedQuestion) -> None:
        """Show what a tool server asks people, or that it was answered, with the next update."""
        self.question = question
        self._begin()

    def _begin(self) -> None:
        if self.work is None and not self.is_over:
            self.work = asyncio.create_task(self._show_periodically())

    async def run(self, run: Awaitable[T]) -> T:
        """Await the run, then any update that is still being shown, so that none is shown after the result."""
        try:
            return await run
        finally:
            self.is_over = True
            if self.pause:
                self.pause.cancel()
            if self.work:
                await self.work

    async def _show_periodically(self) -> None:
        """Show the newest output until the run ends. A failed update is logged and skipped."""
        with suppress(Superseded):
            while not self.is_over:
                try:
                    await self._show()
                except DatabaseAway:
                    pass
                except SurfaceError as error:
                    logger.warning("live output not shown", extra={"turn": self.turn_id, "fault": type(error).__name__})
                if self.is_over:  # the run ended during the save
                    return
                self.pause = asyncio.create_task(self.clock.sleep(OUTPUT_SECONDS))
                await asyncio.wait([self.pause])

    async def _show(self) -> None:
        if (newest := self.newest[-MAX_SHOWN_CHARACTERS:]) != self.shown or self.announced or self.question:
            self.shown = newest
            told, self.announced = self.announced, []
            asked, self.question = self.question, None
            outcome = await self.claim.save_and_present(partial(self._live_outcome, told, asked))
            if asked:
                await self.claim.surface.status(outcome.agent)

    async def _live_outcome(
        self, told: Sequence[str], asked: AskedQuestion | None, work: UnitOfWork, agent: Agent
    ) -> Outcome:
        (turn,) = await work.turns.of(agent, last=1)
        if turn.id != self.turn_id or turn.state != "running":
            raise Superseded(agent.id)
        now = self.clock.now()
        notices = tuple(Notice.to(agent, "waiting", text, now) for text in told)
        changed = turn.with_live_output(self.shown)
        if asked:
            changed = changed.ask(asked)
            agent = agent.become(Acting(asks=changed.open_question is not None), now)
        return Outcome(agent=agent, changed=changed, notices=notices)


THINKING_SECONDS = 5.0  # a reply that comes sooner needs no line; Slack and Discord allow about one edit a second
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
            await self.clock.sleep(THINKING_SECONDS)
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
