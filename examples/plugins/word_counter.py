"""A plugin of ten lines: a command that counts the words of a file."""

from pydantic import BaseModel, Field

from agent_core.plugins import Plugin, PluginTools
from agent_core.toolset.registry import Command, CommandContext, declare


class File(BaseModel):
    """What the model fills in."""

    filename: str = Field(description="path inside the workspace", min_length=1, max_length=400)


async def count_words(given: File, context: CommandContext) -> str:
    """Count the words of a file."""
    text = (await context.files.read(given.filename)).decode(errors="replace")
    return f"{given.filename} has {len(text.split()):,} words."


class WordCounter(Plugin):
    """Adds count_words."""

    def commands(self, tools: PluginTools) -> tuple[Command, ...]:
        """The one command; it only reads."""
        return (declare(File, count_words, label="Count words", risks=("read",), category="files"),)
