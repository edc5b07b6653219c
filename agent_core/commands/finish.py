"""Doing nothing, and being done."""

from pydantic import BaseModel, Field

from agent_core.commands.registry import Command, CommandContext, declared


class Nothing(BaseModel):
    """No arguments."""


class Reason(BaseModel):
    """Why."""

    reason: str = Field(description="what was reached", max_length=4000)


async def do_nothing(_given: Nothing, _context: CommandContext) -> str:
    """Do nothing this turn."""
    return "Nothing was done."


async def task_complete(given: Reason, _context: CommandContext) -> str:
    """End your work: all goals are reached."""
    return given.reason


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
