"""Doing nothing, and being done."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from agent_core.commands.registry import Command, CommandContext, declared
from agent_core.model.files import FileEntry

MOST_NAMED = 10


class Nothing(BaseModel):
    """No arguments."""


class Reason(BaseModel):
    """Why."""

    reason: str = Field(description="what was reached", max_length=4000)


async def do_nothing(_given: Nothing, _context: CommandContext) -> str:
    """Do nothing this turn."""
    return "Nothing was done."


async def task_complete(given: Reason, context: CommandContext) -> str:
    """End your work: all goals are reached."""
    return f"{given.reason}{_files(await context.files.list_files())}"


def _files(entries: Sequence[FileEntry]) -> str:
    """The files that are left, the newest first."""
    newest = sorted(entries, key=lambda entry: entry.changed_at, reverse=True)
    named = ", ".join(f"{entry.path} ({entry.size:,} bytes)" for entry in newest[:MOST_NAMED])
    more = f" and {len(entries) - MOST_NAMED:,} more" if len(entries) > MOST_NAMED else ""
    return f"\nFiles: {named}{more}." if named else ""


FINISH_COMMANDS: tuple[Command, ...] = (
    declared(Nothing, do_nothing, label="Do nothing", risks=("read",), category="finish", waits=True),
    declared(
        Reason,
        task_complete,
        label="Task complete",
        risks=("read",),
        category="finish",
        finishes=True,
        synonyms=("finish", "shutdown"),
        aliases={"summary": "reason", "result": "reason", "message": "reason"},
    ),
)
