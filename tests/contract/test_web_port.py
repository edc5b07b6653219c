"""What every web keeps: the real one against a site on this machine, and the one that tests are given."""

import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_core.capabilities.web.gateway_web import GatewayWeb
from agent_core.capabilities.web.git_clone import GitCloner
from agent_core.errors import CommandError
from agent_core.model.channel_settings import Sites
from agent_core.ports.web import ClonedRepository, ContactedHost, FetchedContent, Link, Page, Web
from agent_core.providers.egress.address_policy import InternalHosts
from agent_core.providers.egress.gateway import EgressGateway
from agent_core.testing.web import InMemoryWeb
from tests.standins.site import OPEN, Names, git_backend, page, site

ANYWHERE = Sites()
HOSTS = (ContactedHost("example.org", OPEN),)
TEXT = "Polyester strings give the most topspin."
FILES = {"README": b"Hello", "src/a.py": b"a = 1\n"}
HTML = f"<title>Strings</title><p>{TEXT}</p><a href='b#c'>More</a>"


class Served:
    """A web with a page at /strings, and the URL of what it serves. `add_repository` adds one at /git/it."""

    def __init__(self, web: Web, base: str, add_repository: Callable[[], None]) -> None:
        self.web, self.base, self.add_repository = web, base, add_repository


@asynccontextmanager
async def real(folder: Path) -> AsyncIterator[Served]:
    gateway = EgressGateway(internal=InternalHosts.of([OPEN]), resolve=Names())
    async with site() as here:
        here.answers["/strings"] = page(HTML)

        def add_repository() -> None:
            here.answers["/git/*"] = git_backend(folder)
            commit(folder / "it", FILES)

        yield Served(
            GatewayWeb(gateway=gateway, clones=GitCloner(gateway=gateway)), here.url("").rstrip("/"), add_repository
        )


@asynccontextmanager
async def in_memory(_folder: Path) -> AsyncIterator[Served]:
    base, web = "http://example.org", InMemoryWeb(addresses={"example.org": OPEN})
    url = f"{base}/strings"
    web.pages[url] = Page(url=url, title="Strings", text=f"{TEXT}\n\nMore", links=(Link(f"{base}/b", "More"),))
    web.files[url] = FetchedContent(url=url, kind="text/html", data=HTML.encode(), charset="utf-8")

    def add_repository() -> None:
        web.repositories[f"{base}/git/it"] = ClonedRepository(commit="a" * 40, files=tuple(FILES.items()))

    yield Served(web, base, add_repository)


def commit(folder: Path, files: dict[str, bytes]) -> None:
    """A repository with one commit."""
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "First"]):
        git = ["git", "-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-C", str(folder), *arguments]
        subprocess.run(git, check=True, capture_output=True)


@pytest.fixture(params=[real, in_memory])
async def served(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Served]:
    async with request.param(tmp_path) as served:
        yield served


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://example.org/strings", "example.org"),
        ("https://EXAMPLE.org./", "example.org"),
        ("https://bücher.example/", "bücher.example (xn--bcher-kva.example)"),
        ("https://ex%61mple.org/", "ex%61mple.org (example.org)"),
        ("https://1572395042/", "1572395042 (93.184.216.34)"),
        ("https://[2606:2800:220:1::7]/", "2606:2800:220:1::7"),
    ],
)
async def test_a_host_is_shown_as_it_is_written_with_the_one_that_is_meant(
    served: Served, url: str, shown: str
) -> None:
    assert served.web.host_of(url, ANYWHERE) == shown


async def test_a_page_is_read(served: Served) -> None:
    url = f"{served.base}/strings"
    links = (Link(f"{served.base}/b", "More"),)
    wanted = Page(url=url, title="Strings", text=f"{TEXT}\n\nMore", links=links, hosts=HOSTS)
    assert await served.web.page(url, ANYWHERE) == wanted


async def test_what_is_there_is_fetched(served: Served) -> None:
    url = f"{served.base}/strings"
    wanted = FetchedContent(url=url, kind="text/html", data=HTML.encode(), charset="utf-8", hosts=HOSTS)
    assert await served.web.fetch(url, ANYWHERE, 1_000) == wanted
    with pytest.raises(CommandError, match="is too much"):
        await served.web.fetch(url, ANYWHERE, 10)


@pytest.mark.slow
async def test_a_repository_is_cloned(served: Served) -> None:
    served.add_repository()
    cloned = await served.web.clone(f"{served.base}/git/it", ANYWHERE, 1_000_000)
    assert cloned.files == (("README", b"Hello"), ("src/a.py", b"a = 1\n"))
    assert (cloned.left_out, len(cloned.commit), cloned.hosts) == ((), 40, HOSTS)


async def test_files_beyond_the_room_are_left_out_with_the_reason(served: Served) -> None:
    served.add_repository()
    cloned = await served.web.clone(f"{served.base}/git/it", ANYWHERE, 7)
    assert (cloned.files, cloned.left_out) == ((("README", b"Hello"),), ("src/a.py (no room)",))


async def test_what_is_not_there_is_told(served: Served) -> None:
    with pytest.raises(CommandError, match=r"example\.org answered 404"):
        await served.web.page(f"{served.base}/none", ANYWHERE)
    with pytest.raises(CommandError, match=r"example\.org answered 404"):
        await served.web.fetch(f"{served.base}/none", ANYWHERE, 10)


async def test_a_repository_that_is_not_there_is_told(served: Served) -> None:
    served.add_repository()
    with pytest.raises(CommandError, match="There is no git repository at"):
        await served.web.clone(f"{served.base}/git/none", ANYWHERE, 10)


@pytest.mark.parametrize(
    ("url", "sites"),
    [
        ("http://127.0.0.1/", ANYWHERE),
        ("http://localhost/", ANYWHERE),
        ("http://[::ffff:10.0.0.1]/", ANYWHERE),
        ("ssh://git@example.org/it", ANYWHERE),
        ("http://me:secret@example.org/", ANYWHERE),
        ("http://example.org/strings", Sites(deny=("example.org",))),
        ("http://example.org/strings", Sites(allow=("example.net",))),
    ],
)
async def test_what_agents_may_not_reach_is_refused_by_every_way(served: Served, url: str, sites: Sites) -> None:
    web = served.web
    for act in (web.page(url, sites), web.fetch(url, sites, 10), web.clone(url, sites, 10)):
        with pytest.raises(CommandError, match="is refused"):
            await act
    with pytest.raises(CommandError, match="is refused"):
        web.host_of(url, sites)
