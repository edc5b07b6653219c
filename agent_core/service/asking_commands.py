"""Tells surfaces which commands ask each time. Surfaces exist before the core, whose services they are given later."""

from dataclasses import dataclass

from agent_core.model.channels import ChannelScope
from agent_core.model.command import CommandSpec
from agent_core.service.channel_tools import ChannelTools


@dataclass(slots=True)
class AskingCommands:
    """What a lease does not cover though it covers the class. `tools`: None until the core is assembled."""

    tools: ChannelTools | None = None

    async def of_channel(self, channel: ChannelScope) -> tuple[CommandSpec, ...]:
        """The commands that are on in a channel and ask each time; none before the core is assembled."""
        return await self.tools.list_asking_in(channel) if self.tools else ()
