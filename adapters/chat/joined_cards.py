"""Which turns share one card in a thread, and which card is folded to one line.

Commands that run under one decision of a person (Approve ×N, or classes that run without asking) share the card of the
first of them, which counts them. When a person has decided the next proposal, the card before it is folded.
"""

from dataclasses import dataclass, field, replace

from cachetools import LRUCache

from adapters.turn_lines import TurnLine, line_of
from agent_core.model.agent import Agent
from agent_core.model.decision import MAX_LEASE_COMMANDS
from agent_core.model.ids import AgentId
from agent_core.model.turn import Turn
from agent_core.service.thread_turns import ThreadTurns

MAX_JOINED = MAX_LEASE_COMMANDS  # turns on one card
MAX_REMEMBERED_AGENTS, MAX_REMEMBERED_LINES = 1_000, MAX_JOINED + 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CardPlace:
    """The card on which a turn is shown.

    `earlier`: the lines of the turns above it on the same card, oldest first.
    `address`: the card's address, or "" if it is not known to be posted.
    `marked`: the turn whose id marks the message, its first. `since`: the card was posted after this time.
    `to_fold`: the lines of another card that is folded now, if there is one.
    """

    earlier: tuple[TurnLine, ...]
    address: str
    marked: TurnLine
    to_fold: tuple[TurnLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CardContent:
    """A card as it should look now: the lines of all its turns, and the newest of them, which it shows in full."""

    lines: tuple[TurnLine, ...]
    newest: Turn
    place: CardPlace
    is_folded: bool


@dataclass(slots=True, kw_only=True)
class JoinedCards:
    """Finds the card of a turn. `folds`: whether finished turns are folded.

    `known`: the lines of each agent's newest turns by number, as far as this process has shown or read them.
    """

    turns: ThreadTurns
    folds: bool = True
    known: LRUCache[AgentId, dict[int, TurnLine]] = field(default_factory=lambda: LRUCache(MAX_REMEMBERED_AGENTS))

    async def place(self, agent: Agent, turn: Turn) -> CardPlace:
        """Where the turn is to be shown in its present state."""
        own = line_of(turn)
        if turn.is_open and not turn.shown_as:
            return CardPlace(earlier=(), address="", marked=own, to_fold=())
        lines = await self._lines(agent)
        last = lines.get(turn.number - 1)
        if own.is_open:
            is_shared = last is not None and last.address == own.address
            address, group = ("", self._card_of(lines, last)) if is_shared else (own.address, ())
            return CardPlace(earlier=(), address=address, marked=own, to_fold=group)
        earlier = self._card_of(lines, last) if last and _joins(last, own) else ()
        if len(earlier) >= MAX_JOINED and not own.address:
            earlier = ()
        first = earlier[0] if earlier else own
        before = self._card_of(lines, lines.get(first.number - 1)) if self.folds else ()
        address = own.address or (earlier[-1].address if earlier else "")
        return CardPlace(earlier=earlier, address=address, marked=first, to_fold=before)

    async def read_card(self, agent: Agent, turn: Turn) -> CardContent:
        """What the card that shows this turn shows at present, read anew: another process may have shown turns."""
        self.forget(agent)
        lines = await self._lines(agent)
        on_card = [each for each in lines.values() if each.address == turn.shown_as]
        last = max(on_card, key=lambda each: each.number, default=line_of(turn))
        newest = turn if last.number <= turn.number else await self.turns.turn(agent.channel, last.turn)
        after = lines.get(newest.number + 1)
        return CardContent(
            lines=self._card_of(lines, last),
            newest=newest,
            place=await self.place(agent, newest),
            is_folded=self.folds and not newest.is_open and after is not None and not after.is_open,
        )

    def remember(self, agent: Agent, turn: Turn, place: CardPlace, address: str) -> None:
        """Remember that the turn, and those above it on its card, are shown at this address."""
        lines = self.known.get(agent.id)
        if lines is None:
            return
        for each in (*place.earlier, line_of(turn)):
            lines[each.number] = replace(each, address=address)
        while len(lines) > MAX_REMEMBERED_LINES:
            del lines[min(lines)]

    def forget(self, agent: Agent) -> None:
        """Forget the agent's lines: another process has shown turns since."""
        self.known.pop(agent.id, None)

    async def _lines(self, agent: Agent) -> dict[int, TurnLine]:
        lines = self.known.get(agent.id)
        if lines is None:
            turns = await self.turns.newest(agent, MAX_REMEMBERED_LINES)
            lines = self.known[agent.id] = {turn.number: line_of(turn) for turn in turns}
        return lines

    @staticmethod
    def _card_of(lines: dict[int, TurnLine], last: TurnLine | None) -> tuple[TurnLine, ...]:
        """The lines that share a card up to `last`, which may have none yet; oldest first."""
        found: list[TurnLine] = []
        while last is not None:
            found.append(last)
            before = lines.get(last.number - 1)
            last = before if before and before.address and before.address == last.address else None
        return tuple(reversed(found))


def _joins(last: TurnLine, line: TurnLine) -> bool:
    """Whether a turn is shown on the card of the turn before it."""
    is_same = bool(line.permission) and last.permission == line.permission and not last.is_open
    return is_same and line.address in ("", last.address)
