"""Where programs of agents run: apart from the bot's own process, user, network and files."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from agent_core.model.agent import Agent
from agent_core.model.files import Background, ProgramRun
from agent_core.model.ids import AgentId

NOTHING_SEALED: Mapping[str, bytes] = MappingProxyType({})


class Sandbox(Protocol):
    """Runs programs in an agent's workspace, which they see as `/workspace`, and nothing else of the machine.

    A program's own failure is a value. Limits always apply, and nothing ever runs unconfined. What a program leaves
    in the workspace obeys the limits of `Files`: one that goes beyond is ended, and its newest files are deleted.
    `python3` and `/bin/sh` are there, and no network.
    """

    async def self_test(self) -> str:
        """Try to break out; "" when nothing got through, else a sentence that says what did, or what is missing."""
        ...

    async def run(
        self,
        argv: Sequence[str],
        agent: Agent,
        *,
        seconds: float,
        report: Callable[[str], None],
        sealed: Mapping[str, bytes] = NOTHING_SEALED,
    ) -> ProgramRun:
        """Run a program to its end; `report` is given the newest output now and then, while it runs.

        `sealed` are files by relative paths, which the program sees below `/sealed`: it can read and nobody can change
        them. Whatever it left running is ended with it. Raise CommandError when it cannot be started. Cancelling ends
        the whole process tree before it returns.
        """
        ...

    async def start(self, argv: Sequence[str], agent: Agent) -> Background:
        """Start a program that goes on by itself, and give what it said at once.

        Raise CommandError when the agent runs too many already.
        """
        ...

    async def list_background(self, agent: Agent) -> tuple[Background, ...]:
        """What the agent started, oldest first: all that run, and the last few that ended by themselves."""
        ...

    async def end(self, agent: Agent, key: str) -> Background:
        """End one whole process tree and forget it; raise CommandError when the agent has none by that key."""
        ...

    async def end_all(self, agent_id: AgentId) -> None:
        """End whatever the agent runs, and forget it."""
        ...

    async def close(self) -> None:
        """End whatever anybody runs."""
        ...
