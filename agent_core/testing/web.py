"""A web in memory of the pages, files and repositories that a test defines."""

from dataclasses import dataclass, field, replace

from agent_core.errors import CommandError
from agent_core.model.channel_settings import Sites
from agent_core.ports.web import ClonedRepository, ContactedHost, FetchedContent, Page
from agent_core.providers.egress.address_policy import describe_internal
from agent_core.providers.egress.urls import Target, display_host, parse_url, url_error

PUBLIC_ADDRESS = "93.184.216.34"


@dataclass(slots=True)
class InMemoryWeb:
    """See `Web` in the ports: resources by URL. The URLs of all requests are recorded in `asked`.

    Host names that `addresses` does not list resolve to a public address.
    """

    pages: dict[str, Page] = field(default_factory=dict)
    files: dict[str, FetchedContent] = field(default_factory=dict)
    repositories: dict[str, ClonedRepository] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def hold(self, page: Page) -> None:
        self.pages[page.url] = page
        self.files[page.url] = FetchedContent(url=page.url, kind="text/html", data=page.text.encode(), charset="utf-8")

    def host_of(self, url: str, sites: Sites) -> str:
        self._admitted(url, sites)
        return display_host(url)

    async def fetch(self, url: str, sites: Sites, most: int) -> FetchedContent:
        fetched = self.files.get(self._asked(url, sites))
        if fetched is None:
            raise CommandError(f"{parse_url(url).host} answered 404. There is no such page.")
        if len(fetched.data) > most:
            raise CommandError(f"What {parse_url(url).host} sends is too much: {len(fetched.data):,} bytes.")
        return replace(fetched, hosts=self._hosts(url))

    async def page(self, url: str, sites: Sites) -> Page:
        page = self.pages.get(self._asked(url, sites))
        if page is None:
            raise CommandError(f"{parse_url(url).host} answered 404. There is no such page.")
        return replace(page, hosts=self._hosts(url))

    async def clone(self, url: str, sites: Sites, most: int) -> ClonedRepository:
        """The repository at that URL. From the first file that exceeds `most` bytes in all, files are left out."""
        cloned = self.repositories.get(self._asked(url, sites))
        if cloned is None:
            raise CommandError(f"There is no git repository at {url}.")
        fitting = [path for path, data in cloned.files if (most := most - len(data)) >= 0]
        files = tuple((path, data) for path, data in cloned.files if path in fitting)
        over = tuple(f"{path} (no room)" for path, _ in cloned.files if path not in fitting)
        return replace(cloned, files=files, left_out=(*cloned.left_out, *over), hosts=self._hosts(url))

    def _hosts(self, url: str) -> tuple[ContactedHost, ...]:
        target = parse_url(url)
        return (ContactedHost(target.host, str(target.address or self.addresses.get(target.host, PUBLIC_ADDRESS))),)

    def _asked(self, url: str, sites: Sites) -> str:
        target = self._admitted(url, sites)
        self.asked.append(target.url)
        return target.url

    def _admitted(self, url: str, sites: Sites) -> Target:
        target = parse_url(url)
        if why := sites.refusal(target.host):
            raise url_error(target.url, why.rstrip("."))
        if target.is_internal_name or (target.address and describe_internal(target.address)):
            raise url_error(target.url, f"{target.host} is inside")
        return target
