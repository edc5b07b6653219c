"""The part of the dialogue in which a tool server asks the person at the terminal, while its command runs."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from adapters.screens.buttons import Button
from adapters.screens.visible_text import one_line
from adapters.terminal.line_reader import LineReader
from adapters.typed.actions import ActionDispatcher, FormInput
from agent_core.errors import PersonError
from agent_core.model.ids import TurnId
from agent_core.model.origin import Origin
from agent_core.model.question import AskedQuestion, WrongAnswer, field_id, field_line, read_value
from agent_core.model.turn import Turn

OVER = "Nothing is asked any more: the line was not used."


@dataclass(slots=True, kw_only=True)
class ServerDialogue:
    """Reads lines while servers ask, one for each field; the server that asks longest is answered first.

    `stop` stops the agent. `_written`: the fields of a question that were typed so far, by its id.
    `_sent`: the questions that were answered, until their cards have been drawn again.
    """

    actions: ActionDispatcher
    origin: Origin
    reader: LineReader
    stop: Callable[[], Awaitable[None]]
    is_unasked: bool
    _asked: dict[TurnId, Turn] = field(default_factory=dict)
    _sent: set[str] = field(default_factory=set)
    _written: dict[str, list[str]] = field(default_factory=dict)

    async def follow(self, turn: Turn) -> None:
        """Read lines if the turn's server asks. Nobody answers where the person is not asked."""
        asked, known = turn.open_question, self._asked.get(turn.id)
        if asked is None:
            self._asked.pop(turn.id, None)
        elif self.is_unasked:
            await self._decline(turn, asked)
        elif known is None or known.asked is None or known.asked.id != asked.id:
            if not self._open():
                self.reader.streams.forget()  # a line that is older than the question does not answer it
            self._asked[turn.id] = turn
            self.reader.streams.call()
            self.reader.watch()

    def prompt(self) -> None:
        """Write what can be typed, below the question or what was said of an answer."""
        if not (asked := self._open()):
            return
        first = asked[0]
        if len(asked) > 1:
            self.reader.streams.say(
                f"Several servers ask. The next line answers {first.server}: {one_line(first.question.message)}"
            )
        fields, written = first.question.fields, self._written.get(first.id, [])
        wanted = field_line(fields[len(written)]) if fields else "yes"
        self.reader.streams.ask(f"Answer the server: {one_line(wanted)} · decline · stop")

    async def take_line(self) -> None:
        """Take the line that was typed as the next field. What does not fit is told, and asked again."""
        turn = next((each for each in self._asked.values() if self._is_open(each)), None)
        if turn is None and not self.reader.streams.can_ask:
            return  # the next prompt takes it
        typed, asked = self.reader.take(at_end="decline"), turn.open_question if turn else None
        if typed is None:
            return
        if turn is None or asked is None:
            self.reader.streams.say(OVER)
            return
        try:
            await self._carry_out(turn, asked, typed.strip())
        except (PersonError, WrongAnswer) as error:
            self.reader.streams.say(f"Nothing was sent: {error}")
        if self._open():
            self.prompt()
            self.reader.watch()

    def _open(self) -> list[AskedQuestion]:
        """The questions that no line has answered, the oldest first."""
        return [turn.open_question for turn in self._asked.values() if turn.open_question and self._is_open(turn)]

    def _is_open(self, turn: Turn) -> bool:
        return turn.asked is not None and turn.asked.id not in self._sent

    async def _carry_out(self, turn: Turn, asked: AskedQuestion, line: str) -> None:
        match line.casefold():
            case "decline":
                await self._decline(turn, asked)
                self._sent.add(asked.id)
            case "stop":
                await self.stop()
                self._sent.update(each.id for each in self._open())
            case _ if asked.question.fields:
                await self._fill_in(turn, asked, line)
            case "y" | "yes":
                await self._answer(turn, asked)
            case _:
                raise WrongAnswer("type yes, decline, or stop.")

    async def _fill_in(self, turn: Turn, asked: AskedQuestion, line: str) -> None:
        """Keep the line as the next field; answer with all of them after the last one."""
        written = self._written.setdefault(asked.id, [])
        each = asked.question.fields[len(written)]
        try:
            read_value(each, line)
        except WrongAnswer as wrong:
            raise WrongAnswer(f"{each.name} {wrong}") from None
        written.append(line)
        if len(written) == len(asked.question.fields):
            await self._answer(turn, asked)

    async def _answer(self, turn: Turn, asked: AskedQuestion) -> None:
        written = self._written.pop(asked.id, [])  # a refused answer begins again
        filled = {field_id(number): text for number, text in enumerate(written)}
        await self.actions.press(Button("answer", turn.id, shown=asked.id), FormInput(arguments=filled), self.origin)
        self._sent.add(asked.id)

    async def _decline(self, turn: Turn, asked: AskedQuestion) -> None:
        with suppress(PersonError):
            await self.actions.press(Button("decline", turn.id, shown=asked.id), FormInput(), self.origin)
