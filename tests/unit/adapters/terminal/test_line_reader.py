"""Lines that a prompt waits for, and lines that come while a command runs."""

import asyncio
from dataclasses import dataclass, field

from rich.text import Text

from adapters.terminal.line_reader import LineReader
from adapters.terminal.streams import Streams


@dataclass(slots=True)
class Desk:
    """A keyboard, and what was announced and echoed."""

    can_ask: bool = True
    lines: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)
    announced: asyncio.Event = field(default_factory=asyncio.Event)
    echoed: list[str] = field(default_factory=list)

    def reader(self) -> LineReader:
        streams = Streams(read=self.lines.get, write=self.echo, can_ask=self.can_ask)
        return LineReader(streams=streams, announce=self.announced.set)

    def echo(self, text: Text | str) -> None:
        self.echoed.append(str(text))

    async def type(self, line: str | None) -> None:
        self.lines.put_nowait(line)
        await self.announced.wait()


async def test_a_watched_line_is_announced_and_taken_once() -> None:
    desk = Desk()
    reader = desk.reader()
    reader.watch()
    assert reader.take("the end") is None
    await desk.type("decline")
    assert reader.take("the end") == "decline"
    assert reader.take("the end") is None


async def test_a_prompt_takes_over_a_watched_line_that_was_not_typed_yet() -> None:
    desk = Desk()
    reader = desk.reader()
    reader.watch()
    asked = asyncio.create_task(reader.line())
    await asyncio.wait([asked], timeout=0)
    desk.lines.put_nowait("y")
    assert await asked == "y"
    assert not desk.announced.is_set()
    assert reader.take("the end") is None


async def test_at_a_terminal_a_line_typed_before_its_prompt_answers_nothing() -> None:
    desk = Desk()
    reader = desk.reader()
    reader.watch()
    await desk.type("answer late")
    desk.lines.put_nowait("n")
    assert await reader.line() == "n"


async def test_of_a_pipe_no_line_is_lost_and_each_is_echoed() -> None:
    desk = Desk(can_ask=False)
    reader = desk.reader()
    reader.watch()
    await desk.type("y")
    assert await reader.line() == "y"
    reader.watch()
    desk.announced.clear()
    await desk.type(None)
    assert reader.take("the end") == "the end"
    assert desk.echoed == ["y\n", "\n"]


async def test_after_halt_there_are_no_lines() -> None:
    desk = Desk()
    reader = desk.reader()
    asked = asyncio.create_task(reader.line())
    await asyncio.wait([asked], timeout=0)
    reader.halt()
    assert await asked is None
    assert await reader.line() is None
    reader.watch()
    assert desk.lines.empty()
