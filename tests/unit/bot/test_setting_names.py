"""The core does not know the operator's variables: `bot` hands their names in, and people read them."""

from pathlib import Path

import pytest

from bot.model_wiring import make_search
from bot.settings import Settings, load
from bot.tool_wiring import X_VARIABLES, make_images, make_publisher, make_transcriber


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    keys = dict.fromkeys(X_VARIABLES.replace(" and ", ", ").split(", "), "key")
    google = {"GOOGLE_API_KEY": "key", "GOOGLE_CSE_ID": "cx"}
    hugging = {"HUGGINGFACE_API_TOKEN": "hf_key", "HUGGINGFACE_AUDIO_MODEL": "hears"}
    drawing = {"SD_WEBUI_URL": "http://127.0.0.1:7860"}
    return load({"SIGNOFF_HOME": str(tmp_path), **keys, **google, **hugging, **drawing}, None)


def test_services_know_what_the_operator_set(settings: Settings) -> None:
    assert make_search(settings).settings == "GOOGLE_API_KEY and GOOGLE_CSE_ID"  # type: ignore[attr-defined]
    assert make_publisher(settings).settings == X_VARIABLES  # type: ignore[union-attr]
    drawing = make_images(settings)
    assert (drawing.url_setting, drawing.auth_setting) == ("SD_WEBUI_URL", "SD_WEBUI_AUTH")  # type: ignore[union-attr]
    hearing = make_transcriber(settings).endpoint  # type: ignore[union-attr]
    names = ("HUGGINGFACE_AUDIO_MODEL", "HUGGINGFACE_API_TOKEN", "HUGGINGFACE_API_URL")
    assert (hearing.setting, hearing.key_setting, hearing.url_setting) == names
