"""Plugins and tool servers of a channel: commands, switches, and the prompts that servers offer. Read-only."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent_core.errors import CommandError, InvalidInput, NotFound, NotPossible
from agent_core.model.channel_settings import ToolSwitches
from agent_core.model.command import CommandSpec
from agent_core.model.origin import ChannelScope
from agent_core.ports.database import Database
from agent_core.ports.tool_servers import ListSources, SourcePrompt, ToolSource, no_sources
from agent_core.prompt.tool_choice import MAX_TOOL_TOKENS, tool_tokens
from agent_core.toolset.channel_tools import load_tool_switches
from agent_core.toolset.registry import Commands

MAX_ARGUMENT_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCommand:
    """A command of a source. `is_on`: whether agents of the channel may use it."""

    spec: CommandSpec
    is_on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceInChannel:
    """A source with its commands. `is_on`: False if none of it may be used in the channel."""

    source: ToolSource
    is_on: bool
    commands: tuple[ToolCommand, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsInChannel:
    """All sources, in the order in which they were loaded."""

    sources: tuple[SourceInChannel, ...]
    switches: ToolSwitches

    @property
    def is_chosen_by_fit(self) -> bool:
        """Whether the tools that are on take more of a prompt than they may, so that those are listed that fit best."""
        on = (command.spec for each in self.sources for command in each.commands if command.is_on)
        return tool_tokens(on) > MAX_TOOL_TOKENS

    @property
    def names(self) -> frozenset[str]:
        """What can be switched: the sources and their commands."""
        commands = (command.spec.name for each in self.sources for command in each.commands)
        return frozenset((*(each.source.name for each in self.sources), *commands))

    def is_on(self, name: str) -> bool:
        """Whether the source or the command of this name is on in the channel; False for an unknown one."""
        on = (each.source.name for each in self.sources if each.is_on)
        return name in {
            *on,
            *(command.spec.name for each in self.sources for command in each.commands if command.is_on),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelTools:
    """Reads what a channel can use."""

    database: Database
    commands: Commands
    list_sources: ListSources = no_sources

    async def of_channel(self, channel: ChannelScope) -> ToolsInChannel:
        """The sources as this channel uses them."""
        async with self.database.begin() as work:
            switches = await load_tool_switches(work, channel)
        sources = tuple(self._in_channel(each, switches) for each in self.list_sources())
        return ToolsInChannel(sources=sources, switches=switches)

    async def list_prompts(self, channel: ChannelScope) -> tuple[ToolSource, ...]:
        """The sources that offer prompts now, and are on in this channel."""
        async with self.database.begin() as work:
            switches = await load_tool_switches(work, channel)
        return tuple(each for each in self.list_sources() if each.prompts and switches.is_source_on(each.name))

    async def find_prompt(self, channel: ChannelScope, source: str, name: str) -> SourcePrompt:
        """A prompt that can be used in this channel; raise NotFound, or NotPossible if it has a fault."""
        return (await self._find_prompt(channel, source, name))[1]

    async def read_prompt(self, channel: ChannelScope, source: str, name: str, given: Mapping[str, str]) -> str:
        """The text of a prompt, which is untrusted. Arguments that are empty are left out.

        Raise NotFound, InvalidInput for each argument that is missing or too long, by its number, and NotPossible if
        its source does not give it.
        """
        found, prompt = await self._find_prompt(channel, source, name)
        arguments = checked_arguments(prompt, given)
        try:
            return await found.read_prompt(name, {key: value for key, value in arguments.items() if value})
        except CommandError as refused:
            raise NotPossible(str(refused)) from refused

    async def _find_prompt(self, channel: ChannelScope, source: str, name: str) -> tuple[ToolSource, SourcePrompt]:
        for each in await self.list_prompts(channel):
            for prompt in each.prompts if each.name == source else ():
                if prompt.name == name and prompt.fault:
                    raise NotPossible(f"The prompt {name[:60]} of {source} {prompt.fault}: it cannot be used.")
                if prompt.name == name:
                    return each, prompt
        raise NotFound("prompt", name[:60])

    def _in_channel(self, source: ToolSource, switches: ToolSwitches) -> SourceInChannel:
        known = (self.commands.by_name.get(name) for name in source.commands)
        # Of another source is the command that has the name of one that lost it.
        specs = [each.spec for each in known if each and each.spec.source_name == source.name]
        return SourceInChannel(
            source=source,
            is_on=switches.is_source_on(source.name) or any(map(switches.allows, specs)),
            commands=tuple(ToolCommand(spec=spec, is_on=switches.allows(spec)) for spec in specs),
        )


def checked_arguments(prompt: SourcePrompt, given: Mapping[str, str]) -> dict[str, str]:
    """The prompt's arguments without blanks around them; raise InvalidInput by the number of each, from 0."""
    arguments = {each.name: given.get(each.name, "").strip() for each in prompt.arguments}
    if problems := _argument_problems(prompt, arguments):
        raise InvalidInput(problems)
    return arguments


def _argument_problems(prompt: SourcePrompt, arguments: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with the arguments of a prompt, by the number of each, from 0."""
    problems = {}
    for number, each in enumerate(prompt.arguments):
        if each.is_required and not arguments[each.name]:
            problems[f"{number}"] = "This is needed."
        elif len(arguments[each.name]) > MAX_ARGUMENT_CHARACTERS:
            problems[f"{number}"] = f"At most {MAX_ARGUMENT_CHARACTERS:,} characters."
    return problems
