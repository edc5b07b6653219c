"""The port of helpers (sub-agents): start one, message it, list them, delete one."""

from typing import Protocol

from agent_core.model.agent import Agent


class Helpers(Protocol):
    """The sub-agents of an agent. `key` is a helper's id, its name, or its number in order of creation.

    A helper shares thread, channel, workspace folder, approvers and budget with the root agent. Every command of a
    helper needs approval. Methods raise only CommandError.
    """

    async def start(self, agent: Agent, name: str, task: str, prompt: str) -> Agent:
        """Create and start a helper. A name in use gets a number added. Depth and number of helpers are limited."""

    async def message(self, agent: Agent, key: str, text: str) -> Agent:
        """Send a message to a helper; a finished helper resumes, a stopped one does not."""

    async def of(self, agent: Agent) -> tuple[Agent, ...]:
        """The helpers that the agent started, oldest first."""

    async def delete(self, agent: Agent, key: str) -> Agent:
        """Delete a helper and its own helpers, with their history and memory."""
