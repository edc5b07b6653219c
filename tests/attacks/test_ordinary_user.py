"""The sandbox once more, as an ordinary user: root's tests show both ways of shutting programs in."""

import asyncio
import os

import pytest

from tests.attacks.ordinary import run_tests
from tests.packages import need

SHOWN_TWICE = (
    "tests/attacks/test_sandbox.py",
    "tests/attacks/test_autogpt_plugins.py",
    "tests/contract/test_sandbox.py",
    "tests/unit/agent_core/capabilities/programs/test_sandbox.py",
)


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs these tests as one anyway")
@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_the_sandbox_holds_for_an_ordinary_user_too() -> None:
    done = await asyncio.to_thread(run_tests, *SHOWN_TWICE)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs these tests as one anyway")
@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_an_ordinary_users_chromium_has_its_own_sandbox() -> None:
    need("chromium")
    done = await asyncio.to_thread(run_tests, "tests/attacks/test_browser.py", "-k", "no_process or profile")
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout
