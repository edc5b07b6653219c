"""Downloads files that people uploaded, from Slack's hosts only and up to the size limit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from aiohttp import ClientError, ClientSession, ClientTimeout

from adapters.http_body import ReplyTooLong, read_limited
from adapters.slack.api.client import SlackApi
from agent_core.errors import InvalidInput
from agent_core.service.uploads import MAX_UPLOAD_BYTES, too_large

DOWNLOAD_TIMEOUT_SECONDS = 60
FILE_HOSTS = (".slack.com", ".slack-files.com", ".slack-edge.com")


@dataclass(frozen=True, slots=True)
class SlackDownloads:
    """Downloads files. The token is sent only to `home`, the host of Slack's API, and to Slack's file servers."""

    calls: SlackApi
    home: str

    async def fetch(self, workspace: str, file: Mapping[str, Any]) -> tuple[str, bytes]:
        """The file's name and content; raise InvalidInput if it cannot be downloaded."""
        if "url_private_download" not in file:
            # Files shared from another organisation arrive without an address.
            answer = await self.calls.ask(workspace, lambda client: client.files_info(file=file["id"]), place="files")
            file = answer["file"]
        name = str(file.get("name") or file.get("title") or "file")
        url = str(file.get("url_private_download") or "")
        if not self._is_slacks(url):
            raise InvalidInput({"file": f"{name} is not stored by Slack, so it was not downloaded."})
        if int(file.get("size") or 0) > MAX_UPLOAD_BYTES:
            raise too_large(name)
        try:
            return name, await self._read(workspace, url, name)
        except (ClientError, TimeoutError, OSError) as fault:
            raise InvalidInput(
                {"file": f"{name} could not be downloaded ({type(fault).__name__}). Upload it again."}
            ) from fault

    async def _read(self, workspace: str, url: str, name: str) -> bytes:
        token = (await self.calls.tokens.client(workspace)).token
        timeout, headers = ClientTimeout(total=DOWNLOAD_TIMEOUT_SECONDS), {"Authorization": f"Bearer {token}"}
        async with (
            ClientSession(timeout=timeout, trust_env=True) as session,
            session.get(url, headers=headers, allow_redirects=False) as answer,
        ):
            if answer.status != 200:
                raise InvalidInput({"file": f"Slack did not return {name} ({answer.status})."})
            try:
                return await read_limited(answer, MAX_UPLOAD_BYTES)
            except ReplyTooLong:
                raise too_large(name) from None

    def _is_slacks(self, url: str) -> bool:
        parts = urlsplit(url)
        host = parts.hostname or ""
        return (parts.scheme == "https" and host.endswith(FILE_HOSTS)) or (bool(host) and parts.netloc == self.home)
