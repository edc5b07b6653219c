"""All commands of agents, and which of them are enabled by the settings and the machine."""

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial

from agent_core.assembly import CommandParts
from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.agents.history import HistoryCommands
from agent_core.capabilities.files.commands import FileCommands
from agent_core.capabilities.media.commands import MediaCommands
from agent_core.capabilities.media.vision import VisionCommands
from agent_core.capabilities.memory.commands import MemoryCommands
from agent_core.capabilities.models.commands import FunctionCommands
from agent_core.capabilities.posts.commands import PublishCommands
from agent_core.capabilities.programs.commands import ProgramCommands
from agent_core.capabilities.tool_servers.servers import CATEGORY as TOOLS
from agent_core.capabilities.web.downloads import DownloadCommands
from agent_core.capabilities.web.pages import PageCommands, load_sites
from agent_core.capabilities.web.search import WebSearchCommands
from agent_core.errors import SettingsError
from agent_core.oversight.secrets import Secrets
from agent_core.plugins import PluginTools
from agent_core.plugins.registration import CommandFamily
from agent_core.ports.search import Search
from agent_core.toolset.channel_tools import is_source_on
from agent_core.toolset.redaction import redact_output
from agent_core.toolset.registry import Command, Commands
from bot.settings import Settings
from bot.tool_wiring import X_VARIABLES, Tools

logger = logging.getLogger(__name__)
NO_DOWNLOADS = "the operator allows no downloads here (ALLOW_DOWNLOADS)."
NO_SEARCH = (
    "no search service is set. BRAVE_API_KEY, TAVILY_API_KEY or SEARXNG_URL would bring one; without an account, "
    "ALLOW_SEARCH_SCRAPING lets public search engines be asked."
)
NO_IMAGES = "no image model is set. OPENAI_API_KEY, SD_WEBUI_URL or HUGGINGFACE_API_TOKEN would bring one."
NO_TRANSCRIBER = "no model for sounds is set. OPENAI_API_KEY or HUGGINGFACE_API_TOKEN would bring one."
NO_VOICE = "no voice is set. SPEECH_MODEL would bring one."
NO_VISION = "the agent's model takes no pictures, as far as is known. VISION=on says that it does."
NO_ENDPOINT = "only a model at an endpoint can take pictures. OPENAI_API_KEY or ANTHROPIC_API_KEY would bring one."
VISION_OFF = "the operator lets no model see pictures here (VISION)."
NO_PUBLISHER = f"{X_VARIABLES} are not set."


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCatalog:
    """Builds the commands that the settings and the machine allow."""

    settings: Settings
    tools: Tools
    search: Search

    def commands(self, parts: CommandParts) -> Commands:
        """The enabled commands, and the disabled ones with the reason.

        Commands that DISABLED_COMMANDS or DISABLED_CATEGORIES names are left out altogether. Raise SettingsError if
        one of these variables has an unknown name, unless a plugin that is left out may have brought that name.
        """
        every, settings = self.every(parts), self.settings
        check = _log_unknown if settings.has_plugins or settings.mcp_servers else _must_be_known
        servers = {each.name for each in settings.mcp_servers.entries} if settings.mcp_servers else set()
        now = [
            name for name in settings.disabled_commands if name.partition(".")[0] not in servers
        ]  # others come later
        check("DISABLED_COMMANDS", now, {each.spec.name for each in every})
        check("DISABLED_CATEGORIES", settings.disabled_categories, {TOOLS, *(each.spec.category for each in every)})
        disabled = {*settings.disabled_commands, *settings.disabled_categories}
        secrets = Secrets.of(settings.secrets)
        kept = (each for each in every if not disabled & {each.spec.name, each.spec.category})
        return Commands.of(*(redact_output(each, secrets.redact) if secrets.pattern else each for each in kept))

    def every(self, parts: CommandParts) -> tuple[Command, ...]:
        """All commands, in the order in which prompts list them: those of Signoff, then those of plugins."""
        sites, is_on = partial(load_sites, parts.database), partial(is_source_on, parts.database)
        tools = PluginTools(load_sites=sites, web=self.tools.web, is_on=is_on)
        return self.tools.plugins.commands(tools, self._families(parts))

    def _families(self, parts: CommandParts) -> tuple[CommandFamily, ...]:
        """Signoff's own commands, which are registered as those of plugins are."""
        tools = self.tools
        programs = (each.switched(tools.no_programs) for each in ProgramCommands(sandbox=tools.sandbox).commands)
        media = MediaCommands(
            images=tools.images,
            transcriber=tools.transcriber,
            voice=tools.voice,
            no_images=NO_IMAGES,
            no_transcriber=NO_TRANSCRIBER,
            no_voice=NO_VOICE,
        )
        return (
            CommandFamily("files", FileCommands(tools.documents).commands),
            CommandFamily("web", self._web(parts)),
            CommandFamily("memory", MemoryCommands(parts.memory, parts.clock, tools.documents).commands),
            CommandFamily("history", HistoryCommands(parts.database).commands),
            CommandFamily("agents", AgentCommands(parts.helpers).commands),
            CommandFamily("functions", FunctionCommands(parts.metered_model).commands),
            CommandFamily("programs", programs),
            CommandFamily("media", media.commands),
            CommandFamily("vision", self._vision(parts)),
            CommandFamily("publish", PublishCommands(tools.publisher, NO_PUBLISHER).commands),
            CommandFamily("finish", FINISH_COMMANDS),
        )

    def _web(self, parts: CommandParts) -> tuple[Command, ...]:
        web, database = self.tools.web, parts.database
        commands = (
            *WebSearchCommands(self.search).commands,
            *PageCommands(web, parts.metered_model, database).commands,
            *DownloadCommands(web, database).commands,
        )
        reasons = {"clone_repository": self.tools.no_clones}
        if self.settings.search_service is None:
            reasons["google"] = NO_SEARCH
        if not self.settings.allow_downloads:
            reasons["download_file"] = NO_DOWNLOADS
        return tuple(each.switched(reasons.get(each.spec.name, "")) for each in commands)

    def _vision(self, parts: CommandParts) -> tuple[Command, ...]:
        why = VISION_OFF if self.settings.vision == "off" else NO_VISION if self.settings.has_endpoint else NO_ENDPOINT
        return VisionCommands(self.tools.pictures, parts.metered_model, why).commands


def _must_be_known(variable: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise SettingsError(variable, f"{name!r} is none of {', '.join(sorted(known))}.", min(known))


def _log_unknown(variable: str, names: Iterable[str], known: Collection[str]) -> None:
    if unknown := [name for name in names if name not in known]:
        logger.warning("what is switched off is not there", extra={"variable": variable, "names": ", ".join(unknown)})
