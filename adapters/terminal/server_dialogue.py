"""The part of the dialogue in which a tool server asks the person at the terminal, while its command runs."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from adapters.actions import ActionDispatcher, FormInput
from adapters.buttons import Button
from adapters.terminal.input_parser import parse_answer
from adapters.terminal.line_reader import LineReader
from adapters.terminal.render import said_text, server_question
from adapters.typed_text import typed
from adapters.visible_text import one_line
from agent_core.errors import PersonError
from agent_core.model.actors import Origin
from agent_core.model.ids import TurnId
from agent_core.model.server_answers import WrongAnswer, is_answer, read_reply
from agent_core.model.server_question import AskedQuestion
from agent_core.model.turn import Turn

OVER = "Nothing is asked any more: the line was not used."
WHAT_TO_TYPE = "Type answer and what is asked, or decline."


@dataclass(slots=True, kw_only=True)
class ServerDialogue:
    """Reads lines while servers ask; the server that asks longest is answered first. `stop` stops the agent.

    `_sent`: the questions that a line has answered, until their calls have read it.
    """

    actions: ActionDispatcher
    origin: Origin
    reader: LineReader
    write: Callable[[str], None]
    stop: Callable[[], Awaitable[None]]
    is_unasked: bool
    _asked: dict[TurnId, Turn] = field(default_factory=dict)
    _sent: set[str] = field(default_factory=set)

    async def follow(self, turn: Turn) -> None:
        """Read lines if the turn's server asks. Nobody answers where the person is not asked."""
        asked, known = turn.open_question, self._asked.get(turn.id)
        if asked is None:
            self._asked.pop(turn.id, None)
        elif self.is_unasked:
            await self._decline(turn, asked)
        elif known is None or known.asked is None or known.asked.id != asked.id:
            self._asked[turn.id] = turn
            self.reader.streams.call()
            self.reader.watch()

    def prompt(self) -> None:
        """Write what can be typed, below the question or what was said of an answer."""
        if not (asked := self._open()):
            return
        if len(asked) > 1:
            first = asked[0]
            self._say(f"Several servers ask. The next line answers {first.server}: {one_line(first.question.message)}")
        self.write(server_question(self.reader.streams.look))

    async def take_line(self) -> None:
        """Send the line that was typed. What does not fit is told, and another line is read.

        A line that fits is a reply as on every surface, which the running call reads.
        """
        turn = next((each for each in self._asked.values() if self._is_open(each)), None)
        if turn is None and not self.reader.streams.can_ask:
            return  # the next prompt takes it
        typed, asked = self.reader.take(), turn.open_question if turn else None
        if typed is None:
            return
        if turn is None or asked is None:
            self._say(OVER)
        else:
            if await self._is_sent(turn, asked, typed.text):
                self._sent.add(asked.id)
            if self._open():
                self.prompt()
                self.reader.watch()

    def _open(self) -> list[AskedQuestion]:
        """The questions that no line has answered, the oldest first."""
        return [turn.open_question for turn in self._asked.values() if turn.open_question and self._is_open(turn)]

    def _is_open(self, turn: Turn) -> bool:
        return turn.asked is not None and turn.asked.id not in self._sent

    async def _is_sent(self, turn: Turn, asked: AskedQuestion, line: str | None) -> bool:
        """Carry out a line; return whether the question is over with it."""
        try:
            match parse_answer(line) if line is not None else "decline":
                case "decline":
                    await self._decline(turn, asked)
                case "stop":
                    await self.stop()
                    self._sent.update(each.id for each in self._open())
                case _:
                    return await self._is_reply_an_answer(turn, asked, line or "")
        except (PersonError, WrongAnswer) as error:
            self._say(f"Nothing was sent: {error}")
            return False
        return True

    async def _is_reply_an_answer(self, turn: Turn, asked: AskedQuestion, line: str) -> bool:
        if line.strip() in ("", "?"):
            self._say(WHAT_TO_TYPE)
            return False
        if is_answer(line):
            read_reply(asked.question, line)
        told = await self.actions.say(turn.agent_id, typed(line), self.origin)
        if not is_answer(line):
            self._say(told.whole)
        return is_answer(line)

    async def _decline(self, turn: Turn, asked: AskedQuestion) -> None:
        with suppress(PersonError):
            await self.actions.press(Button("decline", turn.id, shown=asked.id), FormInput(), self.origin)

    def _say(self, text: str) -> None:
        self.write(said_text(text, self.reader.streams.look))
