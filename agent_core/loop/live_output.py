"""Shows the output of a running command on its card every two seconds."""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from agent_core.errors import DatabaseAway, Superseded, SurfaceError
from agent_core.loop.claim import AgentClaim
from agent_core.loop.outcome import Outcome
from agent_core.model.agent import Acting, Agent
from agent_core.model.ids import TurnId
from agent_core.model.note import Notice
from agent_core.model.question import AskedQuestion
from agent_core.ports.clock import Clock
from agent_core.ports.database import UnitOfWork
from agent_core.toolset.run_display import RunDisplay

logger = logging.getLogger(__name__)

T = TypeVar("T")
INTERVAL_SECONDS = 2.0  # Slack and Discord allow about one edit of a message per second
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
                self.pause = asyncio.create_task(self.clock.sleep(INTERVAL_SECONDS))
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
