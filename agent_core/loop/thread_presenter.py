"""Posts an agent's cards, notices and files in its thread, and remembers what the database must record as shown.

What the platform refuses is logged and not tried again: the agent goes on without it.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from agent_core.errors import CommandError, SurfaceBusy, SurfaceError, ThreadGone
from agent_core.model.agent import Agent
from agent_core.model.ids import TurnId, new_id
from agent_core.model.note import Notice
from agent_core.model.records.audit import AuditEntry
from agent_core.model.turn import Turn
from agent_core.ports.clock import Clock
from agent_core.ports.database import UnitOfWork
from agent_core.ports.files import Workspaces
from agent_core.ports.surface import ChatSurface
from agent_core.ports.telemetry import NOT_WATCHED, Telemetry, TurnRef

logger = logging.getLogger(__name__)


async def _nothing_to_confirm() -> None:
    """Do nothing: nobody else may show this agent."""


@dataclass(slots=True, kw_only=True)
class ThreadPresenter:
    """Presents one agent on its surface.

    `addresses`: the surface's address of the card of each turn.
    `stages`: the stage of the turn that each card shows.
    `confirm`: makes sure, before each message, that this worker still has the agent.
    `showings`: entries for the decision log about cards with an open proposal.
    `shown`, `posted`: turns and notices that were presented, but are not yet recorded so in the database, each turn
    with its address and the time, or None if the platform refused its card. What a surface shows as saved is recorded
    by the save itself.
    """

    surface: ChatSurface
    workspaces: Workspaces
    clock: Clock
    telemetry: Telemetry = NOT_WATCHED
    confirm: Callable[[], Awaitable[None]] = _nothing_to_confirm
    shown: list[tuple[Turn, str, datetime | None]] = field(default_factory=list)
    posted: list[Notice] = field(default_factory=list)
    showings: list[AuditEntry] = field(default_factory=list)
    addresses: dict[TurnId, str] = field(default_factory=dict)
    stages: dict[TurnId, str] = field(default_factory=dict)

    async def present(
        self, agent: Agent, turns: tuple[Turn, ...], notices: tuple[Notice, ...], *, new: Turn | None, may_exist: bool
    ) -> None:
        """Show the cards that changed, then post the notices. If the platform is busy, the next sweep shows the rest.

        `may_exist`: notices may have been posted before a crash, so the surface looks for them first.
        `new`: a turn that was just saved and cannot have a card yet.
        """
        is_recorded = self.surface.shows_what_is_saved and not may_exist
        try:
            for turn in turns:
                if self.stages.get(turn.id) != turn.stage:
                    await self._show(agent, turn, may_exist=turn is not new, is_recorded=is_recorded)
            for notice in notices:
                await self._tell(agent, notice, may_exist=may_exist)
                if not is_recorded:
                    self.posted.append(notice)
        except SurfaceBusy:
            return

    def count_as_shown(self, turns: tuple[Turn, ...], notices: tuple[Notice, ...]) -> None:
        """Let the next save record these turns and notices as shown, without showing them."""
        self.shown.extend((turn, turn.shown_as, self.clock.now()) for turn in turns)
        self.posted.extend(notices)

    def record(self, work: UnitOfWork, turns: Sequence[Turn] = (), notices: Sequence[Notice] = ()) -> None:
        """Queue the writes that record what was presented. After their commit, call `forget_recorded`.

        `turns`, `notices`: what the unit of work saves. If the surface shows what is saved, they count as presented.
        """
        saved = [(turn, turn.id, self.clock.now()) for turn in turns] if self.surface.shows_what_is_saved else []
        for turn, address, at in (*self.shown, *saved):
            work.turns.mark_shown(turn, address, at)
        for entry in self.showings:
            # With a new id at each try: a commit whose answer was lost has used the one before.
            work.audit.append(replace(entry, id=new_id(entry.at)))
        for notice in (*self.posted, *(notices if self.surface.shows_what_is_saved else ())):
            work.notes.mark_posted(notice)

    def forget_recorded(self) -> None:
        self.shown.clear()
        self.posted.clear()
        self.showings.clear()

    async def _show(self, agent: Agent, turn: Turn, *, may_exist: bool, is_recorded: bool) -> None:
        await self._confirm()
        address = self.addresses.get(turn.id, turn.shown_as)
        addressed = turn if address == turn.shown_as else replace(turn, shown_as=address)
        at: datetime | None = None
        try:
            with self.telemetry.watch("card", TurnRef.of(turn), surface=self.surface.name, state=turn.state):
                address = await self.surface.show(agent, addressed, may_exist=may_exist)
            at = self.clock.now()
        except (SurfaceBusy, ThreadGone):
            raise
        except SurfaceError as refused:
            await self._tell(agent, _refused_notice(agent, turn, refused, self.clock.now()), may_exist=False)
        self.addresses[turn.id], self.stages[turn.id] = address, turn.stage
        if not is_recorded:
            self.shown.append((turn, address, at))
            if at and turn.state == "proposed":
                self.showings.append(AuditEntry.of_showing(agent, turn, at))

    async def _tell(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        """Post the notice or upload its file. If the file cannot be read or uploaded, post a sentence instead."""
        await self._confirm()
        try:
            if notice.file:
                notice = await self._upload(agent, notice)
            if not notice.file:
                await self.surface.notice(agent, notice, may_exist=may_exist)
        except (SurfaceBusy, ThreadGone):
            raise
        except SurfaceError as refused:
            logger.warning("a notice was refused", extra={"agent": agent.id, "why": str(refused)[:300]})

    async def _upload(self, agent: Agent, notice: Notice) -> Notice:
        """Upload the notice's file; return the notice, or one without a file that says why that failed."""
        try:
            data = await self.workspaces.of(agent).read(notice.file)
            await self.surface.upload(agent, notice.file, data)
        except (SurfaceBusy, ThreadGone):
            raise
        except (CommandError, SurfaceError) as error:
            return replace(notice, text=f"{notice.text} could not be posted. {error}", file="")
        return notice

    async def _confirm(self) -> None:
        """Confirm the claim, unless nothing is sent; it may have ended with the save of what pages show now."""
        if not self.surface.shows_what_is_saved:
            await self.confirm()


def _refused_notice(agent: Agent, turn: Turn, refused: SurfaceError, at: datetime) -> Notice:
    """A notice in place of a card that the platform refused. What nobody was shown can be rejected, not approved."""
    todo = " It needs approval: reply what the agent should do instead." if turn.state == "proposed" else ""
    said = f"The card of turn {turn.number} ({turn.call.name}) could not be shown. {refused}{todo}"
    return Notice.to(agent, "waiting", said, at)
