"""Which plugins of AutoGPT are found in zips, folders and packages, and which of them may run. Nothing is run."""

import zipfile
from pathlib import Path

import pytest

from agent_core.capabilities.autogpt.class_search import plugin_classes
from agent_core.capabilities.autogpt.declared import types_of
from agent_core.capabilities.autogpt.discovery import Choice, Discovery
from tests.autogpt_plugins import plugin_source, zipped

HOOK = "    def can_handle_{0}(self): return False\n    def {0}(self, *given): return None\n"
DUCK = "class Duck:\n" + HOOK.format("post_prompt") + HOOK.format("pre_command")
TRAP = "raise SystemExit('it was run')\n"


def looked(folder: Path, *allowed: str, denied: tuple[str, ...] = ()) -> Discovery:
    discovery = Discovery(choice=Choice.of(allowed, denied, "ALLOWLISTED_PLUGINS"))
    discovery.look_into(folder)
    return discovery


def names(sources: dict[str, str]) -> list[str]:
    return [each.name for each in plugin_classes({path: text.encode() for path, text in sources.items()})]


SOURCES = [
    ("from auto_gpt_plugin_template import AutoGPTPluginTemplate as T\nclass Tea(T): pass", ["Tea"]),
    ("import auto_gpt_plugin_template as t\nclass Tea(t.AutoGPTPluginTemplate): pass", ["Tea"]),
    ("from auto_gpt_plugin_template import *\nclass Tea(AutoGPTPluginTemplate): pass", ["Tea"]),
    ("class AutoGPTPluginTemplate: pass\nclass Tea(AutoGPTPluginTemplate): pass", ["Tea"]),
    ("class AutoGPTPluginTemplate: pass", []),
    ("class Base(AutoGPTPluginTemplate): pass\nclass Tea(Base): pass", ["Tea"]),
    ("try:\n    class Tea(AutoGPTPluginTemplate): pass\nexcept ImportError: pass", ["Tea"]),
    ("def make():\n    class Tea(AutoGPTPluginTemplate): pass", []),
    (DUCK, ["Duck"]),
    ("class Other:\n" + HOOK.format("post_prompt"), []),
    ("class Broken(AutoGPTPluginTemplate:", []),
    ("\0", []),
    ("(" * 5_000, []),
    ("x = " + "-" * 20_000 + "1", []),
]


@pytest.mark.parametrize(("source", "found"), SOURCES, ids=range(len(SOURCES)))
def test_plugins_are_found_by_their_base_or_their_hooks(source: str, found: list[str]) -> None:
    assert names({"tea/__init__.py": source}) == found


def test_tests_and_second_copies_are_no_plugins() -> None:
    source = "class Tea(AutoGPTPluginTemplate): pass"
    assert names({"tea/__init__.py": source, "build/tea/__init__.py": source, "tests/test_tea.py": source}) == ["Tea"]


@pytest.mark.proves("autogpt:found")
def test_nothing_is_run_and_what_is_not_allowed_is_named(tmp_path: Path) -> None:
    zipped(tmp_path / "tea.zip", {"tea/__init__.py": TRAP + plugin_source("TeaPlugin")})
    zipped(tmp_path / "mate.zip", {"mate/__init__.py": TRAP + plugin_source("MatePlugin")})
    found = looked(tmp_path, "TeaPlugin")
    assert [each.title for each in found.plugins] == ["TeaPlugin (zip tea.zip)"]
    assert found.faults == ["zip mate.zip: MatePlugin not allowed; ALLOWLISTED_PLUGINS names what may run"]


@pytest.mark.proves("autogpt:found")
@pytest.mark.parametrize("name", ["TEAPLUGIN", "tea_plugin", "all_teas"])
def test_a_plugin_is_allowed_and_denied_by_the_name_of_class_folder_or_zip(tmp_path: Path, name: str) -> None:
    zipped(tmp_path / "all_teas.zip", {"x/src/autogpt_plugins/tea_plugin/__init__.py": plugin_source("TeaPlugin")})
    assert [each.kind.name for each in looked(tmp_path, name).plugins] == ["TeaPlugin"]
    both = looked(tmp_path, name, denied=(name,))
    assert (both.plugins, both.faults) == ([], [])


def test_a_folder_is_a_plugin_and_signoffs_own_are_passed_by(tmp_path: Path) -> None:
    (tmp_path / "tea").mkdir()
    (tmp_path / "tea" / "__init__.py").write_text(plugin_source("TeaPlugin"))
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "__init__.py").write_text("from agent_core.plugins import Plugin\nclass Own(Plugin): pass")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "read.txt").write_text("nothing")
    (tmp_path / "own_file.py").write_text("from agent_core.plugins import Plugin\nclass Own(Plugin): pass")
    found = looked(tmp_path, "tea", "own")
    assert [(each.kind.name, each.kind.module, each.kind.root) for each in found.plugins] == [("TeaPlugin", "tea", ".")]
    assert found.faults == []


PLACES = [
    ("Auto-GPT-Plugins-master/src/autogpt_plugins/email/__init__.py", "autogpt_plugins/email"),
    ("Auto-GPT-Tea-main/src/tea/__init__.py", "tea"),
    ("__init__.py", "tea"),
    ("my-tea/plugin.py", "plugin"),
]


@pytest.mark.parametrize(("path", "module"), PLACES)
def test_the_module_of_a_plugin_is_where_its_own_imports_expect_it(tmp_path: Path, path: str, module: str) -> None:
    zipped(tmp_path / "tea.zip", {path: plugin_source("TeaPlugin")})
    (found,) = looked(tmp_path, "tea").plugins
    assert found.kind.module == module


def installed(folder: Path, name: str, source: str) -> str:
    package = folder / name.replace(".", "/")
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(source)
    return str(folder)


@pytest.mark.proves("autogpt:found")
def test_a_named_package_is_allowed_by_that_and_run_only_by_the_python_of_plugins(tmp_path: Path) -> None:
    theirs = installed(tmp_path / "theirs", "some.tea", TRAP + plugin_source("TeaPlugin"))
    own = installed(tmp_path / "own", "mate", TRAP + plugin_source("MatePlugin"))
    installed(tmp_path / "own", "native", "from agent_core.plugins import Plugin\nclass Own(Plugin): pass")
    found = Discovery(choice=Choice.of((), ("soup",)))
    found.look_at(("some.tea", "mate", "native", "nowhere", "soup"), [theirs], [own])
    assert [(each.kind.name, each.kind.module) for each in found.plugins] == [("TeaPlugin", "some/tea")]
    assert found.packages == ["some.tea", "mate"]
    assert found.faults == ["package mate: the Python of plugins does not have it"]


@pytest.mark.slow
def test_what_cannot_be_used_is_a_line_each(tmp_path: Path) -> None:
    (tmp_path / "broken.zip").write_bytes(b"PK\3\4 no zip")
    zipped(tmp_path / "copy.zip", {"auto_gpt_plugin_template/__init__.py": "class AutoGPTPluginTemplate: pass"})
    zipped(tmp_path / "empty.zip", {"readme.md": "nothing"})
    with zipfile.ZipFile(tmp_path / "large.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("large/__init__.py", b" " * 60_000_000)
    zipped(tmp_path / "many.zip", {f"many/{number}.py": "" for number in range(3_001)})
    zipped(tmp_path / "outside.zip", {"../outside/__init__.py": plugin_source(), "/etc/tea.py": plugin_source()})
    assert looked(tmp_path).faults == [
        "broken.zip: File is not a zip file",
        "zip copy.zip: it holds only a copy of the template",
        "zip empty.zip: it holds no plugin of AutoGPT",
        "large.zip: it has more than 50,000,000 bytes",
        "many.zip: it has more than 3,000 files",
        "zip outside.zip: it holds no plugin of AutoGPT",
    ]


def test_the_hash_of_a_zip_changes_with_its_files_alone(tmp_path: Path) -> None:
    versions = []
    for text in ("1", "1", "2"):
        zipped(tmp_path / "tea.zip", {"tea/__init__.py": plugin_source(), "tea/data.txt": text})
        (found,) = looked(tmp_path, "tea").plugins
        versions.append(found.source.version)
    assert versions[0] == versions[1] != versions[2]
    assert versions[0].startswith("sha256:")


@pytest.mark.parametrize(
    ("hint", "types"),
    [
        ("<int>", "integer"),
        ("<integer: how many>", "integer"),
        ("int", "integer"),
        ("<float>", "number"),
        ("<bool: over if true>", "boolean"),
        ("<dict>", "object"),
        ("<JSON object of the order>", "object"),
        ('{"name": "<name>", "size": 3}', "object"),
        ("<list of ids>", "array"),
        ('["<url>"]', "array"),
        ("<target number 1-99>", ["number", "string"]),
        ("<number of results>", ["number", "string"]),
        ("<amount as string e.g. '0.001'>", "string"),
        ("<list of words as text>", "string"),
        ("{not json}", ["object", "string"]),
        ("<kind of tea>", "string"),
        ("<point of interest>", "string"),
        ("", "string"),
    ],
)
def test_an_argument_has_the_type_that_its_hint_names(hint: str, types: object) -> None:
    assert types_of(hint) == types
