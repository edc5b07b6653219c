"""The dialogue at the terminal: prints events and carries out typed lines until the agent is at rest."""

import asyncio
import shlex
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import assert_never

from adapters.screens.buttons import Button
from adapters.screens.cards import status_text
from adapters.screens.ui_text import REVIEWS, covered_text
from adapters.screens.visible_text import one_line
from adapters.terminal.input_parser import (
    Answer,
    ApproveKey,
    FreeText,
    Key,
    UnclearWord,
    is_for_any_turn,
    parse_answer,
    parse_settlement,
)
from adapters.terminal.input_prompts import ask_arguments
from adapters.terminal.json_record import ENDED, turn_as_json
from adapters.terminal.line_reader import LineReader
from adapters.terminal.render import card_text, drawing_of, help_of, keys_of, reply_text, review_text, visible_state
from adapters.terminal.server_dialogue import ServerDialogue
from adapters.terminal.streams import Streams
from adapters.terminal.surface import CardEvent, Event, NoticeEvent, StatusEvent, TerminalSurface, is_only_live
from adapters.typed.actions import ActionDispatcher, FormInput
from adapters.typed.typed_text import typed
from agent_core.errors import NotFound, NotPossible, PersonError
from agent_core.model.agent import Agent, Finished, Thinking
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.origin import Origin
from agent_core.model.turn import SeenProposal, Turn
from agent_core.service.reading.views import AgentViews
from agent_core.text.own_commands import command_text
from agent_core.text.reply_meaning import ReplyMeaning, is_question

DONE, STOPPED = 0, 3
ONE_KEYS = {"proposed": "ynesvx?", "interrupted": "risvx?"}  # by the turn's state: those that answer without Enter
UNCLEAR = "Nothing was decided: “{}” is not a key here. y approves, n rejects, x stops."
CONFIRM = "This {} turn {} with these words. Press Enter to send it, or type something else instead."
WHY = "This rejects turn {}. Type the reason, or press Enter to give none."
NOT_COVERED = "--continuous covers this command no more, so it was not run. Start without it to decide."


@dataclass(slots=True, kw_only=True)
class Console:
    """Leads the dialogue of one agent and the person at the terminal.

    `is_unasked`: the person is not asked. A proposal is approved if the lease covers it, else the agent stops.
    """

    actions: ActionDispatcher
    views: AgentViews
    surface: TerminalSurface
    streams: Streams
    origin: Origin
    agent: Agent
    is_unasked: bool = False
    _drawn: dict[AgentId, Turn] = field(default_factory=dict)
    _progress: str = ""
    _last_drawn: TurnId | None = None
    _unanswered: int = 0
    _reader: LineReader = field(init=False)
    _servers: ServerDialogue = field(init=False)

    def __post_init__(self) -> None:
        announce = partial(self.surface.events.put_nowait, "typed")
        self._reader = LineReader(streams=self.streams, announce=announce)
        self._servers = ServerDialogue(
            actions=self.actions,
            origin=self.origin,
            reader=self._reader,
            stop=self._stop,
            is_unasked=self.is_unasked,
        )

    async def run(self) -> int:
        """Run until the agent is paused, stopped, finished or deleted. Return exit code 0 if it finished, else 3."""
        turn = await self.views.newest_turn(self.origin.channel, self.agent.id)
        if turn and turn.is_open:
            self.surface.events.put_nowait(CardEvent(self.agent, turn))
            self.advanced()
        try:
            while not await self._handle(await self.surface.events.get()):
                pass
        except NotFound as gone:
            self.streams.say(str(gone))
            return STOPPED
        finally:
            if self.streams.screen:
                self.streams.screen.spin("")
        if isinstance(self.agent.status, Finished):
            return DONE
        other_model = ", and --model NAME gives it another model" if self.agent.model else ""
        again = command_text(f"solo --name {shlex.quote(self.agent.name)}")
        self.streams.say(f"{again} resumes it{other_model}.")
        return STOPPED

    def advanced(self) -> None:
        """Wake `run`, which asks or ends. bot.solo calls this when the loop can do no more by itself."""
        self.surface.events.put_nowait("advanced")

    def halt(self) -> None:
        """Stop the agent, even while a prompt waits for input."""
        self.surface.events.put_nowait("halted")
        self._reader.halt()

    @property
    def _can_approve_more(self) -> bool:
        return self.actions.service.decisions.continuous_limit != 1

    async def _handle(self, event: Event) -> bool:
        """Handle an event; return whether it was the last one."""
        match event:
            case CardEvent(agent, turn):
                self._draw(agent, turn)
                await self._servers.follow(turn)
            case NoticeEvent() as notice:
                self._tell(notice)
            case "typed":
                await self._servers.take_line()
            case StatusEvent(agent):
                self._show_status(agent)
            case "halted":
                await self._stop()
            case "advanced" if self.agent.is_at_rest:
                return True
            case "advanced":
                await self._ask()
            case _:
                assert_never(event)
        return False

    def _tell(self, notice: NoticeEvent) -> None:
        self._progress = ""
        self.streams.say(notice.text)
        self.streams.write(reply_text(notice.reply, self.streams.look))
        self._unanswered = max(0, self._unanswered - notice.is_answer)
        self._servers.prompt()

    def _draw(self, agent: Agent, turn: Turn) -> None:
        if self._is_drawn(turn) or is_only_live(turn):  # output would scroll by
            return
        before, self._drawn[agent.id] = self._drawn.get(agent.id), turn
        self._last_drawn, self._progress = turn.id, ""
        self.streams.write(drawing_of(before, turn)(agent, turn, self.streams.look))
        if self.streams.emit and turn.state in ENDED:
            self.streams.emit(turn_as_json(turn) + "\n")

    def _show_status(self, agent: Agent) -> None:
        if agent.id == self.agent.id:
            self.agent = agent
        if not isinstance(agent.status, Thinking):
            return
        is_busy = bool(agent.status.activity)
        waits = (agent.status.held_up or agent.status.waits_for) and not is_busy
        text = one_line(f"{agent.title} is {status_text(agent)}" + ("" if waits else "…"))
        if self.streams.screen:
            self.streams.screen.spin(text)
        elif text != self._progress and (waits or (self.streams.is_live and not is_busy)):
            self.streams.write(f"{text}\n")
            self._progress = text

    async def _ask(self) -> None:
        """Ask about open turns until none is left, the agent stops, or the model must first answer the person."""
        while not self._unanswered and (turn := await self._open_turn()):
            if self.is_unasked and turn.state == "proposed":
                await self._approve_or_stop(turn)
                return
            await self._repeat_card(turn)
            self.streams.call()
            try:
                said = keys_of(turn, can_approve_more=self._can_approve_more)
                await self._answer(turn, await self._read(said, ONE_KEYS[turn.state]))
            except EOFError:
                await self._stop()
                return
            except PersonError as error:
                if isinstance(error, NotFound) and error.kind in ("agent", "turn"):
                    raise
                self.streams.say(str(error))

    async def _read(self, question: str, keys: str = "") -> str:
        """Ask, and read the line that answers; raise EOFError at the end of input. Older lines answer nothing."""
        self.streams.forget()
        self.streams.ask(question, keys)
        if (line := await self._reader.line()) is None:
            raise EOFError
        return line

    async def _repeat_card(self, turn: Turn) -> None:
        """Write the card again if another card was written after it: a prompt is about the card right above it."""
        if self._last_drawn != turn.id:
            self._last_drawn = turn.id
            self.streams.write(card_text(await self._agent_of(turn), turn, self.streams.look))

    async def _open_turn(self) -> Turn | None:
        """The first open turn whose card was written in its present state: the agent's own, otherwise a helper's."""
        views, channel = self.views, self.origin.channel
        for each in (self.agent, *await views.family(channel, self.agent.id)):
            turn = await views.newest_turn(channel, each.id)
            if turn and turn.is_open and self._is_drawn(turn):
                return turn
        return None

    async def _answer(self, turn: Turn, line: str) -> None:
        answer = parse_answer(line)
        if turn.state == "interrupted" and not is_for_any_turn(answer):
            await self._press(Button(parse_settlement(line), turn.id, shown=turn.control_hash))
        elif isinstance(answer, FreeText) and answer.text and not answer.is_verb and self.streams.can_ask:
            await self._confirm(turn, answer)
        else:
            await self._decide(turn, answer)

    async def _confirm(self, turn: Turn, words: FreeText) -> None:
        """Say what the text will do; an empty line sends it, another line replaces it."""
        line = await self._read(CONFIRM.format("asks about" if is_question(words.text) else "rejects", turn.number))
        if line.strip():
            await self._answer(turn, line)
        else:
            await self._decide(turn, words)

    async def _decide(self, turn: Turn, answer: Answer) -> None:
        match answer:
            case "stop":
                await self._stop()
            case ApproveKey(times):
                await self._press(Button("approve", turn.id, times, turn.control_hash))
            case "reject":
                await self._reject(turn)
            case "edit":
                await self._edit(turn)
            case FreeText(text):
                await self._send(turn, text)
            case _:
                await self._explain(turn, answer)

    async def _explain(self, turn: Turn, asked: Key | UnclearWord) -> None:
        """Do what a key does that decides nothing."""
        match asked:
            case UnclearWord(word):
                self.streams.say(UNCLEAR.format(word))
            case "view":
                await self._view(turn)
            case "review":
                await self._review(turn)
            case _:
                self.streams.say(help_of(turn, covered=covered_text(turn) if self._can_approve_more else ""))

    async def _view(self, turn: Turn) -> None:
        """Open the whole card in the pager, or write it where there is none."""
        card = card_text(await self._agent_of(turn), turn, replace(self.streams.look, height=0))
        if self.streams.screen:
            await asyncio.to_thread(self.streams.screen.view, card)
        else:
            self.streams.write(card)

    async def _send(self, turn: Turn, text: str) -> None:
        if text:
            seen = SeenProposal(hashes=(turn.control_hash,))
            meaning: ReplyMeaning = "question" if is_question(text) else "feedback"
            told = await self.actions.say(turn.agent_id, typed(text), self.origin, seen, meaning)
            self._unanswered += told.is_asked
            self.streams.say(told.whole)

    async def _reject(self, turn: Turn) -> None:
        """Reject the proposal. Somebody at the keyboard is asked for a reason."""
        reason = await self._read(WHY.format(turn.number)) if self.streams.can_ask else ""
        await self._press(Button("reject", turn.id, shown=turn.control_hash), FormInput(text=reason))

    async def _review(self, turn: Turn) -> None:
        """Ask for a self-review, or write the one that exists."""
        if turn.review:
            self.streams.write(review_text(await self._agent_of(turn), turn, self.streams.look))
            return
        self.streams.say(REVIEWS)
        await self._press(Button("review", turn.id))

    async def _edit(self, turn: Turn) -> None:
        call = turn.proposal.call
        schema = self.views.spec(call.name).parameters
        changed = await ask_arguments(call.arguments, schema, replace(self.streams, read=self._reader.line))
        if changed is None:
            raise EOFError
        if changed == call.arguments:
            self.streams.say("Nothing was changed.")
        else:
            await self._press(Button("edit", turn.id, shown=turn.control_hash), FormInput(arguments=changed))

    async def _approve_or_stop(self, turn: Turn) -> None:
        """Approve a proposal without asking if the lease covers it; else say why not and stop the agent."""
        agent = await self._agent_of(turn)
        is_for_people = bool(turn.remark) or turn.exposed or self.views.spec(turn.call.name).always_asks
        try:
            if agent.lease is None or not agent.lease.covers(turn) or is_for_people:
                raise NotPossible(NOT_COVERED)
            await self._press(Button("approve", turn.id, shown=turn.control_hash))
        except PersonError as error:
            self.streams.say(str(error))
            await self._stop()

    async def _stop(self) -> None:
        """Stop the agent; a later event says when it has stopped."""
        with suppress(NotPossible):
            await self._press(Button("stop", self.agent.id))

    async def _agent_of(self, turn: Turn) -> Agent:
        return await self.views.agent(self.origin.channel, turn.agent_id)

    async def _press(self, button: Button, filled: FormInput | None = None) -> None:
        await self.actions.press(button, filled or FormInput(), self.origin)

    def _is_drawn(self, turn: Turn) -> bool:
        return (drawn := self._drawn.get(turn.agent_id)) is not None and visible_state(drawn) == visible_state(turn)
