"""The Chat of somebody at a terminal: lines in, text out, and `solo` in between."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.text import Text

from adapters.terminal.rich_terminal import RichTerminal
from adapters.terminal.streams import Streams
from adapters.terminal.surface import CHANNEL, TerminalSurface
from adapters.typed.actions import ActionDispatcher
from agent_core.model.draft import AgentDraft
from agent_core.testing.stage import Stage
from bot.solo import SoloOptions, Terminal, solo
from tests.free_lock import FreeLock
from tests.patience import PATIENCE_SECONDS
from tests.scenario.chat import LateLine, OpenForm
from tests.wiring import actions_of

QUESTION, SERVER_QUESTION = "y approve ·", "Answer the server:"


class Spinner(RichTerminal):
    """A terminal with colours whose spinner is read."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(Path(os.devnull))
        self.tell = tell

    def spin(self, said: str) -> None:
        self.tell(said)


@dataclass(frozen=True, slots=True)
class DeskCard:
    """What was printed of a proposal."""

    chat: "DeskChat"
    text: str
    command: str

    async def press(self, label: str, **filled: str) -> None:
        """Type what stands for the button."""
        match label:
            case "Edit":
                self.chat.type("e", *filled.values())
            case "Reject":
                self.chat.type(filled["reason"])
            case "Stop":
                self.chat.type("x")
            case "Answer":
                asked = self.chat.output.rpartition(SERVER_QUESTION)[2].partition(":")[0].strip()
                names = [*filled]
                self.chat.type(*(filled[name] for name in names[names.index(asked) :]) if filled else ("yes",))
            case "Decline":
                self.chat.type("decline")
            case "Self-review":
                self.chat.type("s")
            case _:
                _, _, times = label.partition("×")
                self.chat.type(f"y -{times}" if times else "y")

    async def opens(self, label: str) -> OpenForm:
        """There are no forms."""
        raise NotImplementedError(label)

    async def now(self) -> str:
        """All that was printed since it was first printed."""
        return self.chat.output[self.chat.output.find(self.text) :]

    async def whole(self) -> str:
        """The same: nothing is cut here."""
        return await self.now()

    async def thoughts(self) -> str:
        """The same: nothing is behind a button here."""
        return await self.now()


@dataclass(slots=True)
class DeskChat:
    """One person at one terminal; `read_to` is how far they have read. `is_live`: the terminal shows what goes on."""

    stage: Stage
    tasks: asyncio.TaskGroup
    options: SoloOptions = field(init=False)
    output: str = ""
    read_to: int = 0
    is_live: bool = False
    card_at: int = -1
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

    async def new_agent(self, name: str, role: str, *goals: str, free: Sequence[str] = (), dry: bool = False) -> None:
        """Start the program."""
        assert not free, "no option of the program lets a class run without asking"
        self.options = SoloOptions(draft=AgentDraft(name=name, role=role, goals=goals, dry_run=dry))
        self.tasks.create_task(self._sit())

    async def asks(self, *commands: str) -> DeskCard:
        """Wait for a card of one of these commands and the question under it, the next one that is asked."""
        await self._until(lambda: self._card() is not None)
        self.card_at, self.read_to = self._card() or (0, 0)
        text = self.output[self.card_at : self.read_to]
        command = text.partition("\n")[0].rpartition("· ")[2]
        assert command in commands, f"{command} is asked, not {' or '.join(commands)}"
        return DeskCard(self, text, command)

    async def is_asked(self) -> DeskCard:
        """Wait for the question and the prompt under it."""
        await self._until(lambda: SERVER_QUESTION in self.output[self.read_to :])
        start = self.read_to
        self.read_to = self.output.index(SERVER_QUESTION, start) + len(SERVER_QUESTION)
        return DeskCard(self, self.output[start : self.read_to], "")

    async def asks_for_a_form(self, behind: str) -> str:
        """There is one person."""
        raise NotImplementedError(behind)

    async def root(self) -> str:
        """What is printed first."""
        return self.output.partition("━━")[0]

    async def writes(self, text: str) -> LateLine:
        """What is typed is read when it is typed."""
        raise NotImplementedError(text)

    async def stops(self) -> None:
        """Press Ctrl-C."""
        signal.raise_signal(signal.SIGINT)

    async def says(self, text: str) -> None:
        """Type a line."""
        self.type(text)

    async def resume(self) -> None:
        """Start the program again with the same name."""
        await self._until(lambda: self.codes == [3])
        self.tasks.create_task(self._sit())

    async def sees_status(self, text: str) -> bool:
        """Wait until this was printed."""
        return await self.sees(text)

    async def sees(self, text: str) -> bool:
        """Wait until this was printed."""
        await self._until(lambda: text in " ".join(self.output.replace("│", " ").replace("┊", " ").split()))
        return True

    async def told(self, text: str, times: int = 1) -> bool:
        """Wait until this was printed: there is one person only."""
        await self._until(
            lambda: " ".join(self.output.replace("│", " ").replace("┊", " ").split()).count(text) >= times
        )
        return True

    async def file(self, path: str) -> str:
        """Read a file of the workspace."""
        agent = await self.stage.views.find_by_name(CHANNEL, self.options.draft.name)
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

    def _card(self) -> tuple[int, int] | None:
        """Where the next card begins, and where the question right under it does."""
        end = self.output.find(QUESTION, self.read_to + 1)
        while end >= 0:
            start = self.output.rfind("━━ ", 0, end)
            if start > self.card_at:
                return start, end
            end = self.output.find(QUESTION, end + 1)
        return None

    async def _until(self, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not happened():
                self.printed.clear()
                await self.printed.wait()

    async def _sit(self) -> None:
        surface = self.stage.surface
        assert isinstance(surface, TerminalSurface)
        core = replace(self.stage.core, loop=self.stage.loop)
        terminal = Terminal(core=core, actions=self._actions(), surface=surface, lock=FreeLock)
        streams = Streams(read=self.lines.get, write=self._print, screen=Spinner(self._print) if self.is_live else None)
        self.codes.append(await solo(terminal, self.options, streams))
        self.printed.set()

    def _actions(self) -> ActionDispatcher:
        return actions_of(self.stage)

    def _print(self, text: Text | str) -> None:
        self.output += str(text)
        self.printed.set()
