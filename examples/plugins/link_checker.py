"""A plugin that reaches the network: through the egress gateway, so within the sites that the channel allows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pydantic import BaseModel, Field

from agent_core.model.command import Preview
from agent_core.plugins import Plugin, PluginTools
from agent_core.toolset.registry import Command, CommandContext, declare


class Address(BaseModel):
    """What the model fills in."""

    url: str = Field(description="address of the page", min_length=1, max_length=2000)


@dataclass(frozen=True, slots=True)
class LinkCommands:
    """The plugin's command with what it may use."""

    tools: PluginTools

    async def check_link(self, given: Address, context: CommandContext) -> str:
        """Look whether a page is there, without reading it."""
        found = await self.tools.fetch(given.url, context)
        return f"{found.url} is there: {len(found.data):,} bytes, {found.kind or 'of no known kind'}."

    async def preview(self, given: Address, context: CommandContext) -> Preview:
        """The host that would be asked."""
        return Preview(title=f"{await self.tools.host_of(given.url, context)} · is asked for this page", body="")


class LinkChecker(Plugin):
    """Adds check_link, and says when it is of use."""

    version = "1.0"

    def commands(self, tools: PluginTools) -> tuple[Command, ...]:
        """The one command. What a server answers is untrusted content."""
        links = LinkCommands(tools)
        check = partial(declare, label="Check link", risks=("network",), category="web", outside=True)
        return (check(Address, links.check_link, links.preview),)

    def guidance(self) -> Sequence[str]:
        """A line for the standing prompt."""
        return ("Check a link with check_link before you put it into a report.",)
