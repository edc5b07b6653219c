"""Nothing of a package in PLUGIN_PYTHON runs outside the sandbox when Signoff asks that Python what it has."""

import sys
import venv
from pathlib import Path

import pytest

from agent_core.capabilities.autogpt.plugin_python import PluginPython
from tests.attacks.rows import attack

SECRET = "sk-of-the-operator"


@attack("plugins", "Running from a .pth file at the start of PLUGIN_PYTHON", "not run: it is asked without such files")
def test_an_installed_package_runs_nothing_at_the_start_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    venv.create(tmp_path / "plugins", with_pip=False, symlinks=True)
    (packages,) = (tmp_path / "plugins" / "lib").glob(f"python{sys.version_info[0]}.*/site-packages")
    note = tmp_path / "note"
    line = f"import os; open({str(note)!r}, 'w').write(os.environ.get('OPENAI_API_KEY', 'none'))\n"
    (packages / "tea_plugin.pth").write_text(line)  # as a wheel may bring it
    made = PluginPython.of(tmp_path / "plugins" / "bin" / "python")
    assert not note.exists()
    assert made.packages == (packages,)
