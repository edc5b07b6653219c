"""Which plugins are found, and what is said of those that are not."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core.plugins.loading import MODULE_PREFIX, load_plugins
from tests.command_line import said

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


@pytest.mark.slow
async def test_the_doctor_names_plugins_and_what_is_wrong_with_them(tmp_path: Path) -> None:
    folder = written(tmp_path / "plugins", good=PLUGIN.format(name="Good"), bad="def")
    _, output = await said(tmp_path, "doctor", SIGNOFF_HOME="home", PLUGINS_DIR=str(folder))
    (line,) = [each for each in output.splitlines() if each.startswith("plugins")]
    assert line.split()[1] == "warn"
    assert re.search(r"Good sha256:\w+ \(0 commands\)\. Left out: ", line)
    assert "Left out: file bad.py: SyntaxError" in line
