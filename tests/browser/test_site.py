"""The documentation as a site, as `make docs` builds it: whole, searchable, and without any other host."""

import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import pytest
import pytest_asyncio
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer
from playwright.async_api import BrowserContext, expect

ROOT = Path(__file__).parents[2]
BUILD = ("make", "--silent", "--old-file=.venv/.docs", f"PY={sys.executable}", "docs")
slow = pytest.mark.slow


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `make docs` in a folder that has what is in the clone, apart from what the test has put there."""
    for each in ROOT.iterdir():
        place = folder / each.name
        if not each.name.startswith(".") and each.name != "site" and not place.exists():
            place.symlink_to(each) if each.is_dir() else shutil.copy(each, place)
    return subprocess.run(BUILD, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    done = build(folder)
    assert done.returncode == 0, done.stdout
    return folder / "site"


@pytest_asyncio.fixture(loop_scope="session")
async def address(site: Path) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_static("/", site)
    async with TestServer(application) as server:
        yield str(server.make_url("/"))


class Links(HTMLParser):
    """What a page links to or loads, and the names in it that can be linked to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.page, self.loaded, self.linked, self.names = page, list[str](), list[str](), set[str]()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        addresses = [address for name in ("href", "src") if (address := given.get(name))]
        (self.linked if tag == "a" else self.loaded).extend(addresses)
        self.names.add(given.get("id") or "")

    def targets(self) -> Iterator[tuple[str, Path, str]]:
        for address in (*self.loaded, *self.linked):
            parts = urlsplit(address)
            if not parts.scheme:
                path = (self.page.parent / unquote(parts.path)).resolve() if parts.path else self.page
                yield address, path / "index.html" if path.is_dir() else path, parts.fragment


def in_navigation(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
        return
    for each in entry.values() if isinstance(entry, dict) else entry:
        yield from in_navigation(each)


def test_the_navigation_lists_every_page_but_single_decisions() -> None:
    listed = set(in_navigation(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    pages = {*ROOT.glob("*.md"), *ROOT.glob("benchmarks/*.md"), *(ROOT / "docs").rglob("*.md")}
    assert listed == {str(page.relative_to(ROOT)) for page in pages if "/decisions/0" not in str(page)}


@slow
def test_every_link_of_the_site_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = {page: Links(page) for page in site.rglob("*.html") if page.name != "404.html"}  # that one has no place
    assert len(pages) > 100
    elsewhere = {link for each in pages.values() for link in each.loaded if urlsplit(link).netloc}
    assert elsewhere == set()
    found = [(page.name, *target) for page, each in pages.items() for target in each.targets()]
    assert [(page, link) for page, link, path, _ in found if not path.is_file()] == []
    assert [(page, link) for page, link, path, name in found if path in pages and name not in pages[path].names] == []


@slow
@pytest.mark.parametrize(
    ("link", "told"), [("docs/none.md", "page does not"), ("docs/glossary.md#none", "anchor does")]
)
def test_a_link_that_leads_nowhere_fails_the_build(link: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(f"# Signoff\n\n[A link]({link})\n")
    done = build(tmp_path)
    assert (done.returncode, told in done.stdout) == (2, True)


@slow
@pytest.mark.asyncio(loop_scope="session")
async def test_the_search_finds_a_page_and_asks_no_other_host(address: str, context: BrowserContext) -> None:
    page, asked = await context.new_page(), set[str]()
    page.on("request", lambda request: asked.add(urlsplit(request.url).netloc))
    await page.goto(f"{address}index.html", wait_until="networkidle")
    await page.get_by_role("button", name="Search").click()
    await page.get_by_placeholder("Search").fill("rolling upgrade")
    found = page.get_by_role("option", name="Rolling upgrade")
    await expect(found.first).to_be_visible()
    await found.first.click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Upgrade")
    assert asked == {urlsplit(address).netloc}


@slow
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(("scheme", "is_dimmed"), [("light", False), ("dark", True)])
async def test_pictures_do_not_glare_in_the_dark(
    address: str, context: BrowserContext, scheme: Literal["light", "dark"], *, is_dimmed: bool
) -> None:
    page = await context.new_page()
    await page.emulate_media(color_scheme=scheme)
    await page.goto(f"{address}index.html")
    picture = page.get_by_role("img", name="The local workspace: the thread of the agent")
    shown = await picture.evaluate("each => getComputedStyle(each).filter")
    assert (shown == "brightness(0.8)") == is_dimmed
