"""The feature of functions: agents put questions on code and texts to their model."""

from collections.abc import Iterable

from agent_core.capabilities.capability import Capability, CommandParts
from agent_core.capabilities.models.commands import FunctionCommands
from agent_core.toolset.registry import Command


class FunctionCapability(Capability):
    """Commands that ask the model."""

    name = "functions"

    def commands(self, parts: CommandParts) -> Iterable[Command]:
        return FunctionCommands(parts.metered_model).commands
