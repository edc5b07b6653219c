"""Downloads uploaded files from Discord, up to the size limit."""

import discord
from aiohttp import ClientError, ClientSession, ClientTimeout

from adapters.http_body import ReplyTooLong, read_limited
from agent_core.errors import InvalidInput
from agent_core.service.uploads import MAX_UPLOAD_BYTES, too_large

FILE_TIMEOUT_SECONDS = 60


async def read_file(url: str) -> bytes:
    """Download a file; replaces discord.py's `get_from_cdn`, which reads replies of any length.

    Raise ReplyTooLong if it exceeds Signoff's limit, whatever size Discord reports.
    """
    async with (
        ClientSession(timeout=ClientTimeout(total=FILE_TIMEOUT_SECONDS), trust_env=True) as session,
        session.get(url, allow_redirects=False, raise_for_status=True) as answer,
    ):
        return await read_limited(answer, MAX_UPLOAD_BYTES)


async def fetch_file(file: discord.Attachment) -> tuple[str, bytes]:
    """The name and bytes of an uploaded file; raise InvalidInput if it cannot be downloaded."""
    if file.size > MAX_UPLOAD_BYTES:
        raise too_large(file.filename)
    try:
        return file.filename, await file.read()
    except ReplyTooLong:
        raise too_large(file.filename) from None
    except (discord.DiscordException, ClientError, OSError, TimeoutError) as fault:
        said = f"{file.filename} could not be downloaded ({type(fault).__name__}). Upload it again."
        raise InvalidInput({"file": said}) from fault
