"""Careless plugins that are loaded from files and packages, up to what the doctor and the start say of them."""

from pathlib import Path

import pytest

from agent_core.plugins.loading import load_plugins
from tests.command_line import said
from tests.unit.agent_core.plugins.test_loading import PLUGIN, modules, package, written
from tests.unit.agent_core.plugins.test_plugins import TOOLS

__all__ = ["modules"]  # a fixture of every test

COMMAND = """
from agent_core.toolset.registry import NoArguments, declare
from agent_core.plugins import Plugin

async def {name}(given, context):
    "Stir."
    return "Stirred."

class Tea(Plugin):
    def commands(self, tools):
        {first}
        return (declare(NoArguments, {name}, label="Stir", risks=("read",), category="files"),)
"""


@pytest.mark.parametrize("fact", ["name = 5", "name = ('tea',)"])
def test_a_name_of_the_wrong_type_is_a_line_and_the_others_are_loaded(tmp_path: Path, fact: str) -> None:
    bad = PLUGIN.format(name="Tea") + f"    {fact}\n"
    found = load_plugins(folder=written(tmp_path, bad=bad, good=PLUGIN.format(name="Good")))
    assert "Good" in [each.name for each in found.loaded]


def test_a_version_of_several_lines_is_one_line_where_it_is_named(tmp_path: Path) -> None:
    noted = PLUGIN.format(name="Tea") + "    version = '1.0\\nplugins  on  all is well' + 'x' * 1000\n"
    for each in load_plugins(folder=written(tmp_path, tea=noted)).loaded:
        assert each.title.isprintable()
        assert len(each.title) < 200


def test_a_file_that_imports_the_package_from_its_parent_is_loaded(tmp_path: Path) -> None:
    source = "from agent_core import plugins\n\nclass Tea(plugins.Plugin):\n    name = 'Tea'\n"
    assert [each.name for each in load_plugins(folder=written(tmp_path, tea=source)).loaded] == ["Tea"]


def test_a_second_name_of_a_class_is_no_second_plugin(tmp_path: Path) -> None:
    found = load_plugins(folder=written(tmp_path, tea=PLUGIN.format(name="Tea") + "\nOldTea = Tea\n"))
    assert found.faults == []


@pytest.mark.slow
@pytest.mark.proves("plugin:named")
def test_a_package_that_is_not_of_a_distribution_is_named_with_its_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(written(tmp_path, tea_loose=PLUGIN.format(name="Tea")))
    (loaded,) = load_plugins(["tea_loose"]).loaded
    assert loaded.version


def test_an_entry_point_to_a_class_that_is_no_plugin_does_not_end_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "class Tea:\n    name = 'Tea'\n    version = '1'\n"
    package(tmp_path, monkeypatch, source=source, entry_points="[signoff.plugins]\ntea = tea_plugin:Tea\n")
    found = load_plugins(["tea_plugin"])
    assert found.commands(TOOLS) == ()
    assert found.faults or found.loaded[0].fault


async def doctor_on(folder: Path, **sources: str) -> str:
    """What the doctor says of plugins."""
    plugins = written(folder / "plugins", **sources)
    code, output = await said(folder, "doctor", SIGNOFF_HOME="home", PLUGINS_DIR=str(plugins))
    (line,) = [each for each in output.splitlines() if each.startswith("plugins")] or [f"{code}: {output}"]
    return line


@pytest.mark.slow
@pytest.mark.proves("plugin:aside")
@pytest.mark.parametrize(
    ("name", "first", "told"),
    [
        ("stir", "open('/no/such/spoon')", "FileNotFoundError"),
        ("read_file", "pass", "read_file is left out"),
    ],
    ids=["raises", "taken"],
)
async def test_the_doctor_says_which_commands_are_left_out(tmp_path: Path, name: str, first: str, told: str) -> None:
    line = await doctor_on(tmp_path, tea=COMMAND.format(name=name, first=first))
    assert told in line


@pytest.mark.slow
@pytest.mark.parametrize("disabled", ["DISABLED_COMMANDS", "DISABLED_CATEGORIES"])
async def test_what_is_disabled_of_a_plugin_that_cannot_be_loaded_does_not_end_the_start(
    tmp_path: Path, disabled: str
) -> None:
    source = "import missing_tea\n" + COMMAND.format(name="stir", first="pass").replace("files", "tea")
    folder = written(tmp_path / "plugins", tea=source)
    value = "stir" if disabled == "DISABLED_COMMANDS" else "tea"
    stopped = {"SIGNOFF_HOME": "home", "PORT": "1", "HOST": "192.0.2.1", "WEB_TOKEN": "x" * 40}
    _, output = await said(tmp_path, "run", PLUGINS_DIR=str(folder), **stopped, **{disabled: value})
    assert f"did not start. {disabled}" not in output


@pytest.mark.slow
async def test_a_command_of_a_taken_name_does_not_end_the_start(tmp_path: Path) -> None:
    folder = written(tmp_path / "plugins", tea=COMMAND.format(name="readFile", first="pass"))
    stopped = {"SIGNOFF_HOME": "home", "PORT": "1", "HOST": "192.0.2.1", "WEB_TOKEN": "x" * 40}
    _, output = await said(tmp_path, "run", PLUGINS_DIR=str(folder), **stopped)
    assert "Traceback" not in output, output.splitlines()[-1]
