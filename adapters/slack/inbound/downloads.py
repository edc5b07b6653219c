"""Downloads files that people uploaded, from Slack's hosts only and up to the size limit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import ClientError
from yarl import URL

from adapters.file_download import DownloadRefused, download, is_on
from adapters.http_body import ReplyTooLong
from adapters.slack.api.client import SlackApi
from agent_core.errors import InvalidInput
from agent_core.service.uploads import MAX_UPLOAD_BYTES, too_large

FILE_HOSTS = (".slack.com", ".slack-files.com", ".slack-edge.com")
HTML = "text/html"


@dataclass(frozen=True, slots=True)
class SlackDownloads:
    """Downloads files. The token is sent only to `home`, the origin of Slack's API, and to Slack's file servers."""

    calls: SlackApi
    home: URL

    async def fetch(self, workspace: str, file: Mapping[str, Any]) -> tuple[str, bytes]:
        """The file's name and content; raise InvalidInput if it cannot be downloaded."""
        if "url_private_download" not in file:
            # Files shared from another organisation arrive without an address.
            answer = await self.calls.ask(workspace, lambda client: client.files_info(file=file["id"]), place="files")
            file = answer["file"]
        name = str(file.get("name") or file.get("title") or "file")
        url = _address(file)
        if not self._is_slacks(url):
            raise InvalidInput({"file": f"{name} is not stored by Slack, so it was not downloaded."})
        if int(file.get("size") or 0) > MAX_UPLOAD_BYTES:
            raise too_large(name)
        try:
            return name, await self._read(workspace, url, file)
        except ReplyTooLong:
            raise too_large(name) from None
        except DownloadRefused as refused:
            raise InvalidInput({"file": f"Slack did not return {name} ({refused})."}) from None
        except (ClientError, TimeoutError, OSError, ValueError) as fault:
            raise InvalidInput(
                {"file": f"{name} could not be downloaded ({type(fault).__name__}). Upload it again."}
            ) from fault

    async def _read(self, workspace: str, url: URL, file: Mapping[str, Any]) -> bytes:
        """The file; raise DownloadRefused if Slack shows its page to sign in instead."""
        token = (await self.calls.tokens.client(workspace)).token
        headers = {"Authorization": f"Bearer {token}"}
        found = await download(url, self._is_slacks, MAX_UPLOAD_BYTES, headers)
        if found.content_type == HTML and file.get("mimetype") != HTML:
            raise DownloadRefused("it shows a page to sign in instead: the app may lack the permission files:read")
        return found.data

    def _is_slacks(self, url: URL) -> bool:
        return is_on(url, FILE_HOSTS) or bool(url.scheme and url.raw_host and url.origin() == self.home)


def _address(file: Mapping[str, Any]) -> URL:
    try:
        return URL(str(file.get("url_private_download") or ""))
    except ValueError:
        return URL()
