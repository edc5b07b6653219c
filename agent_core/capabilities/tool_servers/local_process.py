"""A tool server's program: started in a session of its own, and ended with all processes of its group.

It runs with the rights of Signoff, since it is the operator's own program, and is given few variables.
"""

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from agent_core.capabilities.tool_servers.flow_limit import MAX_MESSAGE_BYTES
from agent_core.oversight.secrets import NO_SECRETS, Secrets
from agent_core.plugins.loaded import one_line
from agent_core.ports.clock import Clock
from agent_core.ports.tool_servers import LocalProgram
from agent_core.providers.process_end import close_pipes

logger = logging.getLogger(__name__)
INHERITED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")  # as the SDK has it
GRACE_SECONDS, POLL_SECONDS = 2.0, 0.02
CHUNK_BYTES, MAX_LOGGED_CHARACTERS, MAX_LOGGED_LINES = 65_536, 500, 200
MAX_LINE_CHARACTERS, MAX_LAST_CHARACTERS = 4_000, 200


@dataclass(slots=True)
class LocalProcess:
    """A running program, with pipes to its standard input, output and error.

    `keys`: the values of its variables, which are hidden in what it prints on standard error.
    `last_printed`: the last line of that, cut, with blanks in the place of what is invisible.
    """

    name: str
    process: asyncio.subprocess.Process
    clock: Clock
    keys: Secrets = NO_SECRETS
    last_printed: str = ""

    @classmethod
    async def start(cls, name: str, program: LocalProgram, clock: Clock) -> "LocalProcess":
        """Start the program; raise OSError or ValueError if that fails."""
        process = await asyncio.create_subprocess_exec(
            program.command,
            *program.args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment(program),
            cwd=program.cwd or None,
            limit=MAX_MESSAGE_BYTES,
            start_new_session=True,
        )
        return cls(name, process, clock, Secrets.of(program.env.values()))

    async def stop(self) -> None:
        """Let it end by itself for two seconds, then end its whole group; nothing of the group is left afterwards."""
        pipe = self.process.stdin
        if pipe:
            pipe.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if await self._ends(GRACE_SECONDS):
                break
            self._signal(number)
        self._signal(signal.SIGKILL)  # children that outlived it
        await self._ends(GRACE_SECONDS)
        close_pipes(self.process)  # a process that left the group may hold them open

    def kill(self) -> None:
        """End the whole group at once."""
        self._signal(signal.SIGKILL)

    async def log_errors(self) -> None:
        """Write what the program prints on standard error to the log, within limits, and discard the rest."""
        reader, left, begun = self.process.stderr, MAX_LOGGED_LINES, ""
        while reader and (chunk := await reader.read(CHUNK_BYTES)):
            *whole, begun = f"{begun}{chunk.decode(errors='replace')}".split("\n")
            begun = begun[:MAX_LINE_CHARACTERS]
            for line in whole[:left]:
                self._keep(line, is_logged=True)
            self._keep(next(filter(str.strip, reversed(whole[left:])), ""), is_logged=False)
            left = max(0, left - len(whole))
        self._keep(begun, is_logged=left > 0)

    def _keep(self, line: str, *, is_logged: bool) -> None:
        said = self.keys.redact(line[:MAX_LINE_CHARACTERS])[:MAX_LOGGED_CHARACTERS]
        self.last_printed = one_line(said, MAX_LAST_CHARACTERS) or self.last_printed
        if is_logged and said:
            logger.debug("a tool server printed", extra={"server": self.name, "line": said})

    async def _ends(self, seconds: float) -> bool:
        return await _until(lambda: self.process.returncode is not None, self.clock, seconds)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)  # its number is the group's, also after it has ended


def environment(program: LocalProgram) -> dict[str, str]:
    """The variables of the program: six of Signoff's own that name no secrets, and those that its entry names."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {**inherited, **program.env}


async def _until(holds: Callable[[], bool], clock: Clock, seconds: float) -> bool:
    """Whether the condition holds within that many seconds."""
    end = clock.elapsed() + seconds
    while not holds():
        if clock.elapsed() >= end:
            return False
        await clock.sleep(POLL_SECONDS)
    return True
