"""Builds the tools that commands use from the settings: documents, programs, images, audio and posts.

Part of the composition root, like `bot.bootstrap` and `bot.model_wiring`. Modules are imported only if a setting needs
them.
"""

import logging
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.capabilities.documents.document_reader import DocumentReader
from agent_core.capabilities.documents.html_renderer import IsolatedHtmlRenderer
from agent_core.capabilities.documents.picture_reader import PictureReader
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.models.prices import Prices
from agent_core.capabilities.models.settings import Endpoint
from agent_core.capabilities.programs.disabled import DisabledSandbox
from agent_core.errors import SettingsError
from agent_core.loop.command_runner import NO_EXTENSIONS, Extensions
from agent_core.plugins.registration import PluginSet
from agent_core.ports.clock import Clock
from agent_core.ports.documents import Documents, HtmlRenderer, Pictures
from agent_core.ports.media import Images, Transcriber, Voice
from agent_core.ports.sandbox import Sandbox
from agent_core.ports.social_posts import PostPublisher
from agent_core.ports.web import Web
from agent_core.providers.clock import SystemClock
from bot.autogpt_wiring import load_all_plugins
from bot.findings import IN_A_BUCKET, ToolProbes
from bot.model_wiring import default_model_sees, with_variables
from bot.settings import VARIABLES, Settings
from bot.tool_server_wiring import ToolServerSet

if TYPE_CHECKING:
    from agent_core.capabilities.media.huggingface import HuggingFace
    from agent_core.capabilities.media.openai_media import OpenAIMedia
    from agent_core.capabilities.programs.process_sandbox import ProcessSandbox

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """The tools of commands. `no_programs`, `no_clones`: why programs or git clones are off, or "" if they are on."""

    documents: Documents
    pictures: Pictures
    web: Web
    no_clones: str
    sandbox: Sandbox
    no_programs: str
    images: Images | None
    transcriber: Transcriber | None
    voice: Voice | None
    publisher: PostPublisher | None
    plugins: PluginSet
    servers: ToolServerSet = field(default_factory=ToolServerSet)

    @classmethod
    async def of(cls, settings: Settings, clock: Clock) -> "Tools":
        """Build the tools that the settings choose. If programs are allowed, test the sandbox first (1 to 2 s)."""
        sandbox, why = await make_sandbox(settings, clock)
        return cls.around(settings, sandbox, why, await load_all_plugins(settings, clock))

    @classmethod
    def around(
        cls, settings: Settings, sandbox: Sandbox, no_programs: str, plugins: PluginSet | None = None
    ) -> "Tools":
        """Build the tools around a sandbox that was tested or is disabled; without plugins if none are given."""
        documents = DocumentReader()
        web, no_clones = make_web(settings, documents)
        return cls(
            documents=documents,
            pictures=PictureReader(),
            web=web,
            no_clones=no_clones,
            sandbox=sandbox,
            no_programs=no_programs,
            images=make_images(settings),
            transcriber=make_transcriber(settings),
            voice=make_voice(settings),
            publisher=make_publisher(settings),
            plugins=plugins or PluginSet(),
        )

    async def close(self) -> None:
        """End running programs and close connections."""
        await self.plugins.close()
        await self.sandbox.close()
        for each in (self.images, self.transcriber, self.voice):
            if close := getattr(getattr(each, "endpoint", None), "close", None):
                await close()


def extensions_of(plugins: PluginSet) -> Extensions:
    """What the plugins add to the loop: nothing without plugins, so that they cost nothing then."""
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


INTERNAL_HOSTS = "ALLOW_INTERNAL_HOSTS"
X_VARIABLES = "X_API_KEY, X_API_SECRET, X_ACCESS_TOKEN and X_ACCESS_TOKEN_SECRET"
NOT_ALLOWED = "the operator allows no programs here (EXECUTE_LOCAL_COMMANDS)."
NO_FOLDER = f"{IN_A_BUCKET} (WORKSPACE_URL)."


async def make_sandbox(settings: Settings, clock: Clock) -> tuple[Sandbox, str]:
    """The sandbox, or a disabled one with the reason: programs run sandboxed or not at all."""
    if not settings.execute_local_commands:
        return DisabledSandbox(NOT_ALLOWED), NOT_ALLOWED
    if not settings.workspace_folder:
        return DisabledSandbox(NO_FOLDER), NO_FOLDER
    sandbox = confined(settings, settings.workspace_folder, clock)
    if fault := await sandbox.self_test():
        logger.error("no program of an agent will run", extra={"why": fault})
        why = f"the sandbox (SANDBOX={settings.sandbox}) failed its self-test. {fault}"
        return DisabledSandbox(why), why
    return sandbox, ""


def confined(settings: Settings, folder: Path, clock: Clock) -> "ProcessSandbox":
    """The sandbox that SANDBOX names (Docker or Bubblewrap), for workspaces in `folder`. Test it before use."""
    from agent_core.capabilities.programs.process_sandbox import bubblewrap_sandbox, docker_sandbox

    workspaces = FolderWorkspaces(folder)
    if settings.sandbox == "docker":
        return docker_sandbox(
            workspaces, clock, settings.home, image=settings.sandbox_image, is_shared=not settings.sqlite_file
        )
    return bubblewrap_sandbox(workspaces, clock, settings.home)


def make_web(settings: Settings, documents: Documents) -> tuple[Web, str]:
    """The HTTP client, and why git clones are off ("" if they are on); raise SettingsError for an invalid host."""
    from agent_core.capabilities.web.gateway_web import GatewayWeb
    from agent_core.capabilities.web.git_clone import git_fault
    from agent_core.providers.egress.address_policy import InternalHosts

    try:
        internal = InternalHosts.of(settings.allow_internal_hosts, INTERNAL_HOSTS, settings.port)
    except ValueError as fault:
        raise SettingsError(INTERNAL_HOSTS, str(fault), VARIABLES[INTERNAL_HOSTS].example) from None
    return GatewayWeb.of(internal, settings.public_url, documents), git_fault()


def make_images(settings: Settings) -> Images | None:
    """Stable Diffusion or Hugging Face if set; otherwise the endpoint's IMAGE_MODEL, or None if there is none.

    For OpenAI, IMAGE_MODEL has a default.
    """
    if settings.sd_webui_url:
        from agent_core.capabilities.media.stable_diffusion import StableDiffusion

        return StableDiffusion(
            url=settings.sd_webui_url,
            auth=settings.sd_webui_auth.get_secret_value(),
            url_setting="SD_WEBUI_URL",
            auth_setting="SD_WEBUI_AUTH",
        )
    if settings.huggingface_image_model:
        from agent_core.capabilities.media.huggingface import HuggingFaceImages

        return HuggingFaceImages(_hugging_face(settings, "HUGGINGFACE_IMAGE_MODEL"))
    if settings.openai_endpoint is None or not (settings.image_model or settings.is_openai):
        return None
    from agent_core.capabilities.media.openai_media import IMAGE_MODEL, IMAGES, OpenAIImages

    ability = with_variables(IMAGES, settings.openai_endpoint, "IMAGE_MODEL")
    return OpenAIImages(_openai(settings, settings.openai_endpoint), settings.image_model or IMAGE_MODEL, ability)


def make_transcriber(settings: Settings) -> Transcriber | None:
    """Hugging Face if its model is set, else the endpoint's AUDIO_MODEL, which has a default for OpenAI."""
    if settings.huggingface_audio_model:
        from agent_core.capabilities.media.huggingface import HuggingFaceTranscriber

        return HuggingFaceTranscriber(_hugging_face(settings, "HUGGINGFACE_AUDIO_MODEL"))
    if settings.openai_endpoint is None or not (settings.audio_model or settings.is_openai):
        return None
    from agent_core.capabilities.media.openai_media import AUDIO, AUDIO_MODEL, OpenAITranscriber

    ability = with_variables(AUDIO, settings.openai_endpoint, "AUDIO_MODEL")
    return OpenAITranscriber(_openai(settings, settings.openai_endpoint), settings.audio_model or AUDIO_MODEL, ability)


def make_voice(settings: Settings) -> Voice | None:
    """The speech model of the endpoint, if one is named."""
    if settings.openai_endpoint is None or not settings.speech_model:
        return None
    from agent_core.capabilities.media.openai_media import SPEECH, OpenAIVoice

    ability = with_variables(SPEECH, settings.openai_endpoint, "SPEECH_MODEL")
    return OpenAIVoice(_openai(settings, settings.openai_endpoint), settings.speech_model, ability)


def make_publisher(settings: Settings) -> PostPublisher | None:
    """The publisher for X (formerly Twitter), or None unless its four keys are set."""
    if not settings.has_x:
        return None
    from agent_core.capabilities.posts.x_posts import X_API_URL, XPosts

    return XPosts(
        api_key=settings.x_api_key.get_secret_value(),
        api_secret=settings.x_api_secret.get_secret_value(),
        access_token=settings.x_access_token.get_secret_value(),
        access_token_secret=settings.x_access_token_secret.get_secret_value(),
        url=settings.x_api_url or X_API_URL,
        settings=X_VARIABLES,
    )


def _openai(settings: Settings, endpoint: Endpoint) -> "OpenAIMedia":
    from agent_core.capabilities.media.openai_media import OpenAIMedia

    prices = Prices.at(endpoint.url, settings.model_prices)
    return OpenAIMedia(base_url=endpoint.url, api_key=endpoint.key, prices=prices)


def _hugging_face(settings: Settings, variable: str) -> "HuggingFace":
    from agent_core.capabilities.media.huggingface import HUGGINGFACE_URL, HuggingFace

    url = settings.huggingface_api_url or HUGGINGFACE_URL
    return HuggingFace(
        model=getattr(settings, variable.lower()),
        setting=variable,
        token=settings.huggingface_api_token.get_secret_value(),
        url=url,
        prices=Prices.at(url, settings.model_prices),
        key_setting="HUGGINGFACE_API_TOKEN",
        url_setting="HUGGINGFACE_API_URL",
    )


def tool_probes(settings: Settings) -> ToolProbes:
    """The doctor's checks of external services and programs."""
    from agent_core.capabilities.documents.worker_confinement import confinement_fault
    from agent_core.capabilities.programs.bubblewrap import TOOLS
    from agent_core.capabilities.web.browser_pages import browser_fault
    from agent_core.capabilities.web.git_clone import git_fault
    from agent_core.providers.confinement.bwrap_options import missing_tools

    def sandbox_tools() -> str:
        return missing_tools(TOOLS) if settings.sandbox == "bubblewrap" else ""

    async def sandbox() -> str:
        folder = settings.workspace_folder or settings.home / "workspaces"
        return await confined(settings, folder, SystemClock()).self_test()

    def media() -> tuple[str, str, str]:
        made = (make_images(settings), make_transcriber(settings), make_voice(settings))
        drawn, heard, spoken = (each.label if each else "" for each in made)
        return drawn, heard, spoken

    return ToolProbes(
        sandbox=sandbox,
        sandbox_tools=sandbox_tools,
        readers=confinement_fault,
        browser=browser_fault,
        git=git_fault,
        media=media,
        vision=partial(default_model_sees, settings),
    )
