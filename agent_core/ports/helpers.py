"""How an agent has other agents help it."""

from typing import Protocol

from agent_core.model.agent import Agent


class Helpers(Protocol):
    """The agents that an agent started. Each is found by its id, its name, or its number in their order.

    A helper works in the thread, the channel and the folder of the agent that people made, with the same approvers, and
    spends from the same budget. Whatever it proposes is asked: no class is free for it. Every fault is a CommandError.
    """

    async def start(self, agent: Agent, name: str, task: str, prompt: str) -> Agent:
        """Make a helper and let it work; a name that is taken gets a number. Depth and number are limited."""
        ...

    async def message(self, agent: Agent, key: str, text: str) -> Agent:
        """Write to a helper; one that is done goes on, one that people stopped does not."""
        ...

    async def of(self, agent: Agent) -> tuple[Agent, ...]:
        """Those the agent started, oldest first."""
        ...

    async def delete(self, agent: Agent, key: str) -> Agent:
        """Remove a helper, and those that it started, with their history and memory."""
        ...
