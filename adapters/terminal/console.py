"""The conversation at the terminal: events out as text, answers in as actions, until the agent is idle."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import assert_never

from adapters.actions import ActionDispatcher, FormInput
from adapters.buttons import Button
from adapters.cards import status_text
from adapters.terminal.input_parser import (
    Answer,
    ApproveKey,
    EditKey,
    FreeText,
    HelpKey,
    ReviewKey,
    StopKey,
    UnclearWord,
    settlement,
    understood,
)
from adapters.terminal.json_record import ENDED, record
from adapters.terminal.questions import ask_arguments
from adapters.terminal.render import (
    card_text,
    confirmation,
    drawing_of,
    help_text,
    one_line,
    question,
    reply_text,
    review_text,
    said_text,
    unclear_text,
    visible_state,
)
from adapters.terminal.streams import Streams
from adapters.terminal.surface import (
    AdvancedEvent,
    CardEvent,
    Event,
    HaltedEvent,
    NoticeEvent,
    StatusEvent,
    TerminalSurface,
)
from adapters.ui_text import REVIEWS
from adapters.visible_text import visible
from agent_core.errors import NotFound, NotPossible, PersonError
from agent_core.model.actors import Origin
from agent_core.model.agent import Agent, Finished, Thinking
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.seen_proposal import SeenProposal
from agent_core.model.turn import Turn
from agent_core.service.views import AgentViews

DONE, STOPPED = 0, 3
NOT_COVERED = "--continuous does not cover this command, so nothing was run. Start without it to decide."


@dataclass(slots=True, kw_only=True)
class Console:
    """One agent and the person at the terminal. With `is_unasked` it stops the agent instead of asking to decide."""

    actions: ActionDispatcher
    views: AgentViews
    surface: TerminalSurface
    streams: Streams
    origin: Origin
    agent: Agent
    is_unasked: bool = False
    _drawn: dict[AgentId, Turn] = field(default_factory=dict)
    _progress: str = ""
    _is_halted: bool = False
    _last_drawn: TurnId | None = None
    _unanswered: int = 0
    _reading: asyncio.Future[str | None] | None = None

    async def run(self) -> int:
        """Talk until the agent rests: 0 when its goals are reached, 3 when it stands still before that."""
        turn = await self.views.newest_turn(self.origin.channel, self.agent.id)
        if turn and turn.is_open:
            self.surface.events.put_nowait(CardEvent(self.agent, turn))
            self.advanced()
        try:
            while not await self._take(await self.surface.events.get()):
                pass
        except NotFound as gone:
            self._say(str(gone))
        return DONE if isinstance(self.agent.status, Finished) else STOPPED

    def advanced(self) -> None:
        """Call whenever the agent was carried on as far as it goes."""
        self.surface.events.put_nowait(AdvancedEvent())

    def halt(self) -> None:
        """Stop the agent, also while a question waits for its answer."""
        self._is_halted = True
        self.surface.events.put_nowait(HaltedEvent())
        if self._reading:
            self._reading.cancel()

    async def _take(self, event: Event) -> bool:
        """Deal with an event and say whether that was the end."""
        match event:
            case CardEvent(agent, turn):
                self._draw(agent, turn)
            case NoticeEvent(text, reply, is_answer):
                self._say(text)
                self.streams.write(reply_text(reply, self.streams.look))
                self._unanswered = max(0, self._unanswered - is_answer)
            case StatusEvent(agent):
                self._stand(agent)
            case HaltedEvent():
                await self._stop()
            case AdvancedEvent() if self.agent.is_at_rest:
                return True
            case AdvancedEvent():
                if not self._unanswered:
                    await self._ask()
            case _:
                assert_never(event)
        return False

    def _draw(self, agent: Agent, turn: Turn) -> None:
        if self._is_drawn(turn):
            return
        before, self._drawn[agent.id], self._progress = self._drawn.get(agent.id), turn, ""
        self._last_drawn = turn.id
        self.streams.write(drawing_of(before, turn)(agent, turn, self.streams.look))
        if self.streams.emit and turn.state in ENDED:
            self.streams.emit(record(turn) + "\n")

    def _stand(self, agent: Agent) -> None:
        if agent.id == self.agent.id:
            self.agent = agent
        if not isinstance(agent.status, Thinking):
            return
        waits = agent.status.held_up or agent.status.waits_for
        text = f"{agent.title} is {status_text(agent.status)}" + ("" if waits else "…")
        if text != self._progress and (self.streams.is_live or waits):
            self._progress = text
            self.streams.write(self.streams.look.paint(one_line(text), "dim") + "\n")

    async def _ask(self) -> None:
        """Ask until the open turn is decided or the agent is to stop; a question of the person's is answered first."""
        while not self._unanswered and (turn := await self._open_turn()):
            if self.is_unasked and turn.state == "proposed":
                await self._go_on(turn)
                return
            await self._bring_to_end(turn)
            self.streams.forget()
            self.streams.write(question(turn, self.streams.look))
            line = await self._line()
            if line is None:
                await self._stop()
                return
            try:
                await self._answer(turn, line)
            except NotFound:
                raise
            except PersonError as error:
                self._say(str(error))

    async def _bring_to_end(self, turn: Turn) -> None:
        """Write the card again where another was written since: a question is about the card right above it."""
        if self._last_drawn != turn.id:
            agent, _ = await self.views.turn(self.origin.channel, turn.id)
            self._last_drawn = turn.id
            self.streams.write(card_text(agent, turn, self.streams.look))

    async def _open_turn(self) -> Turn | None:
        """The turn people are asked about, its own before its helpers', once its card was written as it is now."""
        views, channel = self.views, self.origin.channel
        for each in (self.agent, *await views.family(channel, self.agent.id)):
            turn = await views.newest_turn(channel, each.id)
            if turn and turn.is_open and self._is_drawn(turn):
                return turn
        return None

    async def _answer(self, turn: Turn, line: str) -> None:
        answer = understood(line)
        if turn.state == "interrupted" and not _is_for_any_turn(answer):
            await self._press(Button(settlement(line), turn.id, shown=turn.control_hash))
        elif isinstance(answer, FreeText) and answer.text and not answer.is_verb and self.streams.can_ask:
            await self._confirm(turn, answer)
        else:
            await self._decide(turn, answer)

    async def _confirm(self, turn: Turn, words: FreeText) -> None:
        """Say what the words will do; an empty line sends them, another line is read in their place."""
        self.streams.forget()
        self.streams.write(confirmation(turn, is_question=words.is_question, look=self.streams.look))
        line = await self._line()
        if line is None:
            await self._stop()
        elif line.strip():
            await self._answer(turn, line)
        else:
            await self._decide(turn, words)

    async def _decide(self, turn: Turn, answer: Answer) -> None:
        match answer:
            case StopKey():
                await self._stop()
            case HelpKey() | UnclearWord():
                self._explain(turn, answer)
            case ApproveKey(times):
                await self._press(Button("approve", turn.id, times, turn.control_hash))
            case EditKey():
                await self._edit(turn)
            case ReviewKey():
                await self._review(turn)
            case FreeText(text):
                await self._send(turn, text)

    def _explain(self, turn: Turn, answer: HelpKey | UnclearWord) -> None:
        look = self.streams.look
        self.streams.write(
            unclear_text(answer.word, look) if isinstance(answer, UnclearWord) else help_text(turn, look)
        )

    async def _send(self, turn: Turn, text: str) -> None:
        if text:
            told = await self.actions.say(turn.agent_id, text, self.origin, SeenProposal(hashes=(turn.control_hash,)))
            self._unanswered += told.is_asked
            self._say(told.whole)

    async def _review(self, turn: Turn) -> None:
        """Have the proposal reviewed; what was said of it is written as the card is shown again."""
        if turn.review:
            agent, _ = await self.views.turn(self.origin.channel, turn.id)
            self.streams.write(review_text(agent, turn, self.streams.look))
            return
        self._say(REVIEWS)
        await self._press(Button("review", turn.id))

    async def _edit(self, turn: Turn) -> None:
        call = turn.proposal.call
        schema = self.views.spec(call.name).parameters
        changed = await ask_arguments(call.arguments, schema, replace(self.streams, read=self._line))
        if changed is None:
            await self._stop()
        elif changed == call.arguments:
            self._say("Nothing was changed.")
        else:
            await self._press(Button("edit", turn.id, shown=turn.control_hash), FormInput(arguments=changed))

    async def _go_on(self, turn: Turn) -> None:
        """Approve what an unasked run found open where its lease covers that; else stop the agent."""
        agent = await self.views.agent(self.origin.channel, turn.agent_id)
        if not self._is_covered(agent, turn):
            self._say(NOT_COVERED)
            await self._stop()
            return
        try:
            await self._press(Button("approve", turn.id, shown=turn.control_hash))
        except PersonError as error:
            self._say(str(error))
            await self._stop()

    def _is_covered(self, agent: Agent, turn: Turn) -> bool:
        """Whether the lease lets this open turn run: as the loop would decide, and no remark asks for a person."""
        is_for_people = bool(turn.remark) or turn.exposed or self.views.spec(turn.call.name).always_asks
        return agent.lease is not None and agent.lease.covers(turn.risks) and not is_for_people

    async def _stop(self) -> None:
        """Stop the agent; the events that follow tell when it stands still."""
        with suppress(NotPossible):
            await self._press(Button("stop", self.agent.id))

    async def _press(self, button: Button, filled: FormInput | None = None) -> None:
        await self.actions.press(button, filled or FormInput(), self.origin)

    async def _line(self) -> str | None:
        """The next line; None at the end of input or when the person wants out."""
        if self._is_halted:
            return None
        self._reading = asyncio.ensure_future(self.streams.read())
        try:
            line = await self._reading
        except asyncio.CancelledError:
            if self._is_halted:
                return None
            raise
        if not self.streams.can_ask:  # no terminal has echoed it
            self.streams.write(f"{visible(line or '')}\n")
        return line

    def _say(self, text: str) -> None:
        self.streams.write(said_text(text, self.streams.look))

    def _is_drawn(self, turn: Turn) -> bool:
        drawn = self._drawn.get(turn.agent_id)
        return drawn is not None and visible_state(drawn) == visible_state(turn)


def _is_for_any_turn(answer: Answer) -> bool:
    return isinstance(answer, StopKey | HelpKey) or (isinstance(answer, FreeText) and answer.is_verb)
