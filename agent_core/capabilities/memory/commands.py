"""The agent's commands on its own long-term memory: add, recall, list, forget, ingest a file."""

from dataclasses import dataclass
from functools import partial

from pydantic import BaseModel, Field

from agent_core.capabilities.files.commands import FILE_ALIASES, PLAIN_TEXTS, Filename
from agent_core.errors import CommandError
from agent_core.memory.chunking import chunk_text
from agent_core.memory.long_term import LongTermMemory
from agent_core.model.ids import MemoryId
from agent_core.model.records.memory import Memory, Recalled
from agent_core.ports.clock import Clock
from agent_core.ports.documents import Documents
from agent_core.toolset.registry import Command, CommandContext, CommandOutput, NoArguments, declare

MAX_TEXT_CHARACTERS = 10_000
MAX_RECALLED, MAX_LISTED = 8, 20
MAX_CHUNKS = 2_000
MAX_LINE_CHARACTERS = 160
TEXT_ALIASES = {"string": "text", "content": "text", "data": "text"}
QUERY_ALIASES = {"string": "query", "input": "query", "text": "query"}
MEMORY_ALIASES = {"id": "memory", "key": "memory"}
RECALL_SYNONYMS = ("memory_search", "recall", "search_memory")
FORGET_SYNONYMS = ("memory_del", "memory_delete")


class MemoryText(BaseModel):
    """Something to keep."""

    text: str = Field(description="what to keep", min_length=1, max_length=MAX_TEXT_CHARACTERS)


class RecallArguments(BaseModel):
    """Something to find the like of."""

    query: str = Field(description="what it is like", min_length=1, max_length=2000)


class MemoryArguments(BaseModel):
    """One memory."""

    memory: str = Field(description="its id", min_length=1, max_length=60)


@dataclass(frozen=True, slots=True)
class MemoryCommands:
    """Commands that add, find, list and forget memories. Results name the source of each memory."""

    memory: LongTermMemory
    clock: Clock
    documents: Documents = PLAIN_TEXTS

    async def memory_add(self, given: MemoryText, context: CommandContext) -> str:
        """Keep it in your long-term memory."""
        memories = [self._new(piece, f"turn {context.agent.turns}") for piece in chunk_text(given.text)]
        found = await self.memory.add(context.agent, memories, context.tracker)
        return _saved_text(
            len(memories), "1 thing is" if len(memories) == 1 else f"{len(memories)} pieces are", findable=found
        )

    async def memory_recall(self, given: RecallArguments, context: CommandContext) -> str:
        """Find what is like it in your long-term memory."""
        found = await self.memory.recall(context.agent, given.query, MAX_RECALLED, context.tracker)
        return "\n\n".join(map(_recalled_text, found)) or "Nothing is remembered yet."

    async def memory_list(self, _given: NoArguments, context: CommandContext) -> str:
        """List the newest."""
        async with self.memory.database.begin() as work:
            newest = await work.memories.of(context.agent, most=MAX_LISTED)
            number = await work.memories.count(context.agent)
        lines = [f"[{each.id}] {each.source}: {' '.join(each.text.split())[:MAX_LINE_CHARACTERS]}" for each in newest]
        return "\n".join((f"{number:,} remembered; the newest {len(newest)}:", *lines))

    async def memory_forget(self, given: MemoryArguments, context: CommandContext) -> CommandOutput:
        """Remove one."""
        async with self.memory.database.begin() as work:
            found = await work.memories.get_many(context.agent, [MemoryId(given.memory)])
        if not found:
            raise CommandError(f"Nothing is remembered under {given.memory}. memory_list gives the ids.")
        await self.memory.forget(context.agent, [found[0].id])
        text = f"Forgotten: {' '.join(found[0].text.split())[:MAX_LINE_CHARACTERS]}"
        return CommandOutput(text=text, outside=context.agent.is_tainted)

    async def ingest_file(self, given: Filename, context: CommandContext) -> str:
        """Take a file into your long-term memory."""
        reading = await self.documents.text_of(given.filename, await context.files.read(given.filename))
        memories = [self._new(piece, given.filename) for piece in chunk_text(reading.text)]
        if len(memories) > MAX_CHUNKS:
            raise CommandError(f"{given.filename} is too long: it makes {len(memories)} pieces, {MAX_CHUNKS} at most.")
        found = await self.memory.add(context.agent, memories, context.tracker)
        note = f" {reading.note}" if reading.note else ""
        return _saved_text(len(memories), f"{given.filename} is", findable=found) + note

    @property
    def commands(self) -> tuple[Command, ...]:
        write, read = (
            partial(declare, risks=("write",), category="memory"),
            partial(declare, risks=("read",), category="memory"),
        )
        return (
            write(MemoryText, self.memory_add, label="Add to memory", aliases=TEXT_ALIASES, asks_models=True),
            read(
                RecallArguments,
                self.memory_recall,
                label="Recall",
                synonyms=RECALL_SYNONYMS,
                aliases=QUERY_ALIASES,
                asks_models=True,
            ),
            read(NoArguments, self.memory_list, label="List memory"),
            declare(
                MemoryArguments,
                self.memory_forget,
                label="Forget",
                risks=("delete",),
                category="memory",
                synonyms=FORGET_SYNONYMS,
                aliases=MEMORY_ALIASES,
            ),
            write(Filename, self.ingest_file, label="Ingest file", aliases=FILE_ALIASES, asks_models=True),
        )

    def _new(self, text: str, source: str) -> Memory:
        return Memory.of(text, source=source, at=self.clock.now())


def _saved_text(number: int, what: str, *, findable: bool) -> str:
    later = "" if findable else " It can be recalled once long-term memory is reached again."
    return f"{what} kept in long-term memory, {number} in all.{later}" if number > 1 else f"{what} kept.{later}"


def _recalled_text(recalled: Recalled) -> str:
    memory = recalled.memory
    return f"[{memory.id}] {memory.source}, {memory.at:%d %B %Y}, likeness {recalled.likeness:.2f}:\n{memory.text}"
