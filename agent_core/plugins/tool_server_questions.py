"""Lets people answer what a tool server asks during a call: on the card and in the thread, by a reply."""

import asyncio
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from agent_core.commands.registry import CommandContext
from agent_core.errors import DatabaseAway, NotFound
from agent_core.model.agent import Agent
from agent_core.model.audit import AuditEntry
from agent_core.model.ids import NoteId
from agent_core.model.lines import counted
from agent_core.model.note import Note
from agent_core.oversight.policy import may_decide
from agent_core.plugins.loaded import one_line
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database, UnitOfWork, queue_in_one_unit
from agent_core.ports.tool_servers import QuestionField, ServerEntry, ServerQuestion

MAX_QUESTIONS, MAX_ANSWER_CHARACTERS, MAX_QUOTED_CHARACTERS = 5, 4_000, 300
LOOK_SECONDS = 1.0
PAUSE_SECONDS = 3.0  # between two questions: a second reply to the first one is no answer to the next
ANSWER = re.compile(r"\s*answer\b\s*:?", re.IGNORECASE)
PARTS = re.compile(r"[\n;]")
DECLINE = re.compile(r"\s*decline\s*[.!]?\s*", re.IGNORECASE)
YES, NO = ("yes", "true", "ja", "oui", "sí"), ("no", "false", "nein", "non")


class WrongAnswer(ValueError):
    """An answer that does not fit its field; the text says why."""


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
        """What people answer, by the names of the fields; None if they decline, or if the call asked often enough."""
        if self.asked >= MAX_QUESTIONS:
            return None
        self.asked += 1
        async with self._turn:
            return await self._ask(question)

    async def _ask(self, question: ServerQuestion) -> Mapping[str, object] | None:
        if self.context.agent.channel.surface == "terminal":  # which reads no line while a command runs
            self.told.append("(The server asked people a question, which cannot be answered in a terminal.)")
            return None
        text = self._text(question)
        with self.context.limit.standing_still():
            if self.told:
                await self.clock.sleep(PAUSE_SECONDS)
            seen = await self._notes_before()
            self.context.report(text)
            self.context.announce(text)
            note, answers = await self._wait_for_answer(question, text, seen)
            await self._record(note, answers)
        names = ", ".join(self._line(each) for each in answers or ())
        what = f"answered: {names or 'yes'}" if answers is not None else "declined"
        self.told.append(f"(The server asked people a question, which {note.by} {what}.)")
        self.context.report(self.told[-1])
        return answers

    def _text(self, question: ServerQuestion) -> str:
        lines = [
            f"The tool server {self.entry.name} asks: {self._line(question.message, 2_000)}",
            f"Whoever may approve answers by a reply, which goes to {self.entry.place} and stays here: no passwords.",
            f"Reply: {self._example(question)} or: decline",
            *(self._field_text(each) for each in question.fields),
        ]
        return "\n".join(lines)

    def _example(self, question: ServerQuestion) -> str:
        names = "; ".join(f"{self._line(each.name, 60)}: …" for each in question.fields)
        return f"answer {names}".strip()

    def _field_text(self, each: QuestionField) -> str:
        choices = ", ".join(self._line(choice, 60) for choice in each.choices)
        kind = {"choice": f"one of {choices}", "choices": f"some of {choices}, with commas"}.get(each.kind, each.kind)
        about = " · ".join(filter(None, (each.title, each.description)))
        needed = "" if each.is_required else ", may be left out"
        return f"• {self._line(each.name, 60)}: {kind}{needed}{' · ' if about else ''}{self._line(about)}"

    async def _wait_for_answer(
        self, question: ServerQuestion, text: str, seen: set[NoteId]
    ) -> tuple[Note, Mapping[str, object] | None]:
        while True:
            for note in await self._new_notes(seen):
                if DECLINE.fullmatch(note.text):
                    return note, None
                if begins := ANSWER.match(note.text):
                    try:
                        return note, read_answers(question, note.text[begins.end() :])
                    except WrongAnswer as wrong:
                        said = f"The answer of {note.by} was not sent: {self._line(str(wrong))}"
                        self.context.report(f"{text}\n\n{said}")
                        self.context.announce(said)
            await self.clock.sleep(LOOK_SECONDS)

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

    async def _record(self, note: Note, answers: Mapping[str, object] | None) -> None:
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


def read_answers(question: ServerQuestion, text: str) -> Mapping[str, object]:
    """The values of the fields, from lines `name: value`; the whole text for a lone field. Raise WrongAnswer."""
    if len(text) > MAX_ANSWER_CHARACTERS:
        raise WrongAnswer(f"it has more than {MAX_ANSWER_CHARACTERS:,} characters.")
    given = _by_name(question, text)
    answers = {}
    for each in question.fields:
        written = given.get(each.name.casefold(), "").strip()
        if not written:
            if each.is_required:
                raise WrongAnswer(f"{each.name} is missing.")
            continue
        answers[each.name] = _value(each, written)
    return answers


def _by_name(question: ServerQuestion, text: str) -> dict[str, str]:
    names = {each.name.casefold() for each in question.fields}
    given = {}
    for line in filter(str.strip, PARTS.split(text)):
        name, colon, value = line.partition(":")
        if colon and name.strip().casefold() in names:
            given[name.strip().casefold()] = value
        elif len(names) == 1:
            return {next(iter(names)): text}
        else:
            raise WrongAnswer(f"“{line.strip()[:60]}” names no field. Write each as name: value, with ; between them.")
    return given


def _value(each: QuestionField, written: str) -> object:
    by_label = {label.casefold(): value for label, value in each.choices.items()}
    try:
        match each.kind:
            case "text":
                return written
            case "number":
                return _number(written)
            case "whole number":
                return int(written)
            case "yes or no":
                return _yes_or_no(written.casefold())
            case "choice":
                return by_label[written.casefold()]
            case "choices":
                return [by_label[part.strip().casefold()] for part in written.split(",") if part.strip()]
    except (ValueError, KeyError):
        kinds = {"choice": f"one of {', '.join(each.choices)}", "choices": f"some of {', '.join(each.choices)}"}
        raise WrongAnswer(f"{each.name} must be {kinds.get(each.kind, f'a {each.kind}')}.") from None


def _number(written: str) -> float:
    number = float(written)
    if not math.isfinite(number):
        raise ValueError
    return number


def _yes_or_no(written: str) -> bool:
    if written in YES:
        return True
    if written in NO:
        return False
    raise ValueError
