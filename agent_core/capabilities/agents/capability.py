"""Two features that only offer commands: on past turns and helpers, and for the end of the work."""

from collections.abc import Iterable

from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.agents.history import HistoryCommands
from agent_core.capabilities.capability import Capability, CommandParts
from agent_core.toolset.registry import Command


class HelperCapability(Capability):
    """Agents look up past turns, and start and manage helpers."""

    name = "agents"

    def commands(self, parts: CommandParts) -> Iterable[Command]:
        return *HistoryCommands(parts.database).commands, *AgentCommands(parts.helpers).commands


class FinishCapability(Capability):
    """Agents say that their work is done."""

    name = "finish"

    def commands(self, parts: CommandParts) -> Iterable[Command]:
        return FINISH_COMMANDS
