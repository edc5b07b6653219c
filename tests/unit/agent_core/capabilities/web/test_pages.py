"""Ordinary pages as text, in whatever encoding and of whatever kind, and what a machine lacks to read them."""

import asyncio
import os
from collections.abc import AsyncIterator, Set
from contextlib import suppress
from pathlib import Path

import pytest

from agent_core.capabilities.web.browser_pages import BrowserPages, browser_fault
from agent_core.capabilities.web.gateway_web import NOT_RENDERED, GatewayWeb
from agent_core.capabilities.web.git_clone import GitCloner, git_fault
from agent_core.errors import CommandError
from agent_core.model.channel_settings import Sites
from agent_core.ports.documents import DocumentText
from agent_core.ports.web import Link
from agent_core.providers.egress.address_policy import InternalHosts
from agent_core.providers.egress.gateway import EgressGateway
from agent_core.providers.system_packages import install_command
from tests.packages import need, need_drawing
from tests.patience import PATIENCE_SECONDS
from tests.standins.site import OPEN, Names, Request, Site, page
from tests.standins.site import site as a_site

ANYWHERE = Sites()
DOOR = EgressGateway(internal=InternalHosts.of([OPEN]), resolve=Names())
WEB = GatewayWeb(gateway=DOOR, clones=GitCloner(gateway=DOOR))
DRIVER = "/playwright/driver/"
OURS = "<-loopback>"  # by which the browser that draws pages is told from any other
RUSSIAN = "Струны из полиэстера дают больше вращения"
JAPANESE = "ポリエステルのストリング"
SCRIPTED = """<title>Shop</title><div id=app></div><script>
fetch('/data').then(answer => answer.text()).then(text => { app.innerHTML = `<p>${text}</p><a href=/cart>Cart</a>` })
</script>"""


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with a_site() as site:
        yield site


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        ("<p>Straße".encode("latin-1"), "text/html; charset=iso-8859-1", "Straße"),
        ("<p>Straße".encode("latin-1"), "text/html; charset=utf-8", "Straße"),
        ("<p>Straße".encode(), "text/html; charset=iso-8859-1", "Straße"),
        ("<p>Straße".encode(), "text/html", "Straße"),
        ("<p>Straße".encode(), "", "Straße"),
        (f"<meta charset=koi8-r><p>{RUSSIAN}".encode("koi8-r"), "text/html", RUSSIAN),
        (f"<meta charset=utf-8><p>{RUSSIAN}".encode("cp1251"), "text/html", RUSSIAN),
        (f"<p>{JAPANESE}".encode("shift_jis"), "text/html; charset=Shift_JIS", JAPANESE),
        (f"<p>{JAPANESE}".encode("euc-jp"), "text/html; charset=no-such-thing", JAPANESE),
        (f"<p>{JAPANESE}".encode("iso-2022-jp"), "text/html; charset=iso-2022-jp", JAPANESE),
        (f"<p>{JAPANESE}".encode("utf-16"), "text/html", JAPANESE),
        ("\ufeff<p>Straße".encode(), "text/html; charset=windows-1252", "Straße"),
    ],
)
async def test_a_page_is_read_in_its_encoding_whatever_is_declared(
    site: Site, data: bytes, kind: str, text: str
) -> None:
    site.answers["/"] = page(data, kind)
    assert (await WEB.page(site.url(), ANYWHERE)).text == text


async def test_main_text_is_told_from_what_stands_around_it(site: Site) -> None:
    paragraphs = [f"Paragraph {n} says that polyester strings give the most topspin of all." for n in range(9)]
    article = "".join(f"<p>{text}</p>" for text in paragraphs)
    site.answers["/"] = page(
        f"<nav><a href=/>Home</a> <a href=/b>Blog</a></nav><main>{article}</main><footer>Imprint</footer>"
    )
    assert (await WEB.page(site.url(), ANYWHERE)).text == "\n\n".join(paragraphs)


async def test_links_are_whole_and_told_once(site: Site) -> None:
    anchors = "<a href=a>A</a><a href='a#x'>again</a><a href='/b?c=d&amp;e'><img></a><a href='/b?c=d&amp;e'>B \n b</a>"
    others = "<a href='mailto:x@y'>m</a><a href='javascript:x'>j</a><a>none</a><a href='//other.org:99999999/'>o</a>"
    site.answers["/x/y"] = page(f"<base href='/d/'>{anchors}{others}")
    read = await WEB.page(site.url("/x/y"), ANYWHERE)
    assert read.links == (Link(site.url("/d/a"), "A"), Link(site.url("/b?c=d&e"), "B b"))


@pytest.mark.parametrize(
    ("body", "kind"),
    [('{"a": "<b>"}', "application/ld+json"), ("<a>1</a>", "application/xml"), ("<b> is", "text/plain")],
)
async def test_other_texts_are_given_as_they_are(site: Site, body: str, kind: str) -> None:
    site.answers["/"] = page(body, kind)
    assert (await WEB.page(site.url(), ANYWHERE)).text == body


class Library:
    """Reads every document alike."""

    async def text_of(self, name: str, data: bytes) -> DocumentText:
        return DocumentText(f"{name}: {len(data)} bytes", "2 pages.")


async def test_a_pdf_is_read_where_documents_are(site: Site) -> None:
    site.answers = {"/": page(b"%PDF-1.7", "application/pdf"), "/lie": page(b"%PDF-1.7")}
    web = GatewayWeb(gateway=DOOR, clones=GitCloner(gateway=DOOR), documents=Library())
    for path in ("/", "/lie"):
        read = await web.page(site.url(path), ANYWHERE)
        assert (read.text, read.remark) == ("page.pdf: 8 bytes", "2 pages.")
        with pytest.raises(CommandError, match="is a PDF"):
            await WEB.page(site.url(path), ANYWHERE)


@pytest.mark.slow
async def test_a_page_that_needs_javascript_is_told_as_such_where_nothing_can_draw_it(site: Site) -> None:
    site.answers["/"] = page(SCRIPTED)
    read = await WEB.page(site.url(), ANYWHERE)
    assert (read.title, read.text, read.remark) == ("Shop", "", NOT_RENDERED)


@pytest.mark.slow
async def test_a_page_that_needs_javascript_is_drawn_by_a_browser(site: Site) -> None:
    need_drawing()
    site.answers = {"/": page(SCRIPTED), "/data": page("Twelve rackets", "text/plain")}
    web = GatewayWeb(gateway=DOOR, clones=GitCloner(gateway=DOOR), browser=BrowserPages(gateway=DOOR))
    read = await web.page(site.url(), ANYWHERE)
    assert (read.text, read.links, read.remark) == ("Twelve rackets\n\nCart", (Link(site.url("/cart"), "Cart"),), "")


META = '<meta http-equiv="Refresh" content="{}">'


@pytest.mark.slow
@pytest.mark.parametrize(
    "first",
    [
        page(META.format("0; url=/there")),
        page(META.format("3;URL='/there'")),
        page("", refresh="0; url=/there"),
        page("", refresh="1;/there"),
    ],
)
async def test_a_page_that_only_leads_on_is_followed(site: Site, first: bytes) -> None:
    site.answers = {"/": first, "/there": page("<p>Twelve rackets")}
    read = await WEB.page(site.url(), ANYWHERE)
    assert (read.url, read.text) == (site.url("/there"), "Twelve rackets")


@pytest.mark.slow
@pytest.mark.parametrize("first", [page(META.format("300; url=/there")), page(META.format("0")), page("", refresh="5")])
async def test_a_page_that_loads_itself_anew_is_read(site: Site, first: bytes) -> None:
    site.answers = {"/": first, "/there": page("<p>Twelve rackets")}
    assert (await WEB.page(site.url(), ANYWHERE)).url == site.url("/")


@pytest.mark.slow
async def test_a_page_that_leads_on_without_end_says_where(site: Site) -> None:
    site.answers["/"] = page(META.format("0; url=/"))
    assert (await WEB.page(site.url(), ANYWHERE)).remark.startswith(f"The page leads on to {site.url('/')}")


@pytest.mark.parametrize("where", ["http://127.0.0.1/", "http://denied.example.org/"])
async def test_a_page_leads_only_where_a_redirect_may(site: Site, where: str) -> None:
    site.answers = {"/": page(META.format(f"0; url={where}")), "/header": page("", refresh=f"0; url={where}")}
    for path in ("/", "/header"):
        with pytest.raises(CommandError, match=r"this machine|denied in this channel"):
            await WEB.page(site.url(path), Sites(deny=("denied.example.org",)))


@pytest.mark.slow
async def test_a_cookie_of_a_redirect_lasts_for_this_fetch_alone(site: Site) -> None:
    async def door(request: Request) -> AsyncIterator[bytes]:
        is_known = "seen=1" in request.headers.get("cookie", "")
        yield page("<p>Inside") if is_known else page("", status=302, location="/", set_cookie="seen=1")

    site.answers["/"] = door
    assert [(await WEB.page(site.url(), ANYWHERE)).text for _ in range(2)] == ["Inside", "Inside"]
    assert len(site.requests) == 4


@pytest.mark.slow
async def test_the_frames_of_a_page_are_among_its_links(site: Site) -> None:
    site.answers["/"] = page("<frameset cols='*,*'><frame src=/menu name=menu><frame src=/text></frameset>")
    read = await WEB.page(site.url(), ANYWHERE)
    assert read.links == (Link(site.url("/menu"), "frame menu"), Link(site.url("/text"), "frame"))


@pytest.mark.parametrize("path", ["/image", "/archive"])
async def test_what_is_no_page_is_told_with_what_to_do(site: Site, path: str) -> None:
    site.answers = {"/image": page(b"\x89PNG", "image/png"), "/archive": page(b"PK\x03\x04" + bytes(99))}
    with pytest.raises(CommandError, match=r"download_file can fetch it as a file\.$"):
        await WEB.page(site.url(path), ANYWHERE)


def test_a_web_of_this_machine_is_made_of_what_the_operator_allows() -> None:
    web = GatewayWeb.of(InternalHosts.of(["wiki.example", "10.0.0.0/8"]), "https://signoff.example")
    assert web.gateway.internal == InternalHosts.of(["wiki.example", "10.0.0.0/8"])
    with pytest.raises(ValueError, match="no host name"):
        InternalHosts.of(["http://wiki"])


async def test_what_a_machine_lacks_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    assert git_fault() == f"git is not installed. Install it: {install_command('git')}"
    assert browser_fault().endswith(f"there is no Chromium. Install it: {install_command('chromium')}")
    assert GatewayWeb.of().browser is None
    with pytest.raises(CommandError, match="git is not installed"):
        await WEB.clone("https://example.org/it", ANYWHERE, 10)


async def test_cancelling_a_clone_ends_git(site: Site) -> None:
    need("git")
    asked = asyncio.Event()

    async def never(_request: Request) -> AsyncIterator[bytes]:
        asked.set()
        await asyncio.Event().wait()
        yield b""

    site.answers["/it/*"] = never
    cloning = asyncio.create_task(WEB.clone(site.url("/it"), ANYWHERE, 1_000))
    await asked.wait()
    cloning.cancel()
    with suppress(asyncio.CancelledError):
        await cloning
    async with asyncio.timeout(PATIENCE_SECONDS):  # its helpers are killed with it, and end a moment later
        while await asyncio.to_thread(running, f"{site.port}/it"):
            continue


@pytest.mark.slow
async def test_cancelling_a_drawing_ends_the_browser(site: Site) -> None:
    need_drawing()
    asked = asyncio.Event()

    async def never(request: Request) -> AsyncIterator[bytes]:
        asked.set()
        await asyncio.Event().wait()
        yield b""

    site.answers["/"] = never
    drawing = asyncio.create_task(BrowserPages(gateway=DOOR).draw(site.url(), ANYWHERE))
    await asked.wait()
    assert any(OURS in line for line in below(os.getpid()).values())
    drawing.cancel()
    with suppress(asyncio.CancelledError):
        await drawing
    assert not any(OURS in line for line in below(os.getpid()).values())


@pytest.mark.slow
async def test_a_drawing_that_ends_while_its_driver_starts_leaves_none() -> None:
    need_drawing()
    others = drivers()  # of browser tests in this process
    drawing = asyncio.create_task(BrowserPages(gateway=DOOR).draw("http://localhost/", ANYWHERE))
    await until_driver(others, is_there=True)
    drawing.cancel()
    with suppress(asyncio.CancelledError):
        await drawing
    await until_driver(others, is_there=False)  # its own children end a moment after it


async def until_driver(others: Set[int], *, is_there: bool) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while bool(await asyncio.to_thread(drivers) - others) != is_there:
            continue


def drivers() -> set[int]:
    """The process ids of the drivers of browsers that this process has started."""
    return {number for number, line in below(os.getpid()).items() if DRIVER in line}


def running(text: str) -> list[str]:
    """The programs that have this text among their arguments."""
    lines = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(entry.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [line for line in lines if text in line]


def below(parent: int) -> dict[int, str]:
    """The command lines of the programs that a process has started, and those that these have, by process id."""
    found = dict[int, str]()
    for task in Path(f"/proc/{parent}/task").glob("[0-9]*/children"):
        children = ""
        with suppress(OSError):  # a thread that has ended meanwhile
            children = task.read_text()
        for child in children.split():
            with suppress(OSError):
                found |= {int(child): Path(f"/proc/{child}/cmdline").read_text(), **below(int(child))}
    return found
