"""Finds model servers on this machine (Ollama, LM Studio, llama.cpp) to suggest them; none is used automatically."""

import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_core.ports.models import LocalServer
from agent_core.providers.limited_replies import MAX_JSON_BYTES, ReplyTooLong, read_limited
from agent_core.providers.llm.endpoint_check import model_ids

if TYPE_CHECKING:
    from aiohttp import ClientSession

PORTS = (11434, 1234, 8080, 8000, 1337)
NAMES = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp"}
TIMEOUT_SECONDS = 0.5


async def find_local_servers(ports: Sequence[int] = PORTS, host: str = "127.0.0.1") -> tuple[LocalServer, ...]:
    """Servers that list their models within 0.5 s, in the order of `ports`. Never raises; uses no proxy."""
    from aiohttp import ClientSession, ClientTimeout  # imported late

    async with ClientSession(timeout=ClientTimeout(total=TIMEOUT_SECONDS), trust_env=False) as session:
        found = await asyncio.gather(*(_server(session, host, port) for port in ports))
    return tuple(server for server in found if server)


async def _server(session: "ClientSession", host: str, port: int) -> LocalServer | None:
    from aiohttp import ClientError

    base_url = f"http://{host}:{port}/v1"
    try:
        async with session.get(f"{base_url}/models", allow_redirects=False) as response:
            answer = json.loads(await read_limited(response, MAX_JSON_BYTES)) if response.status == 200 else None
    except (ClientError, OSError, TimeoutError, ValueError, RecursionError, ReplyTooLong):
        return None
    models = model_ids(answer)
    return LocalServer(name=NAMES.get(port, "local server"), base_url=base_url, models=models) if models else None
