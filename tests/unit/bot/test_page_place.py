"""`address` says where the page is served, which the command line of the process may have chosen."""

import asyncio
import socket
from pathlib import Path

import pytest

from bot.private_files import as_served, note_place
from bot.settings import load
from tests.command_line import said
from tests.e2e.process import free_port, running
from tests.patience import PATIENCE_SECONDS


def test_the_place_counts_while_somebody_listens_there(tmp_path: Path) -> None:
    given = load({"SIGNOFF_HOME": str(tmp_path)}, None)
    assert as_served(given) == given
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        note_place(load({"SIGNOFF_HOME": str(tmp_path), "PORT": str(port)}, None))
        assert as_served(given).address == f"http://127.0.0.1:{port}"
    assert as_served(given) == given
    (tmp_path / "page.place").write_text("what is this")
    assert as_served(given) == given


@pytest.mark.slow
async def test_address_prints_that_of_the_process_that_was_given_a_port(tmp_path: Path) -> None:
    port, home = free_port(), tmp_path / "elsewhere"
    async with running(tmp_path, "bot", "run", "--port", str(port), "--home", str(home)) as started:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await started.says("Signoff is at ")
        code, printed = await said(tmp_path, "address", "--home", str(home))
    assert (code, f"@127.0.0.1:{port}/enter" in printed) == (0, True)
