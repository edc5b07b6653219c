"""Lets people answer what a tool server asks during a call: by a form of the card, or by a reply in the thread."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from agent_core.commands.registry import CommandContext
from agent_core.errors import DatabaseAway, NotFound
from agent_core.model.actors import Actor
from agent_core.model.agent import Agent
from agent_core.model.audit import AuditEntry
from agent_core.model.command import text_digest
from agent_core.model.ids import NoteId, new_id
from agent_core.model.lines import counted, quoted
from agent_core.model.note import Note
from agent_core.model.server_answers import (
    DECLINED,
    Values,
    WrongAnswer,
    answer_example,
    answers,
    field_lines,
    read_reply,
)
from agent_core.model.server_question import AskedQuestion, QuestionField, ServerQuestion
from agent_core.oversight.policy import may_decide
from agent_core.plugins.loaded import one_line
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork, queue_in_one_unit
from agent_core.ports.tool_servers import ServerEntry

MAX_QUESTIONS, MAX_QUOTED_CHARACTERS, MAX_LABEL_CHARACTERS, MAX_MESSAGE_CHARACTERS = 5, 300, 100, 2_000
LOOK_SECONDS = 1.0
PAUSE_SECONDS = 3.0  # between two questions: a second reply to the first one is no answer to the next
NOT_ANSWERED = "The call ended before anybody answered."


@dataclass(slots=True, kw_only=True)
class CallQuestions:
    """The questions of one call, one after the other: a reply answers what is shown alone.

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
        text = self._text(shown)
        with self.context.limit.standing_still():
            if self.told:
                await self.clock.sleep(PAUSE_SECONDS)
            seen = await self._notes_before()
            asked = self._asked(shown)
            self.context.ask(asked)
            self.context.report(text)
            self.context.announce(text)
            try:
                found = await self._wait_for_answer(shown, text, seen)
            except asyncio.CancelledError:
                self._take_back(asked)
                raise
            if found is None:
                self._take_back(asked)
                self.told.append("(The server asked people a question, which was declined, because Signoff ended.)")
                return None
            note, values = found
            self.context.ask(asked.answer(note.by, self.clock.now(), is_declined=values is None))
            await self._record(note, values)
        names = ", ".join(shown.fields[number].name for number in values or ())
        what = f"answered: {names or 'yes'}" if values is not None else "declined"
        self.told.append(f"(The server asked people a question, which {note.by} {what}.)")
        self.context.report(self.told[-1])
        return None if values is None else {question.fields[number].name: value for number, value in values.items()}

    def _take_back(self, asked: AskedQuestion) -> None:
        """Show that a question is over which nobody can answer any more."""
        server = Actor(id=f"server:{self.entry.name}", display=f"the tool server {self.entry.name}", kind="bot")
        self.context.ask(asked.answer(server, self.clock.now(), is_declined=True))
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
        how = "Type" if self.context.agent.channel.surface == "terminal" else "Press Answer on the card, or reply"
        lines = [
            f"The tool server {self.entry.name} asks: {quoted(shown.message, MAX_MESSAGE_CHARACTERS)}",
            f"Whoever may approve answers; it goes to {self.entry.place} and stays here: no passwords.",
            f"{how}: {answer_example(shown)}{'' if shown.fields else ' (says yes)'} or: {DECLINED}",
            *(f"• {line}" for line in field_lines(shown)),
        ]
        return "\n".join(lines)

    async def _wait_for_answer(
        self, question: ServerQuestion, text: str, seen: set[NoteId]
    ) -> tuple[Note, Values | None] | None:
        """The first reply that answers, with what it says; None if the process ends first."""
        while not self.context.is_ending():
            for note in await self._new_notes(seen):
                try:
                    if answers(note):
                        return note, read_reply(question, note.text)
                except WrongAnswer as wrong:
                    said = f"The answer of {note.by} was not sent: {self._line(str(wrong))}"
                    self.context.report(f"{text}\n\n{said}")
                    self.context.announce(said)
            await self.clock.sleep(LOOK_SECONDS)
        return None

    async def _notes_before(self) -> set[NoteId]:
        """The replies that are there as a question begins, which do not answer it."""
        while (found := await self._find_notes()) is None:
            await self.clock.sleep(LOOK_SECONDS)
        return {note.id for note in found[1]}

    async def _new_notes(self, seen: set[NoteId]) -> list[Note]:
        """Replies that were not `seen`, of people who may decide; `seen` is added to."""
        agent, notes = await self._find_notes() or (self.context.agent, ())
        new = [note for note in notes if note.id not in seen]
        seen.update(note.id for note in new)
        return [note for note in new if may_decide(agent, note.by)]

    async def _find_notes(self) -> tuple[Agent, Sequence[Note]] | None:
        """The agent as it is now, and the replies that it has not read; None while the database is away."""
        try:
            async with self.database.begin() as work:
                agent = await work.agents.locate(self.context.agent.id)
                return agent, await work.notes.list_waiting(agent)
        except NotFound:  # it was deleted, which ends the call
            return self.context.agent, ()
        except DatabaseAway:
            return None

    async def _record(self, note: Note, answers: Values | None) -> None:
        """Write down who answered, and which fields: what was answered may be private. Waits for the database."""
        what = "declined a server's question" if answers is None else "answered a server's question"
        detail = f"{self.entry.name}: {counted(len(answers or ()), 'field')}"

        def append(work: UnitOfWork) -> None:
            at = self.clock.now()
            work.audit.append(AuditEntry.on(self.context.agent, what, by=note.by, at=at, detail=detail))

        while True:
            with suppress(DatabaseAway):
                return await queue_in_one_unit(self.database, append)
            await self.clock.sleep(LOOK_SECONDS)

    def _line(self, text: str, most: int = MAX_QUOTED_CHARACTERS) -> str:
        return one_line(self.spell_out(text), most)
