"""Files that people dropped, read from Discord up to the size that is taken and no further."""

from aiohttp import ClientSession, ClientTimeout

from agent_core.service.received import MOST_BYTES

FILE_TIMEOUT_SECONDS, CHUNK_BYTES = 60, 65_536


class FileTooLong(Exception):
    """The file is longer than Signoff takes, whatever Discord said of its size."""


async def read_file(url: str) -> bytes:
    """The file, in place of discord.py's own `get_from_cdn`, which reads replies of any length."""
    data = bytearray()
    async with (
        ClientSession(timeout=ClientTimeout(total=FILE_TIMEOUT_SECONDS), trust_env=True) as session,
        session.get(url, allow_redirects=False, raise_for_status=True) as answer,
    ):
        async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
            data += chunk
            if len(data) > MOST_BYTES:
                raise FileTooLong
    return bytes(data)
