"""Running tests as somebody who owns nothing, on a copy of the project that they may read."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.packages import SANDBOX, need

ROOT = Path(__file__).parents[2]
COPIED = ("agent_core", "adapters", "bot", "tests")
NOBODY = "65534"
READABLE = 0o005
LONGEST = 240.0


@contextmanager
def project() -> Iterator[Path]:
    """A copy that anybody may read, in a folder that anybody may write to."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in COPIED:
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        (folder / "tmp").mkdir()
        for path in (folder, folder / "tmp"):
            path.chmod(0o777)
        yield folder


def run_tests(*paths: str) -> subprocess.CompletedProcess[str]:
    """Run the tests in these files as nobody, and give what pytest said."""
    need(*SANDBOX)
    with project() as folder:
        temporary = str(folder / "tmp")
        line = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "", "-p", "no:cacheprovider"]
        line += ["--basetemp", f"{temporary}/base"]
        user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
        given = {"PATH": os.environ["PATH"], "HOME": temporary, "TMPDIR": temporary, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            [*_view(), *user, *line, *paths],
            check=False, capture_output=True, text=True, cwd=folder, env=given, timeout=LONGEST,
        )  # fmt: skip


def _view() -> list[str]:
    """The machine as it is, except that this Python can be reached, also below a home that is closed to others."""
    view = ["bwrap", "--dev-bind", "/", "/", "--die-with-parent"]
    needed = {Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()}
    closed = {top for path in needed if (top := _closed(path))}
    for top in sorted(closed):
        view += ["--tmpfs", str(top)]
    for path in sorted(path for path in needed if _closed(path)):
        for folder in reversed(path.parents):
            view += ["--dir", str(folder)] if any(folder.is_relative_to(top) for top in closed) else []
        view += ["--ro-bind", str(path), str(path)]
    return [*view, "--"]


def _closed(path: Path) -> Path | None:
    """The first folder on the way there that others may not enter."""
    above = [*reversed(path.parents)]
    return next((folder for folder in above if folder.stat().st_mode & READABLE != READABLE), None)
