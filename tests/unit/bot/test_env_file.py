"""The file `.env`: how it is read beside what it has twice, without a text, or in another encoding."""

from pathlib import Path

import pytest

from agent_core.errors import SettingsError
from bot.settings import load, unread_names


def in_file(folder: Path, content: bytes) -> Path:
    path = folder / ".env"
    path.write_bytes(content)
    return path


def test_a_blank_second_spelling_leaves_what_is_set(tmp_path: Path) -> None:
    env_file = in_file(tmp_path, b"DISABLED_COMMANDS=delete_file\ndisabled_commands=\nWEB_TOKEN=\nweb_token=''\n")
    settings = load({}, env_file)
    assert settings.disabled_commands == ("delete_file",)
    assert not settings.web_token


def test_a_blank_misspelt_name_refuses_no_start(tmp_path: Path) -> None:
    env_file = in_file(tmp_path, b"OPENAI_APIKEY=\nPORT=9000\n")
    assert load({}, env_file).port == 9000
    assert unread_names({}, env_file) == {}


@pytest.mark.parametrize("content", [b"PORT=9000\nSMART_MODEL=\xff\n", "PORT=9000\n".encode("utf-16")])
def test_a_file_that_is_not_utf_8_is_told_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    env_file = in_file(tmp_path, content)
    with pytest.raises(SettingsError) as caught:
        load({}, env_file)
    assert str(caught.value) == f"{env_file}: is not UTF-8 text; save it as UTF-8."
