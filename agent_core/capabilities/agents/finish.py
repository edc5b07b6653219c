"""The commands do_nothing and task_complete, which names the newest files of the workspace."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from agent_core.model.files import FileEntry
from agent_core.text.lines import counted
from agent_core.toolset.registry import Command, CommandContext, NoArguments, declare

MAX_NAMED_FILES = 10


class Reason(BaseModel):
    """Why."""

    reason: str = Field(description="what was reached", max_length=4000)


async def do_nothing(_given: NoArguments, _context: CommandContext) -> str:
    """Do nothing this turn."""
    return "Nothing was done."


async def task_complete(given: Reason, context: CommandContext) -> str:
    """End your work: all goals are reached."""
    return f"{given.reason}{_files(await context.files.list_files())}"


def _files(entries: Sequence[FileEntry]) -> str:
    """The files of the workspace, newest first."""
    newest = sorted(entries, key=lambda entry: entry.changed_at, reverse=True)
    named = ", ".join(f"{entry.path} ({counted(entry.size, 'byte')})" for entry in newest[:MAX_NAMED_FILES])
    more = f" and {len(entries) - MAX_NAMED_FILES:,} more" if len(entries) > MAX_NAMED_FILES else ""
    return f"\nFiles: {named}{more}." if named else ""


FINISH_COMMANDS: tuple[Command, ...] = (
    declare(NoArguments, do_nothing, label="Do nothing", risks=("read",), category="finish", waits=True),
    declare(
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
