"""The file `.env`: how it is read beside what it has twice, without a text, or in another encoding."""

from pathlib import Path

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
