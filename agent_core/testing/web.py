"""A web of pages, files and repositories that a test defines."""

from dataclasses import dataclass, field, replace

from agent_core.errors import CommandError
from agent_core.model.sites import Sites
from agent_core.ports.web import Address, Cloned, Fetched, Page
from agent_core.providers.egress.address_policy import inside
from agent_core.providers.egress.urls import Target, refused, shown_host, target_of

PUBLIC_ADDRESS = "93.184.216.34"


@dataclass(slots=True)
class InMemoryWeb:
    """See `Web` in the ports: resources by URL. The URLs of all requests are recorded in `asked`.

    Host names that `addresses` does not list resolve to a public address.
    """

    pages: dict[str, Page] = field(default_factory=dict)
    files: dict[str, Fetched] = field(default_factory=dict)
    repositories: dict[str, Cloned] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def hold(self, page: Page) -> None:
        """Add a page."""
        self.pages[page.url] = page
        self.files[page.url] = Fetched(url=page.url, kind="text/html", data=page.text.encode(), charset="utf-8")

    def host_of(self, url: str, sites: Sites) -> str:
        self._admitted(url, sites)
        return shown_host(url)

    async def fetch(self, url: str, sites: Sites, most: int) -> Fetched:
        fetched = self.files.get(self._asked(url, sites))
        if fetched is None:
            raise CommandError(f"{target_of(url).host} answered 404. There is no such page.")
        if len(fetched.data) > most:
            raise CommandError(f"What {target_of(url).host} sends is too much: {len(fetched.data):,} bytes.")
        return replace(fetched, hosts=self._hosts(url))

    async def page(self, url: str, sites: Sites) -> Page:
        page = self.pages.get(self._asked(url, sites))
        if page is None:
            raise CommandError(f"{target_of(url).host} answered 404. There is no such page.")
        return replace(page, hosts=self._hosts(url))

    async def clone(self, url: str, sites: Sites, most: int) -> Cloned:
        """The repository of that URL; files beyond `most` bytes are left out."""
        cloned = self.repositories.get(self._asked(url, sites))
        if cloned is None:
            raise CommandError(f"There is no git repository at {url}.")
        fitting = [path for path, data in cloned.files if (most := most - len(data)) >= 0]
        files = tuple((path, data) for path, data in cloned.files if path in fitting)
        over = tuple(f"{path} (no room)" for path, _ in cloned.files if path not in fitting)
        return replace(cloned, files=files, left_out=(*cloned.left_out, *over), hosts=self._hosts(url))

    def _hosts(self, url: str) -> tuple[Address, ...]:
        target = target_of(url)
        return (Address(target.host, str(target.address or self.addresses.get(target.host, PUBLIC_ADDRESS))),)

    def _asked(self, url: str, sites: Sites) -> str:
        target = self._admitted(url, sites)
        self.asked.append(target.url)
        return target.url

    def _admitted(self, url: str, sites: Sites) -> Target:
        target = target_of(url)
        if why := sites.refusal(target.host):
            raise refused(target.url, why.rstrip("."))
        if target.is_inner or (target.address and inside(target.address)):
            raise refused(target.url, f"{target.host} is inside")
        return target
