"""The port of the sandbox: runs programs in an agent's workspace, isolated, in the foreground and background."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from agent_core.model.agent import Agent
from agent_core.model.files import Background, ProgramRun
from agent_core.model.ids import AgentId

NOTHING_SEALED: Mapping[str, bytes] = MappingProxyType({})


class Sandbox(Protocol):
    """Runs programs in an agent's workspace, mounted as `/workspace`, with `python3`, `/bin/sh` and no network.

    A failed program is reported in the result, not by an exception. Limits on time, memory, processes and output always
    apply. A program that makes the workspace exceed its limits is killed, and its newest data there is deleted.
    """

    async def self_test(self) -> str:
        """Try to escape from the sandbox. Return "" if every attempt fails, else what succeeded or what is missing."""

    async def run(
        self,
        argv: Sequence[str],
        agent: Agent,
        *,
        seconds: float,
        report: Callable[[str], None],
        sealed: Mapping[str, bytes] = NOTHING_SEALED,
    ) -> ProgramRun:
        """Run a program to its end, then kill the processes that it left running.

        `seconds` is the timeout. `report` is called periodically with the newest output. `sealed`: files by relative
        path, which the program can read below `/sealed`. Raise CommandError if the program cannot be started. If this
        call is cancelled, it kills the process tree before it returns.
        """

    async def start(self, argv: Sequence[str], agent: Agent) -> Background:
        """Start a background program and return its first output.

        Raise CommandError if the agent runs too many programs already.
        """

    async def list_background(self, agent: Agent) -> tuple[Background, ...]:
        """The agent's background programs, oldest first: all running ones and the last few that ended."""

    def list_with_programs(self) -> tuple[AgentId, ...]:
        """The agents that have running background programs."""

    async def end(self, agent: Agent, key: str) -> Background:
        """Kill a background program with its process tree; raise CommandError if the key is unknown."""

    async def end_all(self, agent_id: AgentId) -> None:
        """Kill all background programs of the agent."""

    async def close(self) -> None:
        """Kill all background programs of all agents."""
