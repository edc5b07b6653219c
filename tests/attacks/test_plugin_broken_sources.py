"""A broken source in PLUGINS_DIR is one clear line, and stops nothing else."""

import zipfile
from pathlib import Path

import pytest

from agent_core.capabilities.autogpt.discovery import Choice, Discovery
from tests.attacks.rows import attack
from tests.autogpt_plugins import plugin_source, zipped


def damaged(path: Path, kind: int) -> None:
    """A zip whose directory is whole, and whose file is not."""
    with zipfile.ZipFile(path, "w", kind) as archive:
        archive.writestr("bad_plugin/__init__.py", plugin_source() * 50)
        begin = archive.infolist()[0].header_offset + 30 + len("bad_plugin/__init__.py")
    data = bytearray(path.read_bytes())
    data[begin : begin + 60] = b"\xff" * 60
    path.write_bytes(data)


DAMAGED = attack("plugins", "Damaging a zip of PLUGINS_DIR", "named in one line; the next plugin is found")
LONG = attack("plugins", "Writing a class whose base takes 900 steps", "passed over; the next plugin is found")


@pytest.mark.parametrize(
    "kind", [pytest.param(zipfile.ZIP_DEFLATED, marks=DAMAGED), zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_a_damaged_zip_is_named_and_the_next_plugin_is_found(tmp_path: Path, kind: int) -> None:
    damaged(tmp_path / "bad.zip", kind)
    zipped(tmp_path / "tea.zip", {"tea_plugin/__init__.py": plugin_source()})
    discovery = Discovery(choice=Choice.of(("bad", "tea"), ()))
    discovery.look_into(tmp_path)
    assert [each.kind.name for each in discovery.plugins] == ["TeaPlugin"]
    assert any("bad.zip" in fault for fault in discovery.faults)


@pytest.mark.parametrize(
    "base", [pytest.param("1" + "+1" * 900, marks=LONG), "x" + ".x" * 900, "x" + "()" * 900, "-" * 150 + "1"]
)
def test_a_class_with_a_long_base_stops_nothing(tmp_path: Path, base: str) -> None:
    zipped(tmp_path / "bad.zip", {"bad_plugin/__init__.py": f"class Bad({base}): pass\n"})
    zipped(tmp_path / "tea.zip", {"tea_plugin/__init__.py": plugin_source()})
    discovery = Discovery(choice=Choice.of(("tea",), ()))
    discovery.look_into(tmp_path)
    assert [each.kind.name for each in discovery.plugins] == ["TeaPlugin"]
