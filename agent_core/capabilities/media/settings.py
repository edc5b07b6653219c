"""The settings of pictures and sound: what draws, transcribes and speaks."""

from typing import ClassVar

from agent_core.capabilities.declaring import needs_beside, refuse_if, setting
from agent_core.capabilities.models.settings import ModelSettings
from agent_core.capabilities.setting_types import ModelName, Secret, WebAddress

USER_AND_PASSWORD = "a user, a colon and a password, without blanks"  # noqa: S105 (words about one)


class MediaSettings(ModelSettings):
    """The models and services that draw pictures, transcribe audio files and speak audio notes."""

    title: ClassVar[str] = "Pictures and sound"

    image_model: ModelName = setting(
        "",
        "The model of the OpenAI-compatible endpoint that draws pictures.",
        unset="gpt-image-2.5-flare at OpenAI, else no pictures",
        example="gpt-image-2.5-flare",
    )
    audio_model: ModelName = setting(
        "",
        "The model of the OpenAI-compatible endpoint that transcribes audio files.",
        unset="gpt-transcribe at OpenAI, else no transcripts",
        example="gpt-transcribe",
    )
    speech_model: ModelName = setting(
        "",
        "The model of the OpenAI-compatible endpoint that speaks audio notes.",
        unset="no audio notes",
        example="gpt-4o-mini-tts",
    )
    sd_webui_url: WebAddress = setting(
        "",
        "A Stable Diffusion WebUI with its API switched on. It then draws the pictures.",
        unset="IMAGE_MODEL draws pictures",
        example="http://127.0.0.1:7860",
    )
    sd_webui_auth: Secret = setting(
        "", "User and password of that WebUI, if it requires them.", rule=USER_AND_PASSWORD, example="user:password"
    )
    huggingface_api_token: Secret = setting(
        "",
        "The key of Hugging Face's inference API, for the two models below.",
        unset="Hugging Face is off",
        example="hf_your-token",
    )
    huggingface_api_url: WebAddress = setting(
        "",
        "Another address of that API, such as a proxy or your own endpoint.",
        unset="Hugging Face's own",
        example="https://inference.example.com",
    )
    huggingface_image_model: str = setting(
        "",
        "The model at Hugging Face that draws pictures, instead of IMAGE_MODEL.",
        rule="a model name",
        unset="IMAGE_MODEL draws pictures",
        example="stabilityai/stable-diffusion-3.5-large",
    )
    huggingface_audio_model: str = setting(
        "",
        "The model at Hugging Face that transcribes audio files, instead of AUDIO_MODEL.",
        rule="a model name",
        unset="AUDIO_MODEL transcribes",
        example="openai/whisper-large-v3",
    )

    def check(self) -> None:
        account = self.sd_webui_auth.get_secret_value()
        refuse_if(account and ":" not in account, "sd_webui_auth", f"must be {USER_AND_PASSWORD}.")
        needs_beside(self, "sd_webui_auth", "sd_webui_url")
        needs_beside(self, "huggingface_image_model", "huggingface_api_token")
        needs_beside(self, "huggingface_audio_model", "huggingface_api_token")
