"""The Chat of somebody at a terminal: lines in, text out, and `solo` in between."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

from adapters.intents import Intents
from adapters.terminal.streams import Streams
from adapters.terminal.surface import CHANNEL
from agent_core.model.draft import AgentDraft
from agent_core.testing.stage import Stage
from bot.solo import Parts, SoloOptions, solo
from tests.wiring import intents_of


@dataclass(frozen=True, slots=True)
class DeskCard:
    """What was printed of a proposal."""

    chat: "DeskChat"
    text: str

    async def press(self, label: str, **filled: str) -> None:
        """Type what stands for the button."""
        match label:
            case "Edit":
                self.chat.type("e", *filled.values())
            case "Reject":
                self.chat.type(filled["reason"])
            case "Stop":
                self.chat.type("n")
            case "Self-review":
                self.chat.type("s")
            case _:
                _, _, times = label.partition("×")
                self.chat.type(f"y -{times}" if times else "y")


@dataclass(slots=True)
class DeskChat:
    """One person at one terminal; `read_to` is how far they have read."""

    stage: Stage
    tasks: asyncio.TaskGroup
    options: SoloOptions = field(init=False)
    output: str = ""
    read_to: int = 0
    lines: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)
    printed: asyncio.Event = field(default_factory=asyncio.Event)
    codes: list[int] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def opened(cls, stage: Stage) -> AsyncIterator["DeskChat"]:
        """Sit down; the program ends with the block."""
        async with asyncio.TaskGroup() as tasks:
            chat = cls(stage, tasks)
            yield chat
            chat.lines.put_nowait(None)

    async def new_agent(self, name: str, role: str, *goals: str) -> None:
        """Start the program."""
        self.options = SoloOptions(draft=AgentDraft(name=name, role=role, goals=goals))
        self.tasks.create_task(self._sit())

    async def asks(self, command: str) -> DeskCard:
        """Wait for a card of this command and the question under it."""
        await self._until(lambda: self._card(command) is not None)
        start, end = self._card(command) or (0, 0)
        text, self.read_to = self.output[start:end], end
        return DeskCard(self, text)

    async def says(self, text: str) -> None:
        """Type a line."""
        self.type(text)

    async def resume(self) -> None:
        """Start the program again with the same name."""
        await self._until(lambda: self.codes == [3])
        self.tasks.create_task(self._sit())

    async def sees(self, text: str) -> bool:
        """Wait until this was printed."""
        await self._until(lambda: text in " ".join(self.output.replace("│", " ").replace("┊", " ").split()))
        return True

    async def told(self, text: str) -> bool:
        """Wait until this was printed: there is one person only."""
        return await self.sees(text)

    async def file(self, path: str) -> str:
        """Read a file of the workspace."""
        agent = await self.stage.views.named(CHANNEL, self.options.draft.name)
        assert agent is not None
        return (await self.stage.views.file(CHANNEL, agent.id, path)).decode()

    async def audit(self) -> str:
        """Type the word, and read from its answer on."""
        start = len(self.output)
        self.type("audit")
        await self._until(lambda: "newest first" in self.output[start:] and "y approve ·" in self.output[start:])
        return " ".join(self.output[start:].replace("│", " ").replace("┊", " ").split())

    async def audit_file(self) -> str:
        """Nothing: a terminal hands out no files."""
        return ""

    async def reads_reply(self) -> str:
        """Read on under the notice."""
        await self._until(lambda: self.codes == [3])
        return self.output[self.output.index("The model's reply:") :]

    def type(self, *lines: str) -> None:
        """Type lines."""
        for line in lines:
            self.lines.put_nowait(line)

    def _card(self, command: str) -> tuple[int, int] | None:
        start = self.output.find(f"· {command}\n", self.read_to)
        end = self.output.find("y approve ·", start)
        return (start, end) if start >= 0 and end >= 0 else None

    async def _until(self, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not happened():
                self.printed.clear()
                await self.printed.wait()

    async def _sit(self) -> None:
        parts = cast("Parts", SimpleNamespace(intents=self._intents(), **self._parts()))
        self.codes.append(await solo(parts, self.options, Streams(read=self.lines.get, write=self._print)))
        self.printed.set()

    def _intents(self) -> Intents:
        return intents_of(self.stage)

    def _parts(self) -> dict[str, object]:
        stage = self.stage
        surfaces = {"terminal": stage.surface}
        return {"model": stage.model, "engine": stage.engine, "loop": stage.loop, "surfaces": surfaces}

    def _print(self, text: str) -> None:
        self.output += text
        self.printed.set()
