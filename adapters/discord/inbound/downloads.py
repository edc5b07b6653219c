"""Downloads files that people uploaded to Discord, up to the size limit."""

import discord
from aiohttp import ClientError
from yarl import URL

from adapters.file_download import DownloadRefused, download, is_on
from adapters.http_body import ReplyTooLong
from agent_core.errors import InvalidInput
from agent_core.service.uploads import MAX_UPLOAD_BYTES, too_large

FILE_HOSTS = (".discord.com", ".discordapp.com", ".discordapp.net")


async def read_file(url: str) -> bytes:
    """Download a file; replaces discord.py's `get_from_cdn`, which reads replies of any length.

    Raise ReplyTooLong if it exceeds Signoff's limit, whatever size Discord reports, and DownloadRefused.
    """
    first = URL(url)
    own = first.origin()
    found = await download(first, lambda each: is_on(each, FILE_HOSTS) or each.origin() == own, MAX_UPLOAD_BYTES)
    return found.data


async def fetch_file(file: discord.Attachment) -> tuple[str, bytes]:
    """The name and bytes of an uploaded file; raise InvalidInput if it cannot be downloaded."""
    if file.size > MAX_UPLOAD_BYTES:
        raise too_large(file.filename)
    try:
        return file.filename, await file.read()
    except ReplyTooLong:
        raise too_large(file.filename) from None
    except DownloadRefused as refused:
        raise InvalidInput({"file": f"Discord did not return {file.filename} ({refused})."}) from None
    except (discord.DiscordException, ClientError, OSError, TimeoutError, ValueError) as fault:
        said = f"{file.filename} could not be downloaded ({type(fault).__name__}). Upload it again."
        raise InvalidInput({"file": said}) from fault
