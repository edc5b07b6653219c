"""Commands on the agent's own long-term memory."""

from dataclasses import dataclass
from functools import partial

from pydantic import BaseModel, Field

from agent_core.commands.files import FILE, PLAIN, Filename
from agent_core.commands.registry import Command, CommandContext, CommandOutput, declared
from agent_core.errors import CommandError
from agent_core.memory.chunking import pieces
from agent_core.memory.long_term import LongTermMemory
from agent_core.model.ids import MemoryId
from agent_core.model.memory import Memory, Recalled
from agent_core.ports.documents import Documents
from agent_core.ports.world import Clock

LONGEST = 10_000
MOST_FOUND, MOST_LISTED = 8, 20
MOST_PIECES = 2_000
IN_A_LINE = 160
TEXT = {"string": "text", "content": "text", "data": "text"}
QUERY = {"string": "query", "input": "query", "text": "query"}
ID = {"id": "memory", "key": "memory"}
RECALL = ("memory_search", "recall", "search_memory")
FORGET = ("memory_del", "memory_delete")


class MemoryText(BaseModel):
    """Something to keep."""

    text: str = Field(description="what to keep", min_length=1, max_length=LONGEST)


class RecallArguments(BaseModel):
    """Something to find the like of."""

    query: str = Field(description="what it is like", min_length=1, max_length=2000)


class MemoryArguments(BaseModel):
    """One memory."""

    memory: str = Field(description="its id", min_length=1, max_length=60)


class Nothing(BaseModel):
    """No arguments."""


@dataclass(frozen=True, slots=True)
class MemoryCommands:
    """What an agent can do with its long-term memory; every text that comes back says where it is from."""

    memory: LongTermMemory
    clock: Clock
    documents: Documents = PLAIN

    async def memory_add(self, given: MemoryText, context: CommandContext) -> str:
        """Keep it in your long-term memory."""
        kept = [self._new(piece, f"turn {context.agent.turns}") for piece in pieces(given.text)]
        found = await self.memory.add(context.agent, kept, context.tracker)
        return _kept(len(kept), "1 thing is" if len(kept) == 1 else f"{len(kept)} pieces are", findable=found)

    async def memory_recall(self, given: RecallArguments, context: CommandContext) -> str:
        """Find what is like it in your long-term memory."""
        found = await self.memory.recall(context.agent, given.query, MOST_FOUND, context.tracker)
        return "\n\n".join(map(_told, found)) or "Nothing is remembered yet."

    async def memory_list(self, _given: Nothing, context: CommandContext) -> str:
        """List the newest."""
        async with self.memory.database.begin() as work:
            newest = await work.memories.of(context.agent, most=MOST_LISTED)
            number = await work.memories.count(context.agent)
        lines = [f"[{each.id}] {each.source}: {' '.join(each.text.split())[:IN_A_LINE]}" for each in newest]
        return "\n".join((f"{number:,} remembered; the newest {len(newest)}:", *lines))

    async def memory_forget(self, given: MemoryArguments, context: CommandContext) -> CommandOutput:
        """Remove one."""
        async with self.memory.database.begin() as work:
            found = await work.memories.get_many(context.agent, [MemoryId(given.memory)])
        if not found:
            raise CommandError(f"Nothing is remembered under {given.memory}. memory_list gives the ids.")
        await self.memory.forget(context.agent, [found[0].id])
        text = f"Forgotten: {' '.join(found[0].text.split())[:IN_A_LINE]}"
        return CommandOutput(text=text, outside=context.agent.is_tainted)

    async def ingest_file(self, given: Filename, context: CommandContext) -> str:
        """Take a file into your long-term memory."""
        reading = await self.documents.text_of(given.filename, await context.files.read(given.filename))
        kept = [self._new(piece, given.filename) for piece in pieces(reading.text)]
        if len(kept) > MOST_PIECES:
            raise CommandError(f"{given.filename} is too long: it makes {len(kept)} pieces, {MOST_PIECES} at most.")
        found = await self.memory.add(context.agent, kept, context.tracker)
        note = f" {reading.note}" if reading.note else ""
        return _kept(len(kept), f"{given.filename} is", findable=found) + note

    @property
    def commands(self) -> tuple[Command, ...]:
        """Them all."""
        write, read = (
            partial(declared, risks=("write",), category="memory"),
            partial(declared, risks=("read",), category="memory"),
        )
        return (
            write(MemoryText, self.memory_add, label="Add to memory", aliases=TEXT, asks_models=True),
            read(RecallArguments, self.memory_recall, label="Recall", synonyms=RECALL, aliases=QUERY, asks_models=True),
            read(Nothing, self.memory_list, label="List memory"),
            write(MemoryArguments, self.memory_forget, label="Forget", synonyms=FORGET, aliases=ID),
            write(Filename, self.ingest_file, label="Ingest file", aliases=FILE, asks_models=True),
        )

    def _new(self, text: str, source: str) -> Memory:
        return Memory.of(text, source=source, at=self.clock.now())


def _kept(number: int, what: str, *, findable: bool) -> str:
    later = "" if findable else " It can be recalled once long-term memory is reached again."
    return f"{what} kept in long-term memory, {number} in all.{later}" if number > 1 else f"{what} kept.{later}"


def _told(recalled: Recalled) -> str:
    memory = recalled.memory
    return f"[{memory.id}] {memory.source}, {memory.at:%d %B %Y}, likeness {recalled.likeness:.2f}:\n{memory.text}"
