"""Base of the chat platforms' surfaces: each turn is a message in a thread, posted once, edited, joined, folded."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, Protocol, TypeVar

from adapters.chat.agent_messages import root_screen
from adapters.chat.background import BackgroundTasks
from adapters.chat.card_edits import CardEdits, JoinedEdit
from adapters.chat.joined_cards import CardContent, JoinedCards
from adapters.chat.standing import StandingLines
from adapters.chat.status_updates import StatusUpdates
from adapters.screens.message.card import card_screen, folded_screen
from adapters.screens.message.pieces import Screen
from adapters.screens.turn_lines import TurnLine
from agent_core.errors import SurfaceError, ThreadGone
from agent_core.model.agent import Agent
from agent_core.model.note import Notice
from agent_core.model.origin import ThreadRef
from agent_core.model.turn import Turn
from agent_core.ports.clock import Clock
from agent_core.ports.models import LanguageModel


class Drawn(Protocol):
    """A message as a platform sends it. `digest`: a hash of what it shows."""

    @property
    def digest(self) -> bytes: ...


M = TypeVar("M", bound=Drawn)


@dataclass(slots=True, kw_only=True)
class ThreadSurface(ABC, Generic[M]):
    """What the surfaces of chat platforms share. A message is known by its id, a text; a turn marks that of its card.

    `cards`: which turns share a card. `standing`: what each agent's root message says that it does.
    """

    soon: BackgroundTasks
    clock: Clock
    model: LanguageModel
    cards: JoinedCards
    standing: StandingLines
    continuous_limit: int | None = None
    shows_what_is_saved: bool = False
    updates: StatusUpdates = field(init=False)
    edits: CardEdits = field(init=False)

    def watch_status(self, delay: float) -> None:
        """Begin: shorter states than `delay` seconds are not shown."""
        self.updates = StatusUpdates(
            send=self._send_status, facts_of=self.standing.facts, soon=self.soon, clock=self.clock, delay=delay
        )
        self.edits = CardEdits(post=partial(self.notice, may_exist=False), soon=self.soon, clock=self.clock)

    @abstractmethod
    async def notice(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        """Post a notice in the thread, unless it was already posted."""

    @abstractmethod
    async def _send_status(self, agent: Agent) -> None:
        """Show the agent's status now."""

    @abstractmethod
    def draw(self, screen: Screen) -> M:
        """The message as the platform sends it."""

    @abstractmethod
    async def _find(self, agent: Agent, message: M, mark: TurnLine) -> str:
        """The id of the message that shows the card already, or ""."""

    @abstractmethod
    async def _post_card(self, agent: Agent, message: M, mark: TurnLine) -> str:
        """Post it, and return its id."""

    @abstractmethod
    async def _edit_card(self, agent: Agent, stands: str, message: M, mark: TurnLine) -> bool:
        """Edit it, unless it is unchanged; return whether it exists."""

    @abstractmethod
    def _forget_drawn(self, agent: Agent, stands: str) -> None:
        """Have the next edit sent even if it changes nothing."""

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        """Post or edit the card, and return its address; an unchanged card is not sent."""
        self.standing.remember(agent, turn)
        card = await self.cards.card(agent, turn)
        place = card.place
        if turn.is_open:
            await self.edits.send_waiting_of(agent)
        if place.left:
            await self._fold(agent, place.left)
        thread, message, mark = thread_of(agent), self._present(agent, card), place.marked
        stands = message_in(thread, place.address)
        if not stands and may_exist:
            stands = await self._find(agent, message, mark)
        if stands:  # also if the edit is joined with a later one
            self.cards.remember(agent, card.newest, place, f"{thread.thread}/{stands}")
        edit = JoinedEdit(agent, partial(self._edit_card, agent, stands, message, mark), message.digest)
        if not stands or not await self.edits.is_settled((agent.channel, stands), card, edit):
            stands = await self._post_card(agent, self._present(agent, card), mark)
        self.cards.remember(agent, card.newest, place, address := f"{thread.thread}/{stands}")
        if place.to_fold:
            self.soon(self._fold_soon(agent, place.to_fold))
        return address

    async def draw_again(self, agent: Agent, turn: Turn) -> None:
        """Edit a card, even if nothing changed, because a person clicked an outdated state of it."""
        if agent.thread and (stands := message_in(agent.thread, turn.shown_as)):
            card = await self.cards.read_card(agent, turn)
            self._forget_drawn(agent, stands)
            await self._try_edit(agent, stands, self._present(agent, card), card.place.marked)

    def _present(self, agent: Agent, card: CardContent) -> M:
        if card.is_folded:
            return self.draw(folded_screen(agent, card.lines))
        model, most = "" if agent.model else self.model.label, self.continuous_limit
        return self.draw(card_screen(agent, card.newest, card.place.earlier, model=model, continuous_limit=most))

    def _root(self, agent: Agent, files: str = "") -> M:
        """The first message of the agent's thread. `files`: how many files it has."""
        standing, last = self.standing.line(agent), self.standing.last_line(agent)
        return self.draw(root_screen(agent, model=self.model.label, standing=standing, files=files, last=last))

    async def _fold_soon(self, agent: Agent, lines: Sequence[TurnLine]) -> None:
        """Fold a finished card. If that fails the card stays as it is, which is longer but as true."""
        with suppress(SurfaceError):
            await self._fold(agent, lines)

    async def _fold(self, agent: Agent, lines: Sequence[TurnLine]) -> None:
        if stands := message_in(thread_of(agent), lines[-1].address):
            await self._try_edit(agent, stands, self.draw(folded_screen(agent, lines)), lines[0])

    async def _try_edit(self, agent: Agent, stands: str, message: M, mark: TurnLine) -> None:
        edit = partial(self._edit_card, agent, stands, message, mark)
        await self.edits.attempt(agent, (agent.channel, stands), edit)


def thread_of(agent: Agent) -> ThreadRef:
    """The agent's thread; raise ThreadGone if it has none."""
    if agent.thread is None:
        raise ThreadGone("The agent has no thread.")
    return agent.thread


def message_in(thread: ThreadRef, address: str) -> str:
    """The id of the message in a card's address, or "" if it is in another thread or not posted."""
    there, _, message = address.partition("/")
    return message if there == thread.thread else ""
