"""Puts a tool server's question on the card during a call, waits for people's answer, and words it all safely."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from agent_core.errors import DatabaseAway, NotFound
from agent_core.model.command import text_digest
from agent_core.model.ids import new_id
from agent_core.model.origin import Actor
from agent_core.model.question import AskedQuestion, QuestionField, ServerQuestion, field_line, read_value
from agent_core.plugins.loaded import one_line
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database
from agent_core.ports.tool_servers import ServerEntry
from agent_core.text.lines import quoted
from agent_core.toolset.registry import CommandContext

MAX_QUESTIONS, MAX_QUOTED_CHARACTERS, MAX_LABEL_CHARACTERS, MAX_MESSAGE_CHARACTERS = 5, 300, 100, 2_000
LOOK_SECONDS = 1.0
NOT_ANSWERED = "The call ended before anybody answered."


@dataclass(slots=True, kw_only=True)
class CallQuestions:
    """The questions of one call, one after the other, since its card has one form.

    `told`: what came of each, for the result.
    """

    database: Database
    clock: Clock
    entry: ServerEntry
    context: CommandContext
    spell_out: Callable[[str], str]
    told: list[str] = field(default_factory=list)
    asked: int = 0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, question: ServerQuestion) -> Mapping[str, object] | None:
        """What people answer, by the names of the fields; None if they decline, or if it cannot be asked (again)."""
        shown = self._spelled_out(question)
        if self.asked >= MAX_QUESTIONS or shown is None:
            return None
        self.asked += 1
        async with self._turn:
            return await self._ask(question, shown)

    async def _ask(self, question: ServerQuestion, shown: ServerQuestion) -> Mapping[str, object] | None:
        asked, text = self._asked(shown), self._text(shown)
        with self.context.limit.standing_still():
            self.context.ask(asked)
            self.context.report(text)
            self.context.announce(text)
            try:
                found = await self._wait_for_answer(asked)
            except asyncio.CancelledError:
                self._take_back(asked)
                raise
        if found is None:
            self._take_back(asked)
            self.told.append("(The server asked people a question, which was declined, because Signoff ended.)")
            return None
        self.context.ask(found)
        is_answer = not found.is_declined and len(found.written) == len(shown.fields)
        given = {number: text for number, text in enumerate(found.written) if text}
        names = ", ".join(shown.fields[number].name for number in given)
        what = f"answered: {names or 'yes'}" if is_answer else "declined"
        self.told.append(f"(The server asked people a question, which {found.answered_by} {what}.)")
        self.context.report(self.told[-1])
        read = {question.fields[number].name: read_value(shown.fields[number], text) for number, text in given.items()}
        return read if is_answer else None

    async def _wait_for_answer(self, asked: AskedQuestion) -> AskedQuestion | None:
        """The question as soon as its answer stands on the turn of the call; None if the process ends first."""
        while True:
            with suppress(DatabaseAway, NotFound):  # an agent that was deleted, which ends the call
                async with self.database.begin() as work:
                    agent = await work.agents.locate(self.context.agent.id)
                    turns = await work.turns.of(agent, last=1)
                found = turns[0].asked if turns else None
                if found and found.id == asked.id and found.answered_by:
                    return found
            if self.context.is_ending():
                return None
            await self.clock.sleep(LOOK_SECONDS)

    def _take_back(self, asked: AskedQuestion) -> None:
        """Show that a question is over which nobody can answer any more."""
        server = Actor(id=f"server:{self.entry.name}", display=f"the tool server {self.entry.name}", kind="bot")
        self.context.ask(asked.decline(server, self.clock.now()))
        message = quoted(asked.question.message, MAX_MESSAGE_CHARACTERS)
        self.context.report(f"The tool server {self.entry.name} asked: {message}\n{NOT_ANSWERED}")

    def _asked(self, shown: ServerQuestion) -> AskedQuestion:
        now, entry = self.clock.now(), self.entry
        return AskedQuestion(id=text_digest(new_id(now)), server=entry.name, place=entry.place, question=shown, at=now)

    def _spelled_out(self, question: ServerQuestion) -> ServerQuestion | None:
        """The question as people see it; None if a name or a choice has nothing to see, or two choices look alike."""
        fields = tuple(self._field_spelled_out(each) for each in question.fields)
        if not all(each.name and all(each.choices) for each in fields):
            return None
        if any(len(shown.choices) != len(each.choices) for shown, each in zip(fields, question.fields, strict=True)):
            return None
        return ServerQuestion(message=self._line(question.message, MAX_MESSAGE_CHARACTERS), fields=fields)

    def _field_spelled_out(self, each: QuestionField) -> QuestionField:
        return replace(
            each,
            name=self._line(each.name, MAX_LABEL_CHARACTERS),
            title=self._line(each.title),
            description=self._line(each.description),
            choices={self._line(label, MAX_LABEL_CHARACTERS): value for label, value in each.choices.items()},
            default=self._default(each),
        )

    def _default(self, each: QuestionField) -> str:
        """What the server suggests, if it is seen as it is; a person would not know what else it is."""
        spelled = self.spell_out(each.default)
        return each.default if spelled == each.default else ""

    def _text(self, shown: ServerQuestion) -> str:
        press = f"Press Answer on the card{'' if shown.fields else ', which says yes'}, or Decline."
        lines = [
            f"The tool server {self.entry.name} asks: {quoted(shown.message, MAX_MESSAGE_CHARACTERS)}",
            f"Whoever may approve answers; it goes to {self.entry.place}: no passwords.",
            *(() if self.context.agent.channel.surface == "terminal" else (press,)),  # its prompt says what to type
            *(f"• {field_line(each)}" for each in shown.fields),
        ]
        return "\n".join(lines)

    def _line(self, text: str, most: int = MAX_QUOTED_CHARACTERS) -> str:
        return one_line(self.spell_out(text), most)
