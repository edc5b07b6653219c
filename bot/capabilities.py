"""Opens the features of a process (Signoff's own, plugins, tool servers) and joins their commands and extensions."""

import logging
from collections.abc import Collection, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial

from agent_core.capabilities.agents.capability import FinishCapability, HelperCapability
from agent_core.capabilities.capability import Capability, CommandParts
from agent_core.capabilities.documents.document_reader import DocumentReader
from agent_core.capabilities.documents.html_renderer import IsolatedHtmlRenderer
from agent_core.capabilities.documents.picture_reader import PictureReader
from agent_core.capabilities.documents.worker_confinement import confinement_fault
from agent_core.capabilities.files.capability import FileCapability
from agent_core.capabilities.media.capability import MediaCapability
from agent_core.capabilities.memory.capability import MemoryCapability
from agent_core.capabilities.models.capability import ModelCapability
from agent_core.capabilities.posts.capability import PostCapability, make_publisher
from agent_core.capabilities.programs.capability import ProgramCapability
from agent_core.capabilities.tool_servers.server_commands import CATEGORY as TOOLS
from agent_core.capabilities.web.capability import WebCapability
from agent_core.capabilities.web.pages import load_sites
from agent_core.errors import SettingsError
from agent_core.loop.command_runner import NO_EXTENSIONS, Extensions
from agent_core.oversight.secrets import Secrets
from agent_core.plugins import PluginTools
from agent_core.plugins.plugin_set import CommandFamily, PluginSet
from agent_core.ports.clock import Clock
from agent_core.ports.documents import HtmlRenderer
from agent_core.providers.clock import SystemClock
from agent_core.toolset.channel_tools import is_source_on
from agent_core.toolset.redaction import redact_output
from agent_core.toolset.registry import Command, Commands
from bot.settings import Settings
from bot.wiring.models import demo_model
from bot.wiring.tool_servers import ToolServerSet

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The capabilities of a process: Signoff's own, plugins, and tool servers.

    `web` and `programs` are also in `every`, which is in the order in which prompts list commands.
    """

    settings: Settings
    every: tuple[Capability, ...]
    web: WebCapability
    programs: ProgramCapability
    plugins: PluginSet = field(default_factory=PluginSet)
    servers: ToolServerSet = field(default_factory=ToolServerSet)

    @classmethod
    def of(cls, settings: Settings, plugins: PluginSet | None = None, clock: Clock | None = None) -> "Capabilities":
        """The capabilities as the settings choose them, before they are opened."""
        documents = DocumentReader()
        web = WebCapability.of(settings, documents, public_url=settings.public_url, port=settings.port)
        programs = ProgramCapability.of(
            settings,
            clock or SystemClock(),
            folder=settings.workspace_folder,
            home=settings.home,
            is_shared=not settings.sqlite_file,
        )
        every = (
            FileCapability(documents=documents, readers_fault=confinement_fault),
            web,
            MemoryCapability(settings=settings, documents=documents),
            HelperCapability(),
            ModelCapability.of(settings, demo_model, settings.tokenizers),
            programs,
            MediaCapability.of(settings, PictureReader()),
            PostCapability(publisher=make_publisher(settings)),
            FinishCapability(),
        )
        return cls(settings=settings, every=every, web=web, programs=programs, plugins=plugins or PluginSet())

    async def open(self) -> None:
        for each in self.every:
            await each.open()

    async def close(self) -> None:
        """End running programs and close connections, also if one fails. Plugins are closed where they are loaded."""
        async with AsyncExitStack() as stack:
            for each in self.every:
                stack.push_async_callback(each.close)

    def commands(self, parts: CommandParts) -> Commands:
        """The enabled commands, and the disabled ones with the reason.

        Commands that DISABLED_COMMANDS or DISABLED_CATEGORIES names are left out altogether. Raise SettingsError if
        one of these variables has an unknown name, unless a plugin that is left out may have brought that name.
        """
        every, settings = self.every_command(parts), self.settings
        check = _log_unknown if settings.has_plugins or settings.mcp_servers else _must_be_known
        servers = {each.name for each in settings.mcp_servers.entries} if settings.mcp_servers else set()
        known_now = [name for name in settings.disabled_commands if name.partition(".")[0] not in servers]
        check("DISABLED_COMMANDS", known_now, {each.spec.name for each in every})
        check("DISABLED_CATEGORIES", settings.disabled_categories, {TOOLS, *(each.spec.category for each in every)})
        disabled = {*settings.disabled_commands, *settings.disabled_categories}
        secrets = Secrets.of(settings.secrets)
        asked = (each.approved_by_two(settings.two_people) for each in every)
        kept = (each for each in asked if not disabled & {each.spec.name, each.spec.category})
        return Commands.of(*(redact_output(each, secrets.redact) if secrets.pattern else each for each in kept))

    def every_command(self, parts: CommandParts) -> tuple[Command, ...]:
        """All commands, in the order in which prompts list them: those of Signoff, then those of plugins."""
        sites, is_on = partial(load_sites, parts.database), partial(is_source_on, parts.database)
        own = (CommandFamily(each.name, each.commands(parts)) for each in self.every)
        return self.plugins.commands(PluginTools(load_sites=sites, web=self.web.web, is_on=is_on), own)

    @property
    def extensions(self) -> Extensions:
        """What the plugins add to the loop: nothing without plugins, so that they cost nothing then."""
        plugins = self.plugins
        if not plugins.loaded:
            return NO_EXTENSIONS
        return Extensions(
            hooks=(plugins.thoughts.around_run, plugins.wrap_run) if plugins.thoughts else (plugins.wrap_run,),
            observers=(plugins.observe_turn,),
            guidance=plugins.guidance(),
            list_sources=plugins.list_sources,
            thoughts=plugins.thoughts,
            embedders=plugins.embedders,
        )


def make_renderer() -> HtmlRenderer:
    """What renders agents' files for the local workspace."""
    return IsolatedHtmlRenderer()


def _must_be_known(variable: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise SettingsError(variable, f"{name!r} is none of {', '.join(sorted(known))}.", min(known))


def _log_unknown(variable: str, names: Iterable[str], known: Collection[str]) -> None:
    if unknown := [name for name in names if name not in known]:
        logger.warning("what is switched off is not there", extra={"variable": variable, "names": ", ".join(unknown)})
