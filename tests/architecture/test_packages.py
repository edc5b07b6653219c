"""Tests whose system packages are missing do not run, and the last line says so; where CI is set that is an error."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from agent_core.providers.system_packages import install_command
from tests.packages import NotInstalled, is_required, need, summary

TESTS = Path(__file__).parents[1]
SOME = (  # in a sandbox or a double of one, in a browser, with git or a double of it
    "tests/contract/test_sandbox.py::test_what_a_program_prints_is_given",
    "tests/browser/test_workspace.py::test_what_the_model_writes_is_shown_as_text",
    "tests/contract/test_web_port.py::test_a_repository_is_cloned",
)
NEEDED = "Not installed, or not working here:"
MISSING = (
    f"{NEEDED} bubblewrap (2), chromium (1), git (1), util-linux (2). "
    f"Install: {install_command('bubblewrap', 'chromium', 'git', 'util-linux')}"
)


async def ended(folder: Path, **environ: str) -> tuple[int, list[str]]:
    """The exit status and the lines of some tests, on a machine with Python alone."""
    given = {"PATH": str(folder), "HOME": str(folder), "PLAYWRIGHT_BROWSERS_PATH": str(folder), **environ}
    command = (sys.executable, "-m", "pytest", "-q", "-n", "1", "-m", "", "-p", "no:cacheprovider", *SOME)
    process = await asyncio.create_subprocess_exec(
        *command, cwd=TESTS.parent, env=given, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    return await process.wait(), said.decode().splitlines()


@pytest.mark.slow
async def test_what_needs_a_missing_package_does_not_run_and_the_last_line_says_so(tmp_path: Path) -> None:
    status, lines = await ended(tmp_path)
    assert (status, lines[-2].partition(" in ")[0], lines[-1]) == (
        0,
        "2 passed, 4 skipped",
        f"4 tests did not run. {MISSING}",
    )


@pytest.mark.slow
async def test_a_missing_package_is_an_error_where_ci_is_set(tmp_path: Path) -> None:
    status, lines = await ended(tmp_path, CI="true")
    assert (status, "skipped" in lines[-2]) == (1, False)
    assert lines[-1] == f"4 tests did not run, which is an error as CI is set. {MISSING}"


def test_a_package_that_is_not_installed_is_told_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(NotInstalled) as missing:
        need("git", "bubblewrap")
    install = install_command("git", "bubblewrap")
    assert str(missing.value) == f"This test needs git, bubblewrap. Install: {install}"
    assert summary([("git",)]) == f"1 test did not run. {NEEDED} git (1). Install: {install_command('git')}"


@pytest.mark.parametrize(
    ("package", "program", "words"),
    [
        ("chromium", "chromium", "libnss3.so: cannot open shared object file"),
        ("bubblewrap", "bwrap", "No permissions to create new namespace"),
    ],
)
def test_a_program_that_does_not_start_is_a_missing_one(
    package: str, program: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / program).write_text(f"#!/bin/sh\necho {words} >&2\nexit 127\n")
    (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(NotInstalled, match=package):
        need(package)


@pytest.mark.parametrize(("value", "required"), [("true", True), ("1", True), ("false", False), ("0", False)])
def test_a_missing_package_is_an_error_only_where_ci_is_true(
    value: str, required: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", value)
    assert is_required() is required


def test_every_package_manager_is_told_its_own_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert install_command("git").endswith("apt-get install git")
    (tmp_path / "dnf").touch(mode=0o755)
    assert install_command("git").removeprefix("sudo ") == "dnf install git"


def test_real_sandboxes_are_made_where_their_packages_are_asked_for() -> None:
    makers = [path.name for path in TESTS.rglob("*.py") if "bubblewrap_sandbox(" in path.read_text(encoding="utf-8")]
    assert sorted(makers) == ["sandboxes.py", Path(__file__).name]
