"""The base class of plugins: what one may add (commands, guidance, a wrapper, an observer), and the tools for it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agent_core.errors import CommandError
from agent_core.model.agent import Agent
from agent_core.model.channel_settings import Sites
from agent_core.model.command import CommandCall, Result
from agent_core.model.turn import Turn
from agent_core.ports.web import FetchedContent, Web
from agent_core.toolset.registry import Command, CommandContext

MAX_FETCHED_BYTES = 5_000_000

RunOnce: TypeAlias = Callable[[], Awaitable[Result]]
LoadSites: TypeAlias = Callable[[CommandContext], Awaitable[Sites]]
IsOn: TypeAlias = Callable[[str, CommandContext], Awaitable[bool]]


async def on_everywhere(_name: str, _context: CommandContext) -> bool:
    """Whether a plugin is on, where channels switch nothing off."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginTools:
    """What the commands of a plugin may use besides the context that each call brings.

    `load_sites`: loads which sites the agents of a channel may reach.
    `is_on`: whether the agent's channel has a plugin on, by its name and those of its commands.
    None in place of `web`: this host reaches nothing outside.
    """

    load_sites: LoadSites
    web: Web | None = None
    is_on: IsOn = on_everywhere

    async def fetch(self, url: str, context: CommandContext, most: int = MAX_FETCHED_BYTES) -> FetchedContent:
        """Get a URL through the egress gateway, within the sites that the agent's channel allows.

        Raise CommandError with a sentence for the model if it is refused, fails, or has more than `most` bytes.
        """
        if self.web is None:
            raise CommandError("Nothing outside can be reached here.")
        return await self.web.fetch(url, await self.load_sites(context), most)

    async def host_of(self, url: str, context: CommandContext) -> str:
        """The host of a URL as people are shown it in a preview; raise CommandError if it is refused."""
        if self.web is None:
            raise CommandError("Nothing outside can be reached here.")
        return self.web.host_of(url, await self.load_sites(context))


class Plugin:
    """A plugin declares what it adds; it is never given the agents, the database or the settings.

    Override what you need. A plugin is made once in a process, and serves every channel: keep nothing of one channel
    where another one's agents could read it. What raises is reported once, and the plugin is put aside until the next
    start; agents go on without it.
    """

    name: str = ""
    """What people read: letters, digits, `_`, `.` and `-`, at most 40. Without one, the name of its module."""

    version: str = ""
    """What the decision log names beside the plugin, one line of 60 characters. Without one, the version of the
    package's distribution, or the hash of its file."""

    def commands(self, tools: PluginTools) -> Sequence[Command]:
        """The commands that it adds, made by `declare`. A name that is taken already stays with its first owner."""
        return ()

    def guidance(self) -> Sequence[str]:
        """Lines for the standing prompt of every agent, at most five of 300 characters, taken once at the start."""
        return ()

    async def wrap_run(self, call: CommandCall, context: CommandContext, run: RunOnce) -> Result:
        """Stand around the run of a command that was approved, whoever added it.

        `run` runs it, once, and only until this method ends; without that it does not run, and what is returned,
        Succeeded or Failed, stands for it. The call itself cannot be changed: what people were shown is what runs. What
        the run returned from outside stays untrusted content.
        """
        return await run()

    async def observe_turn(self, agent: Agent, turn: Turn) -> None:
        """Learn of a turn whose result the loop saved. Nobody waits for longer than five seconds for the answer."""
