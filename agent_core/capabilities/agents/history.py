"""The command read_turn: shows a past turn in full. Prompts show only its beginning."""

import json
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, Field

from agent_core.errors import CommandError
from agent_core.model.turn import Turn
from agent_core.ports.database import Database, UnitOfWork
from agent_core.prompt.history import notes_text, outcome
from agent_core.toolset.registry import Command, CommandContext, declare

PAGE_CHARACTERS = 7_000


class TurnArguments(BaseModel):
    """A part of one turn, from some character on."""

    turn: int = Field(description="its number", ge=1)
    part: Literal["result", "command", "notes"] = Field(default="result", description="result, command or notes")
    start: int = Field(default=0, ge=0, description="number of characters to skip")


@dataclass(frozen=True, slots=True)
class HistoryCommands:
    """The command read_turn. An agent can read only its own turns."""

    database: Database

    async def read_turn(self, given: TurnArguments, context: CommandContext) -> str:
        """Read all of its result, its command, or what people wrote before it."""
        async with self.database.begin() as work:
            turns = await work.turns.of(context.agent, last=1, before=given.turn + 1)
            if not turns or turns[0].number != given.turn:
                raise CommandError(f"There is no turn {given.turn}; the last one is {context.agent.turns}.")
            text = await _part(work, turns[0], given.part, context)
        page = text[given.start : given.start + PAGE_CHARACTERS]
        rest = len(text) - given.start - len(page)
        more = f"\n({rest:,} more characters; read on with start={given.start + len(page)}.)" if rest > 0 else ""
        return f"{page}{more}" or "Nothing more."

    @property
    def commands(self) -> tuple[Command, ...]:
        return (declare(TurnArguments, self.read_turn, label="Read a past turn", risks=("read",), category="memory"),)


async def _part(work: UnitOfWork, turn: Turn, part: str, context: CommandContext) -> str:
    match part:
        case "command":
            thoughts = turn.proposal.thoughts
            arguments = json.dumps(dict(turn.call.arguments), ensure_ascii=False, indent=1)
            return f"{thoughts.text}\n{turn.call.name} {arguments}"
        case "notes":
            notes = [note for note in await work.notes.of(context.agent) if note.taken_into == turn.id]
            return notes_text(notes) if notes else "Nobody wrote anything before this turn."
        case _:
            return outcome(turn)
