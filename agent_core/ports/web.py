"""Ports of web access (fetch, read a page, clone), all by the egress gateway, and of web search, with their results."""

from dataclasses import dataclass
from typing import Protocol

from agent_core.model.channel_settings import Sites


@dataclass(frozen=True, slots=True)
class ContactedHost:
    """A host that received a request, and the IP address it was resolved to."""

    host: str
    ip: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedContent:
    """An HTTP response. `url` is the final URL after redirects, `kind` the media type without parameters.

    `hosts`: all hosts that received a request, redirects included, in order.
    """

    url: str
    kind: str
    data: bytes
    charset: str = ""
    hosts: tuple[ContactedHost, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a page: an absolute http or https URL with its text."""

    url: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page as text. `remark` is a sentence on why the page could not be read completely, or ""."""

    url: str
    title: str
    text: str
    links: tuple[Link, ...] = ()
    remark: str = ""
    hosts: tuple[ContactedHost, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClonedRepository:
    """Files of a repository's newest commit: path and bytes of each. `left_out`: skipped paths as "path (reason)"."""

    commit: str
    files: tuple[tuple[str, bytes], ...]
    left_out: tuple[str, ...] = ()
    hosts: tuple[ContactedHost, ...] = ()


class Web(Protocol):
    """HTTP and HTTPS on the public internet, limited to the sites that the channel allows.

    Every method raises CommandError with one sentence for the model: what failed, why, what to do. It refuses internal
    addresses in any notation (loopback, private networks, cloud metadata), names that resolve to an internal address,
    URLs with credentials, and hosts that `sites` denies. It checks every redirect like the first URL (SSRF protection).
    Size, time and media type of responses are limited. Cancelling a call ends its request.
    """

    def host_of(self, url: str, sites: Sites) -> str:
        """The host as shown to people before they approve.

        Makes no DNS lookup and no request. Raise CommandError if the URL can be refused without any. If the host is
        written in another form, both forms are given: "bücher.example (xn--bcher-kva.example)".
        """

    async def fetch(self, url: str, sites: Sites, most: int) -> FetchedContent:
        """The response body, decompressed; raise CommandError for more than `most` bytes."""

    async def page(self, url: str, sites: Sites) -> Page:
        """A page (HTML, plain text, JSON, XML, PDF) as text; raise CommandError for other kinds, such as an image."""

    async def clone(self, url: str, sites: Sites, most: int) -> ClonedRepository:
        """Files of a git repository, at most `most` bytes in all; no code from the repository is executed."""


@dataclass(frozen=True, slots=True)
class WebHit:
    """A search result; `text` is the excerpt that the search engine gave."""

    title: str
    url: str
    text: str


class Search(Protocol):
    """Web search."""

    async def search(self, query: str, most: int) -> tuple[WebHit, ...]:
        """Up to `most` results, best first; raise CommandError with a message without secrets."""
