"""The feature of media: makes the services that draw, transcribe and speak; offers their commands and findings."""

from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_core.capabilities.capability import Capability, CommandParts, Finding, provided_finding
from agent_core.capabilities.media.commands import MediaCommands
from agent_core.capabilities.media.settings import MediaSettings
from agent_core.capabilities.media.vision import VisionCommands
from agent_core.capabilities.models.prices import Prices
from agent_core.capabilities.models.settings import Endpoint
from agent_core.ports.documents import Pictures
from agent_core.ports.media import Images, Transcriber, Voice
from agent_core.providers.system_packages import missing_text
from agent_core.toolset.registry import Command

if TYPE_CHECKING:
    from agent_core.capabilities.media.huggingface import HuggingFace
    from agent_core.capabilities.media.openai_media import OpenAIMedia

NO_IMAGES = "no image model is set. OPENAI_API_KEY, SD_WEBUI_URL or HUGGINGFACE_API_TOKEN would bring one."
NO_TRANSCRIBER = "no model for sounds is set. OPENAI_API_KEY or HUGGINGFACE_API_TOKEN would bring one."
NO_VOICE = "no voice is set. SPEECH_MODEL would bring one."
NO_VISION = "the agent's model takes no pictures, as far as is known. VISION=on says that it does."
NO_ENDPOINT = "only a model at an endpoint can take pictures. OPENAI_API_KEY or ANTHROPIC_API_KEY would bring one."
VISION_OFF = "the operator lets no model see pictures here (VISION)."


@dataclass(frozen=True, kw_only=True)
class MediaCapability(Capability):
    """The services that are set, each None if it is not."""

    name = "media"
    settings: MediaSettings
    pictures: Pictures
    images: Images | None
    transcriber: Transcriber | None
    voice: Voice | None

    @classmethod
    def of(cls, settings: MediaSettings, pictures: Pictures) -> "MediaCapability":
        return cls(
            settings=settings,
            pictures=pictures,
            images=make_images(settings),
            transcriber=make_transcriber(settings),
            voice=make_voice(settings),
        )

    def commands(self, parts: CommandParts) -> Iterable[Command]:
        has_endpoint = self.settings.has_endpoint
        unseen = VISION_OFF if self.settings.vision == "off" else NO_VISION if has_endpoint else NO_ENDPOINT
        media = MediaCommands(
            images=self.images,
            transcriber=self.transcriber,
            voice=self.voice,
            no_images=NO_IMAGES,
            no_transcriber=NO_TRANSCRIBER,
            no_voice=NO_VOICE,
        )
        return *media.commands, *VisionCommands(self.pictures, parts.metered_model, unseen, _no_pillow()).commands

    async def findings(self) -> Iterable[Finding]:
        drawn, heard, spoken = (each.label if each else "" for each in (self.images, self.transcriber, self.voice))
        return (
            provided_finding("pictures", drawn, "IMAGE_MODEL, SD_WEBUI_URL, HUGGINGFACE_IMAGE_MODEL"),
            provided_finding("audio", heard, "AUDIO_MODEL, HUGGINGFACE_AUDIO_MODEL"),
            provided_finding("speech", spoken, "SPEECH_MODEL"),
        )

    async def close(self) -> None:
        async with AsyncExitStack() as stack:
            for each in (self.images, self.transcriber, self.voice):
                if close := getattr(getattr(each, "endpoint", None), "close", None):
                    stack.push_async_callback(close)


def _no_pillow() -> str:
    """Why no picture can be decoded here, or ""."""
    missing = missing_text("pillow", "pictures", module="PIL")
    return f"viewing pictures {missing}" if missing else ""


def make_images(settings: MediaSettings) -> Images | None:
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

    ability = IMAGES.with_variables(settings.openai_endpoint, "IMAGE_MODEL")
    return OpenAIImages(_openai(settings, settings.openai_endpoint), settings.image_model or IMAGE_MODEL, ability)


def make_transcriber(settings: MediaSettings) -> Transcriber | None:
    """Hugging Face if its model is set, else the endpoint's AUDIO_MODEL, which has a default for OpenAI."""
    if settings.huggingface_audio_model:
        from agent_core.capabilities.media.huggingface import HuggingFaceTranscriber

        return HuggingFaceTranscriber(_hugging_face(settings, "HUGGINGFACE_AUDIO_MODEL"))
    if settings.openai_endpoint is None or not (settings.audio_model or settings.is_openai):
        return None
    from agent_core.capabilities.media.openai_media import AUDIO, AUDIO_MODEL, OpenAITranscriber

    ability = AUDIO.with_variables(settings.openai_endpoint, "AUDIO_MODEL")
    return OpenAITranscriber(_openai(settings, settings.openai_endpoint), settings.audio_model or AUDIO_MODEL, ability)


def make_voice(settings: MediaSettings) -> Voice | None:
    """The speech model of the endpoint, if one is named."""
    if settings.openai_endpoint is None or not settings.speech_model:
        return None
    from agent_core.capabilities.media.openai_media import SPEECH, OpenAIVoice

    ability = SPEECH.with_variables(settings.openai_endpoint, "SPEECH_MODEL")
    return OpenAIVoice(_openai(settings, settings.openai_endpoint), settings.speech_model, ability)


def _openai(settings: MediaSettings, endpoint: Endpoint) -> "OpenAIMedia":
    from agent_core.capabilities.media.openai_media import OpenAIMedia

    prices = Prices.at(endpoint.url, settings.model_prices)
    return OpenAIMedia(base_url=endpoint.url, api_key=endpoint.key, prices=prices)


def _hugging_face(settings: MediaSettings, variable: str) -> "HuggingFace":
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
