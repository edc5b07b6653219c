"""Downloads files from a chat platform's own hosts; the target of each redirect is checked before it is asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aiohttp import ClientResponse, ClientSession, ClientTimeout
from yarl import URL

from adapters.http_body import read_limited

TIMEOUT_SECONDS = 60
MAX_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})


class DownloadRefused(Exception):
    """The platform did not return the file; the message gives the status, or where it redirects to."""


@dataclass(frozen=True, slots=True)
class Downloaded:
    """A file with the content type that the platform gave."""

    content_type: str
    data: bytes


async def download(
    url: URL, is_own: Callable[[URL], bool], max_bytes: int, headers: Mapping[str, str] | None = None
) -> Downloaded:
    """Download a file; redirects are followed to addresses that `is_own` accepts, with the same headers.

    Raise DownloadRefused, ReplyTooLong, or an error of aiohttp.
    """
    async with ClientSession(timeout=ClientTimeout(total=TIMEOUT_SECONDS), trust_env=True) as session:
        for _ in range(MAX_REDIRECTS + 1):
            if not is_own(url):
                raise DownloadRefused(f"it redirects to {url.raw_host or 'nowhere'}")
            async with session.get(url, headers=headers, allow_redirects=False) as answer:
                if answer.status not in REDIRECTS:
                    return await _read(answer, max_bytes)
                url = answer.url.join(URL(answer.headers.get("Location", "")))
    raise DownloadRefused("it redirects too often")


async def _read(answer: ClientResponse, max_bytes: int) -> Downloaded:
    if answer.status != 200:
        raise DownloadRefused(str(answer.status))
    return Downloaded(answer.content_type, await read_limited(answer, max_bytes))


def is_on(url: URL, domains: tuple[str, ...]) -> bool:
    """Whether an address is at a subdomain of one of these, which begin with a dot, by HTTPS."""
    return url.scheme == "https" and (url.raw_host or "").endswith(domains)
