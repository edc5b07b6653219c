"""Signoff as an MCP server: what is loaded when, what the settings say, and how a client is configured."""

import json
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from agent_core.errors import SettingsError
from bot.findings.mcp_clients import how_to_connect, mcp_finding
from bot.settings import Settings, load
from bot.startup import engine_of_home_if_free

TOKEN = "k" * 32


def settings_with(folder: Path, **variables: str) -> Settings:
    return load({"SIGNOFF_HOME": str(folder), **variables}, None)


ARABIC = "\u0645\u062d\u0631\u0631"


@pytest.mark.parametrize(("given", "channel"), [("", "general"), ("Editor", "editor"), (ARABIC, ARABIC)])
def test_the_channel_is_named_as_the_page_names_it(tmp_path: Path, given: str, channel: str) -> None:
    assert settings_with(tmp_path, MCP_CHANNEL=given).mcp_channel == channel


@pytest.mark.parametrize("given", ["two words", "a/b", "#", "x" * 81])
def test_a_channel_that_cannot_be_is_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(SettingsError, match=r"^MCP_CHANNEL: must be 1 to 80 letters"):
        settings_with(tmp_path, MCP_CHANNEL=given)


def test_the_doctor_says_how_a_client_is_configured_and_not_the_token(tmp_path: Path) -> None:
    off = mcp_finding(settings_with(tmp_path))
    assert (off.state, "python -m bot mcp --help" in off.why) == ("off", True)
    on = mcp_finding(settings_with(tmp_path, MCP_SERVE="true", MCP_TOKEN=TOKEN))
    entry = json.loads(on.why[on.why.index("{") :])["mcpServers"]["signoff"]
    assert (on.state, entry["url"]) == ("on", "http://127.0.0.1:8700/mcp")
    assert TOKEN not in on.why
    assert "as a guest, whose notes decide nothing and are untrusted content" in on.why
    assert TOKEN in settings_with(tmp_path, MCP_TOKEN=TOKEN).secrets


def test_a_client_of_this_machine_starts_this_interpreters_program() -> None:
    entry = json.loads(how_to_connect().splitlines()[-1])["mcpServers"]["signoff"]
    assert entry["args"] == ["mcp"]
    assert Path(entry["command"]).parent == Path(sys.executable).parent
    assert entry["env"]["SIGNOFF_HOME"].startswith(entry["cwd"])


def test_a_process_is_the_engine_of_a_data_folder_only_if_no_other_is(tmp_path: Path) -> None:
    settings = settings_with(tmp_path)
    with engine_of_home_if_free(settings) as is_engine, engine_of_home_if_free(settings) as is_another:
        assert (is_engine, is_another) == (True, False)
    with FileLock(tmp_path / "engine.lock", blocking=False):
        pass
    server = settings_with(tmp_path, DATABASE_URL="postgresql://x@localhost/x")
    with engine_of_home_if_free(server) as is_engine:
        assert not is_engine
