"""Which plugins are found, what is said of those that are not, and what careless ones must not do to the start."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core.plugins.loading import MODULE_PREFIX, load_plugins
from tests.command_line import said
from tests.unit.agent_core.plugins.test_plugins import TOOLS

EXAMPLES = Path(__file__).parents[4] / "examples/plugins"
PLUGIN = "from agent_core.plugins import Plugin\n\nclass {name}(Plugin):\n    name = '{name}'\n"


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    """What a test imports is forgotten."""
    before = {*sys.modules}
    yield
    for name in {*sys.modules} - before:
        if name.startswith((MODULE_PREFIX, "tea_")):
            del sys.modules[name]


def written(folder: Path, **sources: str) -> Path:
    for name, source in sources.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return folder


def package(folder: Path, monkeypatch: pytest.MonkeyPatch, *, source: str, entry_points: str = "") -> None:
    """Install a package `tea_plugin` of the distribution tea-plugin 2.5."""
    written(folder, tea_plugin=source)
    about = folder / "tea_plugin-2.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tea-plugin\nVersion: 2.5\n")
    (about / "top_level.txt").write_text("tea_plugin\n")
    (about / "entry_points.txt").write_text(entry_points)
    monkeypatch.syspath_prepend(folder)


@pytest.mark.proves("plugin:named")
def test_the_examples_are_plugins_with_the_hash_of_their_file_or_a_version() -> None:
    found = load_plugins(folder=EXAMPLES)
    assert found.faults == []
    named = {each.name: (each.version.partition(":")[0], each.source) for each in found.loaded}
    assert named == {
        "word_counter": ("sha256", "file word_counter.py"),
        "link_checker": ("1.0", "file link_checker.py"),
    }


def test_the_hash_of_a_folder_changes_with_each_of_its_files(tmp_path: Path) -> None:
    main = "from .leaves import Tea\nfrom agent_core.plugins import Plugin\n"
    tea = written(tmp_path / "tea", __init__=main, leaves=PLUGIN.format(name="Tea"))
    (before,) = load_plugins(folder=tmp_path).loaded
    del sys.modules[f"{MODULE_PREFIX}tea"], sys.modules[f"{MODULE_PREFIX}tea.leaves"]
    written(tea, leaves=PLUGIN.format(name="Tea") + "    grown = True\n")
    (after,) = load_plugins(folder=tmp_path).loaded
    assert before.name == after.name == "Tea"
    assert before.version != after.version


@pytest.mark.slow
@pytest.mark.parametrize("entry_points", ["", "[signoff.plugins]\ntea = tea_plugin:Green\n"])
def test_a_package_is_loaded_by_its_entry_points_or_by_what_it_defines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry_points: str
) -> None:
    source = PLUGIN.format(name="Green") + PLUGIN.format(name="Black").partition("\n\n")[2]
    package(tmp_path, monkeypatch, source=source, entry_points=entry_points)
    found = load_plugins(["tea_plugin"])
    assert [each.title for each in found.loaded] == (["Green 2.5"] if entry_points else ["Green 2.5", "Black 2.5"])
    assert found.faults == []


@pytest.mark.proves("plugin:not-run")
def test_what_was_not_named_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = "from pathlib import Path\nPath(__file__).with_suffix('.ran').touch()\n"
    package(tmp_path, monkeypatch, source=run, entry_points="[signoff.plugins]\ntea = tea_plugin:Tea\n")
    folder = written(tmp_path / "plugins", other=run, _hidden=run + PLUGIN.format(name="Hidden"))
    found = load_plugins(folder=folder)
    assert found.loaded == []
    assert found.faults == ["file other.py: it derives no class from agent_core.plugins.Plugin"]
    assert [*tmp_path.rglob("*.ran")] == []


@pytest.mark.proves("plugin:aside")
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def", "SyntaxError: "),
        ("import missing_tea\n" + PLUGIN.format(name="Tea"), "ModuleNotFoundError: No module named 'missing_tea'"),
        (PLUGIN.format(name="Tea") + "\nraise SystemExit(3)\n", "SystemExit: 3"),
        (PLUGIN.format(name="Tea") + "    def __init__(self): raise OSError\n", "OSError: no text"),
        (PLUGIN.format(name="Tea").replace("'Tea'", "'two words'"), "'two words' is no name of a plugin"),
    ],
)
def test_one_that_cannot_be_loaded_is_a_line_and_the_others_are_loaded(
    tmp_path: Path, source: str, reason: str
) -> None:
    found = load_plugins(folder=written(tmp_path, bad=source, good=PLUGIN.format(name="Good")))
    assert [each.name for each in found.loaded] == ["Good"]
    (fault,) = found.faults
    assert fault.startswith(f"file bad.py: {reason}")
    assert "\n" not in fault


def test_a_second_plugin_of_a_name_and_a_folder_that_is_not_there_are_told(tmp_path: Path) -> None:
    twice = written(tmp_path, a=PLUGIN.format(name="Tea"), b=PLUGIN.format(name="Tea"))
    assert load_plugins(folder=twice).faults == ["file b.py: there is a plugin Tea already"]
    assert load_plugins(["no_such_tea"], tmp_path / "none").faults == [
        "package no_such_tea: ModuleNotFoundError: No module named 'no_such_tea'",
        f"{tmp_path}/none: No such file or directory",
    ]


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


@pytest.mark.slow
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
