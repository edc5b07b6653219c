"""The sandbox in which programs of agents run, isolated from the bot's process, user, network and files."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from agent_core.model.agent import Agent
from agent_core.model.files import Background, ProgramRun
from agent_core.model.ids import AgentId

NOTHING_SEALED: Mapping[str, bytes] = MappingProxyType({})


class Sandbox(Protocol):
    """Runs programs in an agent's workspace, mounted as `/workspace`, with `python3`, `/bin/sh` and no network.

    A program's failure is a value, not an exception. Limits on time, memory, processes and output always apply. A
    program that exceeds a limit of `Files` in the workspace is killed, and its newest files are deleted.
    """

    async def self_test(self) -> str:
        """Try to escape; return "" if all attempts fail, else what succeeded or what is missing."""

    async def run(
        self,
        argv: Sequence[str],
        agent: Agent,
        *,
        seconds: float,
        report: Callable[[str], None],
        sealed: Mapping[str, bytes] = NOTHING_SEALED,
    ) -> ProgramRun:
        """Run a program to its end. `report` gets the newest output periodically.

        `sealed` are files by relative path, read-only below `/sealed`. Processes that the program left running are
        killed. `seconds` is the timeout. Raise CommandError if the program cannot be started. Cancellation kills the
        process tree before it returns.
        """

    async def start(self, argv: Sequence[str], agent: Agent) -> Background:
        """Start a background program and return its first output.

        Raise CommandError if the agent runs too many programs already.
        """

    async def list_background(self, agent: Agent) -> tuple[Background, ...]:
        """The agent's background programs, oldest first: all running ones and the last few that ended."""

    async def end(self, agent: Agent, key: str) -> Background:
        """Kill a background program with its process tree; raise CommandError if the key is unknown."""

    async def end_all(self, agent_id: AgentId) -> None:
        """Kill all programs of the agent."""

    async def close(self) -> None:
        """Kill all programs."""
