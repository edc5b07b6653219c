"""The class that plugins derive from: a closed set of contributions, each of them empty unless it is overridden."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agent_core.commands.pages import load_sites
from agent_core.commands.registry import Command, CommandContext
from agent_core.errors import CommandError
from agent_core.model.agent import Agent
from agent_core.model.command import CommandCall
from agent_core.model.result import Result
from agent_core.model.turn import Turn
from agent_core.ports.database import Database
from agent_core.ports.web import FetchedContent, Web

MAX_FETCHED_BYTES = 5_000_000

RunOnce: TypeAlias = Callable[[], Awaitable[Result]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginTools:
    """What the commands of a plugin may use besides the context that each call brings.

    None in place of `web`: this host reaches nothing outside.
    """

    database: Database
    web: Web | None = None

    async def fetch(self, url: str, context: CommandContext, most: int = MAX_FETCHED_BYTES) -> FetchedContent:
        """Get a URL through the egress gateway, within the sites that the agent's channel allows.

        Raise CommandError with a sentence for the model if it is refused, fails, or has more than `most` bytes.
        """
        if self.web is None:
            raise CommandError("Nothing outside can be reached here.")
        return await self.web.fetch(url, await load_sites(self.database, context), most)

    async def host_of(self, url: str, context: CommandContext) -> str:
        """The host of a URL as people are shown it in a preview; raise CommandError if it is refused."""
        if self.web is None:
            raise CommandError("Nothing outside can be reached here.")
        return self.web.host_of(url, await load_sites(self.database, context))


class Plugin:
    """A plugin declares what it adds; it is never given the agents, the database or the settings.

    Override what you need. A plugin is made once in a process, and serves every channel: keep nothing of one channel
    where another one's agents could read it. What raises is reported once, and the plugin is put aside until the next
    start; agents go on without it.
    """

    name: str = ""
    """What people read: letters, digits, `_`, `.` and `-`, at most 40. Without one, the name of its module."""

    version: str = ""
    """What the decision log names beside the plugin. Without one, the package's version or the file's hash."""

    def commands(self, tools: PluginTools) -> Sequence[Command]:
        """The commands that it adds, made by `declare`. A name that is taken already stays with its first owner."""
        return ()

    def guidance(self) -> Sequence[str]:
        """Lines for the standing prompt of every agent, at most five of 300 characters, taken once at the start."""
        return ()

    async def wrap_run(self, call: CommandCall, context: CommandContext, run: RunOnce) -> Result:
        """Stand around the run of a command that was approved, whoever added it.

        `run` runs it, once; without that it does not run, and the result that is returned stands for it. The call
        itself cannot be changed: what people were shown is what runs.
        """
        return await run()

    async def observe_turn(self, agent: Agent, turn: Turn) -> None:
        """Learn of a turn whose result is saved. Nobody waits for longer than five seconds for the answer."""
