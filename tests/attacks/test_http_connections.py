"""A request whose body never ends."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from agent_core.testing.language_model import ScriptedModel
from tests.attacks.rows import attack
from tests.patience import PATIENCE_SECONDS
from tests.scenario.served import served

FORM = b"POST /enter HTTP/1.1\r\nHost: 127.0.0.1\r\nSec-Fetch-Site: none\r\nContent-Length: 9\r\n\r\nto"


@pytest.mark.slow
@attack("http", "A form with a body that never ends", "408, and the connection is closed")
async def test_half_a_body_is_waited_for_so_long_and_no_longer(tmp_path: Path, answer: str) -> None:
    async with served(ScriptedModel(), tmp_path, body_seconds=0.2) as base, asyncio.timeout(PATIENCE_SECONDS):
        address = urlsplit(base)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(FORM)
        assert (await reader.readline()).split()[1] == answer[:3].encode()
        await reader.read()
        writer.close()
