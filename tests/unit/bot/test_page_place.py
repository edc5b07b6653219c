"""`address` says where the page is served, which the command line of the process may have chosen."""

import asyncio
import os
import socket
import stat
from pathlib import Path

import pytest

from agent_core.errors import SettingsError
from bot.private_files import as_served, note_place, page_key
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


def test_the_place_is_not_read_or_written_through_a_link_or_a_pipe(tmp_path: Path) -> None:
    home, precious, pipe = tmp_path / "home", tmp_path / "precious", tmp_path / "home" / "page.place"
    home.mkdir()
    precious.write_text("precious")
    given = load({"SIGNOFF_HOME": str(home)}, None)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        os.mkfifo(pipe)
        assert as_served(given) == given
        pipe.unlink()
        pipe.symlink_to(precious)
        note_place(load({"SIGNOFF_HOME": str(home), "PORT": str(port)}, None))
        assert (precious.read_text(), pipe.is_symlink(), as_served(given).port) == ("precious", False, port)
        assert stat.S_IMODE(pipe.stat().st_mode) == 0o600
        precious.write_text(pipe.read_text())
        pipe.unlink()
        pipe.symlink_to(precious)
        assert as_served(given) == given
        with socket.create_server(("127.0.0.9", 0)) as other:
            pipe.unlink()
            pipe.write_text(f"127.0.0.9 {other.getsockname()[1]}")
            assert as_served(given) == given


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file to another account")
def test_files_of_another_account_count_for_nothing(tmp_path: Path) -> None:
    given = load({"SIGNOFF_HOME": str(tmp_path)}, None)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        (tmp_path / "page.place").write_text(f"127.0.0.1 {listening.getsockname()[1]}")
        (tmp_path / "page.key").write_text("known")
        for name in ("page.place", "page.key"):
            os.chown(tmp_path / name, 4242, 4242)
        assert as_served(given) == given
        with pytest.raises(SettingsError, match="belongs to another account"):
            page_key(tmp_path)


@pytest.mark.slow
async def test_address_prints_that_of_the_process_that_was_given_a_port(tmp_path: Path) -> None:
    port, home = free_port(), tmp_path / "elsewhere"
    async with running(tmp_path, "bot", "run", "--port", str(port), "--home", str(home)) as started:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await started.says("Signoff is at ")
        code, printed = await said(tmp_path, "address", "--home", str(home))
    assert (code, f"@127.0.0.1:{port}/enter" in printed) == (0, True)
