"""A person's terminal by prompt_toolkit and rich: a line editor with history, colours, a spinner and a pager."""

import math
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from select import select

from prompt_toolkit import PromptSession
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.patch_stdout import patch_stdout
from rich.console import Console
from rich.text import Text

QUIET_SECONDS, MOST_PASTE_SECONDS = 0.2, 10.0  # a paste has ended when nothing comes for so long
ONE_KEY_SECONDS = 0.5  # a key is a line by itself if no other one follows in this time: "you" is no "y"


class WordsHistory(FileHistory):
    """Keeps lines of several words: the arrow up brings back no key that decides, and no password of one word."""

    def append_string(self, string: str) -> None:
        if len(string.split()) > 1:
            super().append_string(string)


class RichTerminal:
    """Reads and writes at a terminal. An unfinished line that was written is the prompt of the next line that is read.

    `history`: the file that keeps what was typed. `typed_at`: when, in seconds of the monotonic clock.
    """

    def __init__(self, history: Path) -> None:
        os.environ.setdefault("LESS", "-R")  # else `less` spells our colours
        self.typed_at = -math.inf
        self.console = Console(highlight=False, soft_wrap=True)
        self._spinner = self.console.status("")
        self._session = PromptSession[str](history=WordsHistory(history), key_bindings=_bindings(), enable_suspend=True)
        self._session.app.timeoutlen = ONE_KEY_SECONDS

    async def line(self) -> str | None:
        """The next line, or None at the end of input. Line ends in pasted text are part of it."""
        self.spin("")
        try:
            with patch_stdout(raw=True):
                line = await self._session.prompt_async(handle_sigint=False)
        except EOFError:
            return None
        finally:
            self._session.message = ""
            self.offer("")
        self.typed_at = time.monotonic()
        return line

    def forget(self) -> None:
        """Drop what was typed before: keys that nobody read, and a line that was begun."""
        flush_keys()
        clear_typeahead(self._session.input)
        self._session.app.key_processor.reset()
        self._session.default_buffer.reset()

    def offer(self, keys: str) -> None:
        """Let each of these keys be the next line by itself, without Enter, while nothing else is typed."""
        buffer, self._session.key_bindings = self._session.default_buffer, (bindings := _bindings())
        for key in keys:
            bindings.add(key, filter=Condition(lambda: not buffer.text))(_take)
            bindings.add(key, Keys.Any, filter=Condition(lambda: not buffer.text))(_begin_words)

    def write(self, text: Text | str) -> None:
        self.spin("")
        shown = Text(text) if isinstance(text, str) else text
        begun = shown.plain.rfind("\n") + 1
        if begun < len(shown) or not self._session.app.is_running:
            self._session.message = shown.plain[begun:]
        self.console.print(shown[:begun], end="")
        self._session.app.invalidate()

    def spin(self, said: str) -> None:
        """Say beside a spinner what goes on, until something else is written; "" ends it."""
        if said and not self._session.app.is_running:
            self._spinner.update(Text(said, "dim"))
            self._spinner.start()
        else:
            self._spinner.stop()

    def view(self, text: Text) -> None:
        """Open the text in the pager, until the person leaves it."""
        with self.console.pager(styles=True):
            self.console.print(text)


def _bindings() -> KeyBindings:
    bindings = KeyBindings()
    bindings.add("c-c")(lambda _event: signal.raise_signal(signal.SIGINT))  # as Ctrl-C does while no line is read
    return bindings


def _take(event: KeyPressEvent) -> None:
    event.current_buffer.insert_text(event.data)
    event.current_buffer.validate_and_handle()


def _begin_words(event: KeyPressEvent) -> None:
    key, another = event.key_sequence
    event.current_buffer.insert_text(key.data)
    event.key_processor.feed(another, first=True)


def flush_keys(descriptor: int = 0) -> None:
    """Drop what was typed but not read yet, and what still comes of a long paste; the input of a pipe is kept."""
    with suppress(ImportError):
        import termios

        until = time.monotonic() + MOST_PASTE_SECONDS
        has_more = os.isatty(descriptor) and bool(select([descriptor], [], [], 0)[0])
        if os.isatty(descriptor):
            termios.tcflush(descriptor, termios.TCIFLUSH)
        while has_more and time.monotonic() < until and select([descriptor], [], [], QUIET_SECONDS)[0]:
            termios.tcflush(descriptor, termios.TCIFLUSH)
