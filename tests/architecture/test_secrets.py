"""`make secrets`, a part of `make check`: a key that was written into a file fails it, and is not printed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KEY = "ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"  # of nobody; in two parts, or it would be found here


def search(folder: Path) -> tuple[int, str]:
    (folder / ".venv").symlink_to(Path(sys.executable).parents[1])
    line = ["make", "--silent", f"--makefile={ROOT / 'Makefile'}", "--old-file=.venv/.dev", "secrets"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_a_key_in_a_file_is_found_and_not_printed(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text(f'TOKEN = "{KEY}"\n')
    status, said = search(tmp_path)
    assert (status, "settings.py" in said, KEY in said) == (2, True, False)


@pytest.mark.slow
def test_a_file_without_a_key_passes(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text('TOKEN = "your-key"\n')
    assert search(tmp_path)[0] == 0
