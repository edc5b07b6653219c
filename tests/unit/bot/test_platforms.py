"""Every platform in the list has all that a platform consists of, and a process loads only those that are on."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from agent_core.model.origin import ChannelScope, SurfaceName
from bot.platforms.chat_platforms import PLATFORMS, guide, platforms_on
from bot.platforms.platform import ChatPlatform
from bot.settings import VARIABLES, load
from tests.scenario.surfaces import SURFACES

ROOT = Path(__file__).parents[3]
HOW_TO = "docs/how-to/add-a-surface.md says what a platform consists of"
NO_PLATFORMS = {"web", "terminal"}  # surfaces of Signoff's own, which every process has


def each_platform() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("platform", PLATFORMS, ids=lambda platform: platform.name)


@each_platform()
def test_a_platform_has_its_rooms_and_its_guide(platform: ChatPlatform) -> None:
    name = platform.name
    wanted = (
        f"adapters/{name}/__init__.py",
        f"adapters/{name}/connection.py",
        f"bot/platforms/{name}/settings.py",
        f"bot/platforms/{name}/platform.py",
        f"bot/platforms/{name}/wiring.py",
        guide(platform),
    )
    assert [path for path in wanted if not (ROOT / path).is_file()] == [], HOW_TO
    assert f"](how-to/connect-{name}.md)" in (ROOT / "docs" / "README.md").read_text(), HOW_TO


@each_platform()
def test_a_platform_is_known_as_a_surface_that_a_channel_can_be_on(platform: ChatPlatform) -> None:
    scope = ChannelScope(platform.name, "workspace", "channel")
    assert ChannelScope.parse(scope.key) == scope, HOW_TO


@each_platform()
def test_a_platform_is_kept_apart_from_the_other_surfaces(platform: ChatPlatform) -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    apart = next(contract for contract in contracts if contract["id"] == "surfaces")
    assert f"adapters.{platform.name}" in apart["modules"], HOW_TO


@each_platform()
def test_a_platform_is_off_until_its_variables_turn_it_on(platform: ChatPlatform) -> None:
    assert not platform.is_on(load({}, None))
    assert any(each.name in platform.switch for each in VARIABLES.values() if each.section == platform.title), HOW_TO


@each_platform()
def test_the_stories_of_every_surface_are_played_on_the_platform(platform: ChatPlatform) -> None:
    assert any(name.split("-")[0] == platform.name for name in SURFACES), HOW_TO


@each_platform()
def test_what_is_signed_is_below_the_platforms_own_path(platform: ChatPlatform) -> None:
    assert [path for path in platform.signed_paths if not path.startswith(f"/{platform.name}/")] == []


def test_every_surface_is_in_the_list_or_signoffs_own() -> None:
    assert {platform.name for platform in PLATFORMS} == {*get_args(SurfaceName)} - NO_PLATFORMS, HOW_TO


def test_every_folder_that_connects_to_a_platform_is_in_the_list() -> None:
    folders = {path.parent.name for path in (ROOT / "adapters").glob("*/connection.py")}
    assert folders == {platform.name for platform in PLATFORMS}, HOW_TO


@each_platform()
def test_every_variable_of_a_platform_stands_in_its_section_of_the_reference(platform: ChatPlatform) -> None:
    sections = {
        variable.section for name, variable in VARIABLES.items() if name.startswith(f"{platform.name.upper()}_")
    }
    assert sections == {platform.title}, HOW_TO


def test_platforms_are_on_where_their_variables_are_set() -> None:
    settings = load({"DISCORD_TOKEN": "a-token"}, None)
    assert [platform.name for platform in platforms_on(settings)] == ["discord"]


SDKS = {"discord", "mcp", "mcp_types", "obstore", "slack_bolt", "slack_sdk"}
HEAVY = {"PIL", "alembic", "genai_prices", "jsonschema", "numpy", "openai", "tiktoken"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("started", "unloaded"),
    [
        ("bot.settings", {*SDKS, *HEAVY, "aiohttp", "sqlalchemy"}),
        ("bot.commands", {*SDKS, *HEAVY, *(f"adapters.{platform.name}" for platform in PLATFORMS)}),
        ("bot.bootstrap, agent_core.capabilities.programs.process_sandbox", {*SDKS, "autogpt_plugins"}),
    ],
)
def test_no_process_loads_what_it_may_not_need(started: str, unloaded: set[str]) -> None:
    code = f"import sys, {started}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert [name for name in loaded.split() if unloaded & {name.partition(".")[0], ".".join(name.split(".")[:2])}] == []
