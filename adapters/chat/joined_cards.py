"""Finds the card of a turn in a thread: which turns share one, and which card is folded to one line.

Commands that run under one decision of a person (Approve ×N, or classes that run without asking) share the card of the
first of them, which counts them. When a person has decided the next proposal, the card before it is folded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cachetools import LRUCache

from adapters.screens.turn_lines import TurnLine, line_of, permission_of
from agent_core.model.agent import Agent
from agent_core.model.decision import MAX_LEASE_COMMANDS
from agent_core.model.ids import AgentId
from agent_core.model.turn import Turn
from agent_core.service.reading.thread_turns import ThreadTurns

MAX_JOINED = MAX_LEASE_COMMANDS  # turns on one card
# Lines that are remembered of an agent: a full card, the full card before it, and the turns around them.
MAX_REMEMBERED_AGENTS, MAX_REMEMBERED_LINES = 300, 2 * MAX_JOINED + 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CardPlace:
    """The card on which a turn is shown.

    `earlier`: the lines of the turns above it on the same card, oldest first.
    `address`: the card's address, or "" if it is not known to be posted.
    `marked`: the turn whose id marks the message, its first.
    `to_fold`: the lines of the card before it, which is folded now, if it is.
    `left`: the lines that stay on the shared card which this turn leaves, because people are asked about it.
    """

    earlier: tuple[TurnLine, ...]
    address: str
    marked: TurnLine
    to_fold: tuple[TurnLine, ...] = ()
    left: tuple[TurnLine, ...] = ()


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

    async def card(self, agent: Agent, turn: Turn) -> CardContent:
        """What the card that shows this turn is to show, now that the turn changed.

        A turn that is shown late, such as after the platform was busy, takes nothing from the newer turns on its card.
        """
        if not turn.is_open and (address := await self._address(agent, turn)):
            lines, turn = await self._lines(agent), replace(turn, shown_as=address)
            if known := lines.get(turn.number):
                lines[turn.number] = _addressed(line_of(turn), known)  # also for the next turn, if this is not sent now
            if max(lines, default=0) > turn.number:
                return await self.read_card(agent, turn)
        return CardContent(lines=(), newest=turn, place=await self.place(agent, turn), is_folded=False)

    async def place(self, agent: Agent, turn: Turn) -> CardPlace:
        """Where the turn is to be shown in its present state."""
        if turn.is_open and not turn.shown_as:
            return CardPlace(earlier=(), address="", marked=line_of(turn))
        return self._place(await self._lines(agent), turn)

    async def read_card(self, agent: Agent, turn: Turn) -> CardContent:
        """What the card that shows this turn shows at present, read anew: another process may have shown turns.

        A newer turn about which people are asked leaves the card: it is shown on its own.
        """
        near = await self.turns.newest(agent, MAX_REMEMBERED_LINES, before=turn.number + MAX_JOINED + 2)
        known = self.known.get(agent.id, {})
        lines = {each.number: _addressed(line_of(each), known.get(each.number)) for each in near}
        own = lines.get(turn.number, line_of(turn))
        on_card = [each for each in lines.values() if each.address == own.address and not each.is_open]
        last = max(on_card, key=lambda each: each.number, default=own) if own.address and not own.is_open else own
        while (after := lines.get(last.number + 1)) and not after.address and _joins(last, after):
            last = lines[after.number] = replace(after, address=own.address)  # begun, and not yet recorded as shown
        newest = turn if last.number == turn.number else await self.turns.turn(agent.channel, last.turn)
        return CardContent(
            lines=_card_of(lines, last),
            newest=newest,
            place=self._place(lines, replace(newest, shown_as=last.address)),
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

    async def _address(self, agent: Agent, turn: Turn) -> str:
        """The address of the turn's card, also if only this process knows it, because an edit of it waits."""
        if turn.shown_as or not permission_of(turn):
            return turn.shown_as
        known = (await self._lines(agent)).get(turn.number)
        return known.address if known else ""

    async def _lines(self, agent: Agent) -> dict[int, TurnLine]:
        lines = self.known.get(agent.id)
        if lines is None:
            turns = await self.turns.newest(agent, MAX_REMEMBERED_LINES)
            lines = self.known[agent.id] = _with_gaps_filled({turn.number: line_of(turn) for turn in turns})
        return lines

    def _place(self, lines: Mapping[int, TurnLine], turn: Turn) -> CardPlace:
        own, last = line_of(turn), lines.get(turn.number - 1)
        if own.is_open:
            is_shared = last is not None and last.address == own.address
            left = _card_of(lines, last) if is_shared else ()
            return CardPlace(earlier=(), address="" if is_shared else own.address, marked=own, left=left)
        earlier = _card_of(lines, last) if last and _joins(last, own) else ()
        if len(earlier) >= MAX_JOINED and not own.address:
            earlier = ()
        if earlier:
            return CardPlace(earlier=earlier, address=own.address or earlier[-1].address, marked=earlier[0])
        to_fold = _card_of(lines, last) if self.folds else ()
        return CardPlace(earlier=(), address=own.address, marked=own, to_fold=to_fold)


def _card_of(lines: Mapping[int, TurnLine], last: TurnLine | None) -> tuple[TurnLine, ...]:
    """The lines that share a card up to `last`, which may have none yet; oldest first."""
    found: list[TurnLine] = []
    while last is not None:
        found.append(last)
        before = lines.get(last.number - 1)
        last = before if before and before.address and before.address == last.address else None
    return tuple(reversed(found))


def _with_gaps_filled(lines: dict[int, TurnLine]) -> dict[int, TurnLine]:
    """The lines, with the card of those that a process did not record as shown there before a later one was."""
    last = {line.address: line.number for line in lines.values() if line.address}
    for number in sorted(lines):
        before, line = lines.get(number - 1), lines[number]
        if before and not line.address and _joins(before, line) and last.get(before.address, 0) > number:
            lines[number] = replace(line, address=before.address)
    return lines


def _addressed(line: TurnLine, known: TurnLine | None) -> TurnLine:
    """The line as saved; if its address is not saved yet, with the one at which this process has shown it."""
    return replace(line, address=known.address) if known and not line.address else line


def _joins(last: TurnLine, line: TurnLine) -> bool:
    """Whether a turn is shown on the card of the turn before it."""
    is_same = bool(line.permission) and last.permission == line.permission and not (last.is_open or line.is_open)
    return is_same and line.address in ("", last.address)
