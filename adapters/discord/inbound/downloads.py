"""Files that people dropped, read from Discord up to the size that is taken and no further."""

from aiohttp import ClientSession, ClientTimeout

from adapters.limited_replies import read_limited
from agent_core.service.uploads import MAX_UPLOAD_BYTES

FILE_TIMEOUT_SECONDS = 60


async def read_file(url: str) -> bytes:
    """The file, in place of discord.py's own `get_from_cdn`, which reads replies of any length.

    Raise ReplyTooLong for more than Signoff takes, whatever Discord said of its size.
    """
    async with (
        ClientSession(timeout=ClientTimeout(total=FILE_TIMEOUT_SECONDS), trust_env=True) as session,
        session.get(url, allow_redirects=False, raise_for_status=True) as answer,
    ):
        return await read_limited(answer, MAX_UPLOAD_BYTES)
