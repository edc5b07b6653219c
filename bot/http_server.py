"""Serves the application by aiohttp as it is. A page that is open to others needs a proxy, which limits clients."""

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from agent_core.errors import SettingsError

GRACE_SECONDS = 2.0
KEEPALIVE_SECONDS = 75.0  # longer than proxies keep a connection, so that the proxy closes it
LINGER_SECONDS = 5.0  # for the rest of a body that nobody reads


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether the error is not that of a malformed request, which was answered with 400."""
    return not record.exc_info or not isinstance(record.exc_info[1], HttpProcessingError | web.RequestPayloadError)


logging.getLogger("aiohttp.server").addFilter(_is_ours)


@asynccontextmanager
async def serve_app(
    app: web.Application, host: str, port: int, *, keepalive_seconds: float = KEEPALIVE_SECONDS
) -> AsyncIterator[web.AppRunner]:
    """Serve the application inside the `with` block; raise SettingsError if the port is in use."""
    runner = web.AppRunner(
        app,
        access_log=None,
        shutdown_timeout=GRACE_SECONDS,
        keepalive_timeout=keepalive_seconds,
        lingering_time=LINGER_SECONDS,
    )
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as fault:
            said = f"{host}:{port} cannot be listened on ({os.strerror(fault.errno or 0)})."
            raise SettingsError("PORT", said, "8701") from fault
        yield runner
    finally:
        await runner.cleanup()
