"""The port of embedders that some agents have in place of the common one, such as those of plugins."""

from collections.abc import Sequence
from typing import Protocol

from agent_core.model.agent import Agent
from agent_core.model.records.memory import Vector


class AgentEmbedders(Protocol):
    """Embedders of agents. Each has a name that no other has and that tells its dimension.

    One that fails is given up until the next start, and its agents have the common embedder again.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """The names of those that have embedded something in this process, and were not given up."""

    async def find_name(self, agent: Agent) -> str:
        """The name of the agent's own embedder, "" if it has none, or none that embedded something in this process."""

    async def embed(self, agent: Agent, texts: Sequence[str]) -> tuple[str, tuple[Vector, ...]] | None:
        """The name of the agent's own embedder and a vector of length 1 for each text; None if it has none (any more).

        Raise MemoryAway if a later try may help.
        """
