"""A real sandbox with small limits, and a look from outside at what runs in it."""

import asyncio
import json
import sys
import textwrap
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from agent_core.capabilities.files.folder_workspace import FolderFiles, FolderWorkspaces
from agent_core.capabilities.files.workspace_paths import Limits
from agent_core.capabilities.programs.process_sandbox import ProcessSandbox, bubblewrap_sandbox
from agent_core.model.agent import Agent
from agent_core.model.files import ProgramRun
from agent_core.model.ids import AgentId
from agent_core.providers.clock import SystemClock
from agent_core.providers.confinement.limits import LIMITS, ProgramLimits
from agent_core.testing.examples import an_agent
from tests.packages import SANDBOX, need
from tests.patience import PATIENCE_SECONDS

ROOT_OF_PROJECT = Path(__file__).parents[2]
LONG = PATIENCE_SECONDS
FEW = ProgramLimits(
    memory_bytes=300_000_000,
    processor_seconds=2,
    processes=24,
    scratch_bytes=4_000_000,
    scratch_files=200,
    output_bytes=200_000,
)
SMALL = Limits(file_bytes=200_000, workspace_bytes=2_000_000, files=100)
# What a program tries is a function, whose result or error is printed.
TRYING = """
import ctypes, fcntl, os, resource, signal, socket, stat, struct, sys, time
given = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
def called(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "done"
def attempt():
{code}
try:
    print(attempt())
except OSError as error:
    print(error.strerror)
except (MemoryError, ValueError) as error:
    print(str(error) or type(error).__name__)
"""


def real_sandbox(
    data: Path, workspaces: FolderWorkspaces | None = None, limits: ProgramLimits = LIMITS
) -> ProcessSandbox:
    """Bubblewrap's, for a bot with this data folder; raise NotInstalled."""
    need(*SANDBOX)
    return possible_sandbox(data, workspaces, limits)


def possible_sandbox(
    data: Path, workspaces: FolderWorkspaces | None = None, limits: ProgramLimits = LIMITS
) -> ProcessSandbox:
    """The same on a machine where it may not work."""
    return bubblewrap_sandbox(workspaces or FolderWorkspaces(data / "workspaces"), SystemClock(), data, limits)


@dataclass(frozen=True, slots=True)
class Cell:
    """A sandbox, and where its bot keeps what nobody may see."""

    data: Path
    sandbox: ProcessSandbox
    agent: Agent

    @classmethod
    def at(cls, data: Path, limits: ProgramLimits = FEW, most: Limits = SMALL) -> "Cell":
        """One whose bot has a database in this folder."""
        workspaces = FolderWorkspaces(data / "workspaces", most)
        (data / "signoff.db").write_text("the bot's database")
        # An agent of its own for each test: as root, all programs of one agent count against one limit of processes.
        agent = an_agent(id=AgentId(sha256(str(data).encode()).hexdigest()))
        return cls(data, real_sandbox(data, workspaces, limits), agent)

    @property
    def files(self) -> FolderFiles:
        """The agent's workspace as the bot sees it."""
        return self.sandbox.workspaces.of(self.agent)

    @property
    def token(self) -> str:
        """A word that only this test's programs are given, so that they can be found from outside."""
        return f"token-{self.data}"

    async def attempt(self, code: str, **given: object) -> ProgramRun:
        """Run the body of a function in Python, with these values as `given`."""
        source = "import json" + TRYING.format(code=textwrap.indent(textwrap.dedent(code).strip(), "    "))
        line = ("python3", "-I", "-c", source, json.dumps(given), str(given.get("token", "")))
        return await self.sandbox.run(line, self.agent, seconds=LONG)


def alive(token: str) -> list[int]:
    """Processes anywhere on this machine that were given this word."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if token.encode() in words and not words[0].endswith(b"bwrap"):
                    found.append(int(folder.name))
    return found


async def live(data: Path, token: str) -> None:
    """Be a bot that has left a program running, until somebody kills it."""
    cell = Cell.at(data)
    line = "trap '' TERM; echo it runs; while true; do sleep 1; done"
    await cell.sandbox.start(("/bin/sh", "-c", line, token), cell.agent)
    sys.stdout.write("it runs\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(live(Path(sys.argv[1]), sys.argv[2]))
