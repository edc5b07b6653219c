"""Which commands the agents of a channel may use, by its switches and its policy; checked at each use."""

from dataclasses import replace
from functools import partial

from agent_core.errors import CommandError
from agent_core.model.channel_settings import NO_TOOLS_KEY, TOOLS_KEY, ToolSwitches, parse_tool_switches
from agent_core.model.command import CommandSpec
from agent_core.model.origin import ChannelScope, whole_workspace
from agent_core.oversight.policy import denied_classes, never_text
from agent_core.ports.database import Database, UnitOfWork
from agent_core.toolset.registry import CommandContext, Commands


async def load_tool_switches(work: UnitOfWork, channel: ChannelScope) -> ToolSwitches:
    """The switches of the channel, in a workspace where the operator may keep tools off."""
    switches = parse_tool_switches(await work.preferences.get(channel, TOOLS_KEY))
    workspace = whole_workspace(channel.surface, channel.workspace)
    return replace(switches, are_denied=bool(await work.preferences.get(workspace, NO_TOOLS_KEY)))


def switched_by_channel(commands: Commands, database: Database) -> Commands:
    """The registry, which from now on asks the channel's switches at each use."""
    commands.check_use = partial(require_switched_on, database)
    return commands


async def is_source_on(database: Database, name: str, context: CommandContext) -> bool:
    """Whether the agent's channel has a tool source on. If it has only single commands on, the source is off."""
    async with database.begin() as work:
        return (await load_tool_switches(work, context.agent.channel)).is_source_on(name)


async def require_switched_on(database: Database, spec: CommandSpec, context: CommandContext) -> None:
    """Raise CommandError if the channel's policy denies a class of the command, or its switches turn a tool off."""
    if denied := denied_classes(context.agent, spec):
        raise CommandError(never_text(spec.name, denied))
    if not spec.source:
        return
    async with database.begin() as work:
        switches = await load_tool_switches(work, context.agent.channel)
    if refusal := switches.refusal(spec):
        raise CommandError(refusal)
