"""Implements the web port: fetches, reads and renders pages and clones repositories, all by the egress gateway."""

from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Self

from agent_core.capabilities.documents.page_reader import ReadPage, is_page, read_page
from agent_core.capabilities.web.browser_pages import BrowserPages, browser_fault
from agent_core.capabilities.web.git_clone import GitCloner
from agent_core.errors import CommandError
from agent_core.model.channel_settings import Sites
from agent_core.ports.documents import Documents
from agent_core.ports.web import ClonedRepository, ContactedHost, FetchedContent, Page
from agent_core.providers.egress.address_policy import InternalHosts
from agent_core.providers.egress.gateway import EgressGateway, check_redirect
from agent_core.providers.egress.urls import display_host, parse_url
from agent_core.providers.egress.values import FetchLimits

MAX_PAGE_BYTES = 5_000_000
MAX_PASSAGES = 2  # pages that only lead to another one
PDF, PDF_MARK = "application/pdf", b"%PDF-"
NO_INTERNAL_HOSTS = InternalHosts()
NOT_RENDERED = "The page needs JavaScript, which is not run here: little of it could be read."


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayWeb:
    """Implements `Web`. Keeps no connections between calls, so there is nothing to close.

    `documents` reads PDF; without it, the page of a PDF raises CommandError.
    `browser` renders pages that need JavaScript; without it, such pages have a remark.
    """

    gateway: EgressGateway
    clones: GitCloner
    documents: Documents | None = None
    browser: BrowserPages | None = None

    @classmethod
    def of(
        cls, internal: InternalHosts = NO_INTERNAL_HOSTS, contact_url: str = "", documents: Documents | None = None
    ) -> Self:
        """Render pages if this machine has what that needs. `contact_url` is part of the User-Agent header."""
        gateway = EgressGateway(internal=internal, user_agent=user_agent(contact_url))
        browser = None if browser_fault() else BrowserPages(gateway=gateway)
        return cls(gateway=gateway, clones=GitCloner(gateway=gateway), documents=documents, browser=browser)

    def host_of(self, url: str, sites: Sites) -> str:
        self.gateway.check_target(parse_url(url), sites)
        return display_host(url)

    async def fetch(self, url: str, sites: Sites, most: int) -> FetchedContent:
        return await self.gateway.fetch(url, sites, FetchLimits(max_bytes=most))

    async def page(self, url: str, sites: Sites) -> Page:
        return await self._follow(url, sites, (), MAX_PASSAGES)

    async def _follow(self, url: str, sites: Sites, before: tuple[ContactedHost, ...], left: int) -> Page:
        """The page, or the one to which it leads; `before`: the hosts that led here."""
        fetched = await self.gateway.fetch(url, sites, FetchLimits(max_bytes=MAX_PAGE_BYTES, accepts=is_page))
        fetched = replace(fetched, hosts=tuple(dict.fromkeys((*before, *fetched.hosts))))
        if fetched.kind == PDF or fetched.data.startswith(PDF_MARK):
            return await self._pdf(fetched)
        read = await read_page(fetched.data, fetched.url, charset=fetched.charset, kind=fetched.kind)
        if not read.is_passage or not left:
            return await self._page(fetched, read, sites)
        check_redirect(parse_url(fetched.url), parse_url(read.leads_to))
        return await self._follow(read.leads_to, sites, fetched.hosts, left - 1)

    async def _page(self, fetched: FetchedContent, read: ReadPage, sites: Sites) -> Page:
        page = Page(url=fetched.url, title=read.title, text=read.text, links=read.links, hosts=fetched.hosts)
        if read.is_passage:
            return replace(page, remark=f"The page leads on to {read.leads_to}, which was followed no further.")
        if not read.needs_scripts:
            return page
        return await _render(self.browser, page, sites) if self.browser else replace(page, remark=NOT_RENDERED)

    async def clone(self, url: str, sites: Sites, most: int) -> ClonedRepository:
        return await self.clones.clone(url, sites, most)

    async def _pdf(self, fetched: FetchedContent) -> Page:
        if self.documents is None:
            raise CommandError(f"{fetched.url} is a PDF. download_file can fetch it, and read_file read it.")
        reading = await self.documents.text_of("page.pdf", fetched.data)
        return Page(url=fetched.url, title="", text=reading.text, remark=reading.note, hosts=fetched.hosts)


async def _render(browser: BrowserPages, page: Page, sites: Sites) -> Page:
    try:
        drawn = await browser.draw(page.url, sites)
        read = await read_page(drawn.html.encode("utf-8", "replace"), drawn.url, charset="utf-8")
    except CommandError as fault:
        return replace(page, remark=f"The page needs JavaScript. {fault}")
    hosts = tuple(dict.fromkeys((*page.hosts, *drawn.hosts)))
    return Page(url=drawn.url, title=read.title or page.title, text=read.text, links=read.links, hosts=hosts)


def user_agent(contact_url: str = "") -> str:
    """The User-Agent header, in the form that web crawlers use."""
    try:
        number = version("signoff")
    except PackageNotFoundError:
        number = "0"
    return f"Mozilla/5.0 (compatible; Signoff/{number}{f'; +{contact_url}' if contact_url else ''})"
