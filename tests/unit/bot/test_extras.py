"""Packages of extras: what needs a missing one says which command adds it, and all else works without them."""

import os
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.capabilities.models.capability import ModelCapability
from agent_core.capabilities.models.endpoint_checks import DefaultModel
from agent_core.capabilities.models.settings import Endpoint
from agent_core.errors import SettingsError
from agent_core.ports.models import EndpointCheck
from agent_core.providers.system_packages import missing_text
from bot.settings import Settings, load
from bot.wiring.models import demo_model

ROOT = Path(__file__).parents[3]
OF_EXTRAS = (
    *("anthropic", "ddgs", "mcp", "numpy", "obstore", "PIL", "playwright", "procrastinate", "psycopg", "tokenizers"),
    *("tweepy", "wordllama"),
)
X_KEYS = dict.fromkeys(("X_API_KEY", "X_API_SECRET", "X_ACCESS_TOKEN", "X_ACCESS_TOKEN_SECRET"), "a-key")


@pytest.mark.parametrize(
    ("package", "extra", "variables"),
    [
        ("ddgs", "search", {"ALLOW_SEARCH_SCRAPING": "true"}),
        ("mcp", "mcp", {"MCP_SERVE": "true", "MCP_TOKEN": "0123456789" * 4}),
        ("psycopg", "postgres", {"DATABASE_URL": "postgresql://signoff@localhost/signoff"}),
        ("tweepy", "x", X_KEYS),
    ],
)
def test_a_setting_whose_package_is_missing_names_the_extra(
    package: str, extra: str, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    load(variables, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SettingsError) as refused:
        load(variables, None)
    told = f"{next(iter(variables))}: needs the package {package}: run make extras EXTRAS={extra}, then start again."
    assert told in str(refused.value)


def test_a_file_of_tool_servers_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"time": {"command": "time"}}}')
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(SettingsError, match="MCP_SERVERS: needs the package mcp: run make extras EXTRAS=mcp"):
        load({"MCP_SERVERS": str(tmp_path / "mcp.json")}, None)


def test_another_search_service_needs_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ddgs", None)
    load({"ALLOW_SEARCH_SCRAPING": "true", "BRAVE_API_KEY": "a-key"}, None)


async def test_without_pillow_the_doctor_says_how_agents_can_view_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    async def sees() -> DefaultModel:
        return DefaultModel(window=4_096, is_known=True, profile="full", sees=True)

    async def answers(_endpoint: Endpoint) -> EndpointCheck:
        return EndpointCheck()

    monkeypatch.setitem(sys.modules, "PIL", None)
    settings = Settings(openai_api_key="a-key")
    models = replace(ModelCapability.of(settings, demo_model, settings.tokenizers), default=sees, endpoint=answers)
    [vision] = [each for each in await models.findings() if each.name == "vision"]
    why = "viewing pictures needs the package pillow: run make extras EXTRAS=pictures, then start again"
    assert (vision.name, vision.state, vision.why) == ("vision", "off", why)


def test_an_installed_package_is_not_missing() -> None:
    assert missing_text("pillow", "pictures", module="PIL") == ""


@pytest.mark.slow
def test_signoff_starts_without_any_extra(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({OF_EXTRAS})); from bot.__main__ import main; sys.exit(main())"
    )

    def run(command: str) -> subprocess.CompletedProcess[str]:
        given = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "SIGNOFF_HOME": str(tmp_path)}
        line = [sys.executable, "-c", code, command]
        return subprocess.run(line, cwd=tmp_path, env=given, capture_output=True, text=True, check=False)

    assert run("migrate").returncode == 0
    doctor = run("doctor")
    assert (doctor.returncode, doctor.stderr) == (0, "")
    assert "make extras EXTRAS=embeddings" in doctor.stdout
    client = run("mcp")
    told = "signoff mcp needs the package mcp: run make extras EXTRAS=mcp, then start again.\n"
    assert (client.returncode, client.stderr) == (2, told)


def test_the_table_of_extras_names_each_once() -> None:
    page = (ROOT / "docs/reference/extras.md").read_text()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    rows = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert rows == [name for name in extras if name not in ("dev", "docs", "e2e", "release")]
    assert all(f"`{name}`" in page for name in extras)
    assert extras["all"] == [f"signoff[{','.join(name for name in rows if name != 'all')}]"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("signoff wo", {"worker "}),
        ("signoff solo --te", {"--template "}),
        ("signoff run --h", {"--help", "--home", "--host"}),
    ],
)
def test_a_shell_completes_commands_and_options(line: str, offered: set[str], tmp_path: Path) -> None:
    given = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "words"), "_ARGCOMPLETE_IFS": "\n"}
    given |= {"COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9", "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-m", "bot"], env=given, check=False, capture_output=True)
    assert set((tmp_path / "words").read_text().split("\n")) == offered
