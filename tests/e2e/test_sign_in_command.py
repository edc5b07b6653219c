"""`python -m bot sign-in`: the browser comes back to this machine, or its last address is pasted."""

import asyncio
import json
import re
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from aiohttp import ClientSession

from tests.contract.servers.guarded import Doorkeeper, guarded_server
from tests.e2e.process import clean
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.slow
ADDRESS = re.compile(r"^https?://\S+/authorize\?\S+$", re.MULTILINE)


@asynccontextmanager
async def command(folder: Path, url: str, *arguments: str) -> AsyncIterator[Process]:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"guarded": {"url": url, "oauth": True}, "open": {"url": url}}}))
    environ = clean(folder, {"MCP_SERVERS": str(file), "MCP_SIGN_IN_KEY": "a-key-of-some-length"})
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", *arguments, cwd=folder, env=environ, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def output_of(folder: Path, url: str, *arguments: str) -> tuple[int | None, str]:
    async with command(folder, url, *arguments) as process:
        said, wrong = await process.communicate()
    return process.returncode, (said + wrong).decode()


async def page_of(process: Process) -> str:
    """The address that the command asks somebody to open."""
    assert process.stdout
    said = ""
    while not (found := ADDRESS.search(said)):
        line = await process.stdout.readline()
        assert line, said
        said += line.decode()
    return found[0]


@pytest.mark.proves("mcp:sign-in")
@pytest.mark.parametrize("is_pasted", [False, True])
async def test_somebody_signs_in_and_out(tmp_path: Path, *, is_pasted: bool) -> None:
    async with guarded_server(Doorkeeper()) as url:
        async with command(tmp_path, url, "sign-in", "guarded") as process, ClientSession() as browser:
            page = await page_of(process)
            here = parse_qs(urlsplit(page).query)["redirect_uri"][0]
            async with browser.get(f"{here}?code=forged&state=forged") as forged:
                assert (forged.status, "not the end of a sign-in" in await forged.text()) == (400, True)
            async with browser.get(page, allow_redirects=not is_pasted) as shown:
                back = shown.headers.get("Location", "")
                if not is_pasted:
                    assert "You can close this page." in await shown.text()
            said, _ = await process.communicate(f"nonsense\n{back}\n".encode() if is_pasted else None)
            assert process.returncode == 0, said
            assert "Signed in at guarded (127.0.0.1" in said.decode()
            assert "it offers 2 tools." in said.decode()
        _, report = await output_of(tmp_path, url, "doctor")
        assert "guarded (4 commands" in report
        assert "open (127.0.0.1" in report
        assert '"oauth": true' in report
        code, said_out = await output_of(tmp_path, url, "sign-out", "guarded")
        assert (code, "is forgotten" in said_out) == (0, True)
        _, report = await output_of(tmp_path, url, "doctor")
        assert "needs a sign-in: run python -m bot sign-in guarded" in report


async def test_a_name_that_needs_no_sign_in_is_told(tmp_path: Path) -> None:
    async with guarded_server(Doorkeeper()) as url:
        code, said = await output_of(tmp_path, url, "sign-in", "open")
    assert code == 2
    assert "'open' is not a server that requires a sign-in. Servers with oauth: guarded." in said
