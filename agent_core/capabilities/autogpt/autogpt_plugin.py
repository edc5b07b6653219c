"""A plugin of AutoGPT as one of Signoff's: workers run its commands and hooks; a hook that fails is left out."""

import asyncio
import builtins
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from agent_core.capabilities.autogpt.declared import AddedCommand, PluginAdditions
from agent_core.capabilities.autogpt.discovery import FoundPlugin
from agent_core.capabilities.autogpt.worker import PluginRaised, WorkerEnded
from agent_core.capabilities.autogpt.worker_pool import WorkerPool
from agent_core.errors import CommandError, DatabaseAway
from agent_core.model.command import Arguments
from agent_core.oversight.secrets import NO_SECRETS, Secrets
from agent_core.plugins.loaded import LoadedPlugin, one_line
from agent_core.plugins.plugin import IsOn, Plugin, PluginTools, on_everywhere
from agent_core.toolset.registry import Command, CommandContext, CommandOutput

logger = logging.getLogger(__name__)
LOOK_AFTER = "Look whether {name} took effect before it is run again."
NO_RESULT = "It gave no result."


@dataclass(slots=True, kw_only=True, eq=False)
class AutoGptPlugin(Plugin):
    """A plugin whose code runs in workers. `lost`: the hooks that are left out, as they failed."""

    found: FoundPlugin
    additions: PluginAdditions
    pool: WorkerPool
    secrets: Secrets = NO_SECRETS
    loaded: LoadedPlugin | None = None
    lost: set[str] = field(default_factory=set)
    is_on: IsOn = on_everywhere

    def commands(self, tools: PluginTools) -> Sequence[Command]:
        """The commands that its post_prompt added; variables of plugins are replaced in what is shown of them."""
        self.pool.load_sites, self.is_on = tools.load_sites, tools.is_on
        return [self._shown(each).as_command(partial(self._run, each)) for each in self.additions.commands]

    def guidance(self) -> Sequence[str]:
        """The constraints, resources and evaluations that it added."""
        return [self.secrets.redact(each) for each in self.additions.guidance]

    @property
    def has_hooks(self) -> bool:
        return bool(self.additions.hooks) or self.additions.answers or self.additions.embeds

    def has(self, hook: str) -> bool:
        """Whether the plugin handles the hook, and did not fail in it."""
        decided = {"chat_completion": self.additions.answers, "text_embedding": self.additions.embeds}
        return decided.get(hook, hook in self.additions.hooks) and hook not in self.lost

    async def hook(self, hook: str, given: Sequence[object], context: CommandContext) -> Any:
        """What the plugin's hook gave; None in a channel that has the plugin off, and if it failed.

        A hook that failed is left out from now on; one is not called while database or files are away.
        """
        try:
            value = await self.ask_hook(hook, given, context)
        except (CommandError, DatabaseAway, OSError):
            return None
        return await asyncio.to_thread(self._redacted, value)

    async def ask_hook(self, hook: str, given: Sequence[object], context: CommandContext) -> Any:
        """As `hook`, but raise CommandError, DatabaseAway or OSError while the plugin is away; nothing is redacted."""
        try:
            if not await self.is_on(self.found.kind.name, context):
                return None
            answer = await self.pool.ask(self.found, {"do": "hook", "hook": hook, "given": list(given)}, context)
        except (PluginRaised, WorkerEnded) as fault:
            self.leave_out(hook, fault)
            return None
        return answer.get("value")

    async def _run(
        self, added: AddedCommand, shown: AddedCommand, arguments: Arguments, context: CommandContext
    ) -> CommandOutput:
        request = {"do": "command", "label": added.label, "name": added.name, "arguments": dict(arguments)}
        try:
            answer = await self.pool.ask(self.found, request, context)
        except PluginRaised as fault:
            raise CommandError(f"Error: {self.secrets.redact(str(fault))}") from None
        except WorkerEnded as fault:
            raise CommandError(f"{self.secrets.redact(str(fault))} {LOOK_AFTER.format(name=shown.own_name)}") from None
        text = answer.get("text")
        return CommandOutput(text=self.secrets.redact(text) if isinstance(text, str) and text else NO_RESULT)

    def _shown(self, added: AddedCommand) -> AddedCommand:
        redact = self.secrets.redact
        hints = {redact(name): redact(hint) for name, hint in added.hints.items()}
        return AddedCommand(label=redact(added.label), name=redact(added.name), hints=hints)

    def leave_out(self, hook: str, fault: CommandError) -> None:
        """Do not call this hook again before the next start; said once in the log, and on the page of tools."""
        if hook in self.lost:
            return
        self.lost.add(hook)
        why = one_line(self.secrets.redact(str(fault)), 200)
        logger.error("a plugin's hook is left out", extra={"plugin": self.found.title, "hook": hook, "why": why})
        if self.loaded:
            self.loaded.remarks.append(f"{hook} is left out: {_kind_of(fault)}")

    def _redacted(self, value: Any) -> Any:
        match value:
            case str():
                return self.secrets.redact(value)
            case list():
                return [self._redacted(each) for each in value]
            case dict():
                return {name: self._redacted(each) for name, each in value.items()}
            case _:
                return value


def _kind_of(fault: CommandError) -> str:
    """What may be shown in every channel: no word of the plugin, which may hold what one channel said."""
    if not isinstance(fault, PluginRaised):
        return one_line(str(fault), 200)
    kind = str(fault).partition(":")[0]
    return f"it raised {kind if isinstance(getattr(builtins, kind, None), type) else 'an error'} (the log has its text)"
