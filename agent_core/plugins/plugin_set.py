"""The plugins of a process: joins their commands with Signoff's own, calls their hooks so that faults stay inside."""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial

from agent_core.model.agent import Agent
from agent_core.model.command import CommandCall, Result
from agent_core.model.turn import Turn
from agent_core.plugins.declaring import MAX_COMMANDS, claim_names, listed, taken_commands
from agent_core.plugins.loaded import LoadedPlugin, one_line
from agent_core.plugins.plugin import Plugin, PluginTools, RunOnce
from agent_core.plugins.risk_overrides import RiskOverrides
from agent_core.plugins.thought_hooks import ThoughtHooks
from agent_core.plugins.wrapping import run_inside, tell
from agent_core.ports.models import AgentEmbedders
from agent_core.ports.tool_servers import ToolSource
from agent_core.toolset.registry import Command, CommandContext

PLUGIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}", re.ASCII)
MAX_GUIDANCE_CHARACTERS, MAX_GUIDANCE_LINES = 300, 5
OBSERVE_SECONDS = 5.0


class CommandFamily(Plugin):
    """Commands of Signoff itself, registered as those of any other plugin, and before them."""

    def __init__(self, name: str, commands: Iterable[Command]) -> None:
        self.name, self.family = name, tuple(commands)

    def commands(self, tools: PluginTools) -> Sequence[Command]:
        """The family."""
        return self.family


@dataclass(slots=True)
class PluginSet:
    """The plugins of a process. `faults`: what could not be loaded, a line each.

    `observe_seconds`: how long a plugin may take to observe a turn.
    `thoughts`: hooks of the think step; None if no plugin has any.
    `embedders`: what embeds texts of agents in place of the common embedder; None if no plugin does.
    `closers`: what ends processes of plugins.
    `unmatched`: names in the operator's lists that no plugin has, by the variable of the list.
    `overrides`: the risk classes that the operator gives their commands.
    """

    loaded: list[LoadedPlugin] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    observe_seconds: float = OBSERVE_SECONDS
    thoughts: ThoughtHooks | None = None
    embedders: AgentEmbedders | None = None
    closers: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    unmatched: dict[str, tuple[str, ...]] = field(default_factory=dict)
    overrides: RiskOverrides = field(default_factory=RiskOverrides)

    @property
    def working(self) -> list[LoadedPlugin]:
        return [each for each in self.loaded if not each.fault]

    def commands(self, tools: PluginTools, families: Iterable[CommandFamily] = ()) -> tuple[Command, ...]:
        """All commands, those of Signoff first: a name that is taken stays with its first owner."""
        taken: dict[str, str] = {}
        own: list[Command] = []
        for family in families:
            loaded = LoadedPlugin(name=family.name, version="", source="Signoff", plugin=family)
            own += [each for each in family.commands(tools) if claim_names(loaded, each.spec, taken)]
        for each in self.working:
            offered = listed(each, "commands", partial(each.plugin.commands, tools), MAX_COMMANDS)
            found = taken_commands(each, offered, taken)
            each.commands = tuple(self.overrides.apply(each, command) for command in found)
        return (*own, *(command for each in self.loaded for command in each.commands))

    def list_sources(self) -> tuple[ToolSource, ...]:
        """The plugins for people, also those that were put aside; a plugin without commands too."""
        return tuple(each.as_source() for each in self.loaded)

    def guidance(self) -> tuple[str, ...]:
        """The lines that plugins add to every standing prompt, each on one line and bounded."""
        lines = []
        for each in self.working:
            for text in listed(each, "lines", partial(_guidance_of, each.plugin), MAX_GUIDANCE_LINES):
                if isinstance(text, str):
                    lines.append(one_line(text, MAX_GUIDANCE_CHARACTERS))
                else:
                    each.remarks.append(f"a line is left out: it is {type(text).__name__}, and no text")
        return tuple(filter(None, lines))

    async def close(self) -> None:
        """End the processes of plugins."""
        async with AsyncExitStack() as stack:
            for close in self.closers:
                stack.push_async_callback(close)

    async def wrap_run(
        self,
        call: CommandCall,
        context: CommandContext,
        following: Callable[[CommandCall, CommandContext], Awaitable[Result]],
    ) -> Result:
        """Run the command inside all wrappers; the first plugin is the outermost. A hook of `CommandRunner`."""
        run: RunOnce = partial(following, call, context)
        for each in reversed(self.working):
            if type(each.plugin).wrap_run is not Plugin.wrap_run:
                run = partial(run_inside, each, call, context, run)
        return await run()

    async def observe_turn(self, agent: Agent, turn: Turn) -> None:
        """Tell every plugin of a turn whose result the loop saved."""
        for each in self.working:
            if type(each.plugin).observe_turn is not Plugin.observe_turn:
                await tell(each, agent, turn, self.observe_seconds)


def is_plugin_name(name: object) -> bool:
    """Whether people can read the name in a list, a card and the decision log."""
    return isinstance(name, str) and PLUGIN_NAME.fullmatch(name) is not None


def _guidance_of(plugin: Plugin) -> Sequence[str]:
    given = plugin.guidance()
    return (given,) if isinstance(given, str) else given
