"""Draws pages that need JavaScript in a Chromium of their own, which gets out by the door alone and is always ended.

It is never root: an ordinary user's Chromium confines itself, and root's is confined by bubblewrap.
"""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from agent_core.errors import CommandError
from agent_core.model.sites import Sites
from agent_core.ports.web import Address
from agent_core.providers.egress.gateway import EgressGateway
from agent_core.providers.egress.proxy import EgressProxy, open_tunnel
from agent_core.providers.system_packages import install_command
from agent_core.providers.web.browser_confinement import confinement_fault, is_needed, start_confined

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
MOST_HTML = 3_000_000
MOST_BYTES = 30_000_000  # that one page may load
MOST_MEMORY = 1_500_000_000  # of all its processes
AT_ONCE = 2
SETTLING = 4_000.0  # milliseconds that are waited for what the page loads after it has loaded
CLOSING = 5.0
LOOK = 0.25
ARGUMENTS = (
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",  # would go past an HTTP proxy
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",  # so would the calls that a page can make
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # the name of the same in older ones
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",  # only the proxy's own address is known
    "--disable-features=WebRtcHideLocalIpsWithMdns,Translate,MediaRouter,OptimizationHints",
    "--js-flags=--max-old-space-size=256",
    "--renderer-process-limit=2",
    "--no-first-run",
)


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page as its scripts left it."""

    url: str
    html: str
    hosts: tuple[Address, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserPages:
    """A fresh Chromium for each page: nothing is kept from one to the next."""

    door: EgressGateway
    seconds: float = 25.0
    most_memory: int = MOST_MEMORY
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE), init=False, repr=False)

    async def draw(self, url: str, sites: Sites) -> RenderedPage:
        """Open a URL that was admitted before, and read the page; raise CommandError."""
        async with self._turns, open_tunnel(self.door, sites, MOST_BYTES) as proxy:
            drawing = asyncio.create_task(_render(url, proxy))
            try:
                async with asyncio.timeout(self.seconds):
                    await self._watch(drawing, proxy)
                return drawing.result()
            except TimeoutError:
                raise CommandError(f"{url} was not drawn within {self.seconds:g} seconds.") from None
            finally:
                drawing.cancel()
                await asyncio.gather(drawing, return_exceptions=True)
                _kill(proxy.port)

    async def _watch(self, drawing: "asyncio.Task[RenderedPage]", proxy: EgressProxy) -> None:
        while not drawing.done():
            await asyncio.wait({drawing}, timeout=LOOK)
            if await asyncio.to_thread(_memory, proxy.port) > self.most_memory:
                _kill(proxy.port)
                raise CommandError("The page takes too much memory, so it was closed. Try another source.")


def browser_fault() -> str:
    """What is missing so that pages can be drawn, as a sentence; "" where nothing is."""
    if find_spec("playwright") is None:
        return "Pages that need JavaScript are not drawn: install Signoff with its extra `browser`."
    if not chromium():
        return (
            f"Pages that need JavaScript are not drawn: there is no Chromium. Install it: {install_command('chromium')}"
        )
    fault = confinement_fault() if is_needed() else ""
    return f"Pages that need JavaScript are not drawn. {fault}" if fault else ""


def chromium() -> str:
    """Where Chromium is: this machine's own, else Playwright's; "" where there is none."""
    if found := next(filter(None, map(shutil.which, NAMES)), None):
        return found
    kept = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    return next((str(path) for path in sorted(kept.glob("chromium-*/chrome-*/chrome"), reverse=True)), "")


async def _render(url: str, proxy: EgressProxy) -> RenderedPage:
    from playwright.async_api import Error

    try:
        async with _browser(proxy) as browser:
            context = await browser.new_context(
                accept_downloads=False, service_workers="block", user_agent=proxy.door.agent, java_script_enabled=True
            )
            page = await context.new_page()
            await page.goto(url, wait_until="load")
            with suppress(Error):  # it goes on loading: what is there is read
                await page.wait_for_load_state("networkidle", timeout=SETTLING)
            led_to = page.url if page.url.startswith("http") else url
            return RenderedPage(led_to, await _html(page), tuple(proxy.reached))
    except Error:
        why = "it loads too much" if proxy.is_shut else "the browser could not open it"
        raise CommandError(f"{url} was not drawn: {why}. Try another source.") from None


@asynccontextmanager
async def _browser(proxy: EgressProxy) -> "AsyncIterator[Browser]":
    from playwright.async_api import Error, async_playwright

    with TemporaryDirectory(prefix="signoff-page-", ignore_cleanup_errors=True) as home:
        async with _program(proxy, Path(home)) as program, async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=program,
                args=[*ARGUMENTS],
                chromium_sandbox=True,  # Playwright's own default is to go without
                env={"PATH": os.environ.get("PATH", ""), "HOME": home, "TMPDIR": home},
                proxy={
                    "server": proxy.address,
                    "username": "job",
                    "password": proxy.password,
                    "bypass": "<-loopback>",  # takes away the rule by which this machine is reached directly
                },
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
            )
            try:
                yield browser
            finally:
                with suppress(Error, TimeoutError):
                    async with asyncio.timeout(CLOSING):
                        await browser.close()


@asynccontextmanager
async def _program(proxy: EgressProxy, home: Path) -> AsyncIterator[str]:
    """Chromium, or what confines it where it would run as root; raise CommandError where that cannot be done."""
    if not is_needed():
        yield chromium()
        return
    if fault := await asyncio.to_thread(confinement_fault):
        raise CommandError(f"The page was not drawn. {fault}")
    async with start_confined(chromium(), proxy, home) as wrapper:
        yield str(wrapper)


async def _html(page: "Page") -> str:
    """The page's markup, cut where it is too long, asked in a world that the page's own scripts cannot reach."""
    session = await page.context.new_cdp_session(page)
    frame = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
    world = await session.send("Page.createIsolatedWorld", {"frameId": frame})
    asked = {
        "expression": f"document.documentElement.outerHTML.slice(0, {MOST_HTML})",
        "contextId": world["executionContextId"],
        "returnByValue": True,
    }
    return str((await session.send("Runtime.evaluate", asked))["result"].get("value", ""))


def _memory(port: int) -> int:
    """Bytes that a browser's processes have for themselves."""
    total = 0
    for pid in _processes(port):
        with suppress(OSError, ValueError, IndexError):
            resident, shared = Path(f"/proc/{pid}/statm").read_text().split()[1:3]
            total += (int(resident) - int(shared)) * os.sysconf("SC_PAGESIZE")
    return total


def _kill(port: int) -> None:
    for pid in _processes(port):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _processes(port: int) -> set[int]:
    """The browser that was given the proxy at this port, which no other has, and all below it."""
    mark = f"--proxy-server=http://127.0.0.1:{port}\0".encode()
    parents: dict[int, int] = {}
    found: set[int] = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            pid = int(entry.name)
            parents[pid] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if mark in (entry / "cmdline").read_bytes():
                found.add(pid)
    while below := {pid for pid, parent in parents.items() if parent in found and pid not in found}:
        found |= below
    return found
