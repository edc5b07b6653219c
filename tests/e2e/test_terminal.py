"""The real program at a real terminal: keys, history, the pager, and what decides nothing."""

import asyncio
import os
import pty
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.process import clean
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.slow

# The terminal becomes the one that controls the process, as a shell's is.
START = """
import fcntl, runpy, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
runpy.run_module("bot", run_name="__main__", alter_sys=True)
"""
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[>=]")
CLERK = ("--name", "Clerk", "--goal", 'Write "Stand-up at 9:30" to notes.md')
KEYS, UP, CTRL_C, CTRL_U = "words reject · words? ask", "\x1b[A", "\x03", "\x15"


@dataclass(slots=True)
class Person:
    """Somebody at a terminal. `read_to`: how far they have read."""

    end: int
    process: asyncio.subprocess.Process
    printed: asyncio.Event
    raw: bytes = b""
    read_to: int = 0

    @property
    def output(self) -> str:
        """What was printed, without colours and movements of the cursor."""
        return ESCAPES.sub("", self.raw.decode(errors="replace"))

    def type(self, keys: str) -> None:
        os.write(self.end, keys.encode())

    async def sees(self, text: str) -> str:
        """Wait for a text below what was read, and return what stands up to its end."""
        await self.until(lambda: text in self.output[self.read_to :])
        begun, self.read_to = self.read_to, self.output.index(text, self.read_to) + len(text)
        return self.output[begun : self.read_to]

    async def answers(self, keys: str) -> None:
        """Wait for the question, and type."""
        await self.sees(f"{KEYS}\r\n")
        await self.sees(">")
        self.type(keys)

    async def ends(self) -> int:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.process.wait()

    def take(self) -> None:
        """Keep what the program printed."""
        try:
            self.raw += os.read(self.end, 65_536)
        except OSError:  # the program has ended
            asyncio.get_running_loop().remove_reader(self.end)
        self.printed.set()

    async def until(self, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not happened():
                self.printed.clear()
                await self.printed.wait()


@asynccontextmanager
async def sitting(folder: Path, *arguments: str, **environ: str) -> AsyncIterator[Person]:
    """`signoff solo` in demo mode, at a terminal of 100 × 24."""
    end, terminal = pty.openpty()
    given = {"TERM": "xterm", "COLUMNS": "100", "LINES": "24", "PROMPT_TOOLKIT_NO_CPR": "1", **environ}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", START, "solo", *arguments),
        cwd=folder,
        env=clean(folder, given),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    person = Person(end, process, asyncio.Event())
    asyncio.get_running_loop().add_reader(end, person.take)
    try:
        yield person
    finally:
        asyncio.get_running_loop().remove_reader(end)
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(end)


async def test_a_stranger_is_greeted_says_no_with_a_reason_and_stops_with_x(tmp_path: Path) -> None:
    async with sitting(tmp_path) as person:
        greeting = await person.sees("Name [Helper]:")
        assert "nothing runs until you approve.\r\n│ Model: Demo · scripted, no AI\r\n" in greeting
        for prompt, line in (("", "Clerk"), ("Role [", ""), ("Goal 1:", CLERK[-1]), ("Goal 2:", "")):
            await person.sees(prompt)
            person.type(f"{line}\r")
        await person.answers("n\r")
        await person.sees("This rejects turn 1. Type the reason, or press Enter to give none.")
        await person.sees(">")
        person.type("Too early.\r")
        await person.sees("rejected by")
        await person.sees("“Too early.”")
        await person.answers("x\r")
        await person.sees("python -m bot solo --name Clerk resumes it.")
        assert await person.ends() == 3


@pytest.mark.proves("terminal:no-accident")
async def test_what_was_typed_before_the_card_or_pasted_approves_nothing(tmp_path: Path) -> None:
    async with sitting(tmp_path, *CLERK) as person:
        person.type("y\ryy")  # nobody reads yet
        await person.answers("\x1b[200~y\ny\n\x1b[201~")
        await person.sees("y")
        person.type(CTRL_C)
        await person.sees("withdrawn: stopped by")
        assert await person.ends() == 3
        assert "approved" not in person.output


@pytest.mark.proves("terminal:no-accident")
async def test_one_key_decides_without_enter_and_no_word_that_begins_with_it(tmp_path: Path) -> None:
    async with sitting(tmp_path, *CLERK) as person:
        await person.answers("you there")
        await person.sees("you there")
        person.type(f"{CTRL_U}n")
        await person.sees("This rejects turn 1. Type the reason")
        await person.sees(">")
        person.type("no such file\r")  # no key acts where a reason is asked for
        await person.sees("“no such file”")
        await person.answers("y")
        await person.sees("done · approved by")
        assert await person.ends() == 0
        assert person.output.count("approved by") == 2  # as it began to run, and done


async def test_the_arrow_up_brings_back_words_and_no_keys(tmp_path: Path) -> None:
    async with sitting(tmp_path, *CLERK) as person:
        await person.answers("why this file?\r")
        await person.sees("Press Enter to send it")
        await person.sees(">")
        person.type("x\r")
        assert await person.ends() == 3
    async with sitting(tmp_path, *CLERK) as person:
        await person.answers(UP)
        await person.sees("why this file?")
        person.type(f"{CTRL_U}y\r")
        await person.sees("done · approved by")
    assert (tmp_path / ".signoff/terminal_history").stat().st_mode & 0o077 == 0


async def test_v_opens_all_of_a_folded_card_in_the_pager_and_decides_nothing(tmp_path: Path) -> None:
    long = " ".join(f"word{number}" for number in range(230))
    async with sitting(tmp_path, *CLERK[:3], f'Write "{long}" to notes.md', PAGER="sed 's/^/PAGED /'") as person:
        await person.sees("left out; v shows them.")
        await person.answers("v\r")
        await person.sees("PAGED")
        await person.answers("x\r")
        paged = "".join(line for line in person.output.split("\r\n") if line.startswith("PAGED"))
        assert all(f"word{number}" in paged for number in range(230))
        assert await person.ends() == 3
        assert "approved" not in person.output


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
async def test_a_plain_terminal_gets_plain_text(tmp_path: Path, environ: dict[str, str]) -> None:
    async with sitting(tmp_path, *CLERK, **environ) as person:
        await person.sees("Clerk is thinking…\r\n")
        await person.answers("v\r")
        await person.sees("Command write_to_file")
        await person.answers("x\r")
        assert await person.ends() == 3
        assert b"\x1b" not in person.raw


async def test_ctrl_c_leaves_no_prompt_in_the_last_line(tmp_path: Path) -> None:
    async with sitting(tmp_path, *CLERK, NO_COLOR="1") as person:
        await person.answers("half a wo")
        await person.sees("half a wo")
        person.type(CTRL_C)
        await person.sees("^C\r\n\r\n━━ Clerk")
        assert await person.ends() == 3
