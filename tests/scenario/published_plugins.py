"""Published plugins of AutoGPT, taken from PyPI as they are, and a stand-in for the services that they use."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.packages import NotReachable

PUBLISHED = ("autogpt-rollhub==0.2.0", "skillbroker-autogpt==0.1.0")
FETCH_SECONDS = 120.0


def fetch_published(folder: Path) -> Path:
    """Install the published plugins into the folder, without what they depend on; raise NotReachable."""
    line = [sys.executable, "-m", "pip", "install", "--no-deps", "--quiet", "--no-compile", "--target", str(folder)]
    done = subprocess.run([*line, *PUBLISHED], check=False, capture_output=True, timeout=FETCH_SECONDS)
    if done.returncode:
        raise NotReachable("PyPI")
    folder.chmod(0o755)  # plugins run as another user
    return folder


@dataclass(slots=True)
class Service:
    """A server on this machine that answers with JSON. `answers`: by path; `asked`: method, path, key and body."""

    answers: dict[str, Any]
    asked: list[tuple[str, str, str, str]] = field(default_factory=list)
    url: str = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in head[1:])}
        body = (await reader.readexactly(int(headers.get("content-length", "0")))).decode()
        self.asked.append((method, path, headers.get("authorization", ""), body))
        found = next((each for start, each in self.answers.items() if path.startswith(start)), None)
        data = json.dumps(found).encode()
        status = "404 Not Found" if found is None else "200 OK"
        writer.write(f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n".encode())
        writer.write(b"Connection: close\r\n\r\n" + data)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def serving(answers: dict[str, Any]) -> AsyncIterator[Service]:
    service = Service(answers)
    server = await asyncio.start_server(service.answer, "127.0.0.1", 0)
    service.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield service
    finally:
        server.close()
        await server.wait_closed()
