"""Where programs of agents run: apart from the bot's own process, user, network and files."""

from collections.abc import Callable, Sequence
from typing import Protocol

from agent_core.model.agent import Agent
from agent_core.model.files import Background, ProgramRun
from agent_core.model.ids import AgentId


class Sandbox(Protocol):
    """Runs programs in an agent's workspace, which they see as `/workspace`, and nothing else of the machine.

    A program's own failure is a value. Limits always apply, and nothing ever runs unconfined. What a program leaves
    in the workspace obeys the limits of `Files`.
    """

    async def self_test(self) -> str:
        """Try to break out; "" when nothing got through, else a sentence that says what did, or what is missing."""
        ...

    async def run(
        self, argv: Sequence[str], agent: Agent, *, seconds: float, report: Callable[[str], None]
    ) -> ProgramRun:
        """Run a program to its end; `report` is given the newest output now and then, while it runs.

        Raise CommandError when it cannot be started. Cancelling ends the whole process tree before it returns.
        """
        ...

    async def start(self, argv: Sequence[str], agent: Agent) -> Background:
        """Start a program that goes on by itself; raise CommandError when the agent runs too many already."""
        ...

    async def background(self, agent: Agent) -> tuple[Background, ...]:
        """What the agent started, oldest first: those that run, and those that ended since it was last told of them."""
        ...

    async def end(self, agent: Agent, key: str) -> Background:
        """End one whole process tree; raise CommandError when the agent has none by that key."""
        ...

    async def end_all(self, agent_id: AgentId) -> None:
        """End whatever the agent runs, and forget it."""
        ...
