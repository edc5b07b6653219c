"""Renders pages that need JavaScript, each in a new headless Chromium behind the egress proxy; kills one that grows.

As root, Chromium runs only confined by bubblewrap; otherwise its own sandbox confines it.
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

from agent_core.capabilities.web.browser_confinement import confinement_fault, is_needed, start_confined
from agent_core.errors import CommandError
from agent_core.model.channel_settings import Sites
from agent_core.ports.database import finish_uncancelled
from agent_core.ports.web import ContactedHost
from agent_core.providers.confinement.resource_use import ProcessTree
from agent_core.providers.egress.gateway import EgressGateway
from agent_core.providers.egress.proxy import EgressProxy, open_tunnel
from agent_core.providers.system_packages import install_command
from agent_core.text.own_commands import install_text

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page, Playwright

BROWSER_NAMES = ("chromium", "chromium-browser", "google-chrome")
MAX_HTML_CHARACTERS = 3_000_000
MAX_LOADED_BYTES = 30_000_000  # per page
MAX_MEMORY_BYTES = 1_500_000_000  # of all processes of a browser
MAX_BROWSERS = 2
IDLE_TIMEOUT_MILLISECONDS = 4_000.0  # after `load`, for requests of scripts
CLOSE_TIMEOUT_SECONDS = 5.0
WATCH_SECONDS = 0.25
TOO_MUCH_MEMORY = "The page takes too much memory, so it was closed. Try another source."
ARGUMENTS = (
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",  # QUIC bypasses an HTTP proxy
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",  # WebRTC would bypass it too
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # the same in older versions
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",  # no DNS except the proxy's address
    "--disable-features=WebRtcHideLocalIpsWithMdns,Translate,MediaRouter,OptimizationHints",
    "--js-flags=--max-old-space-size=256",
    "--renderer-process-limit=2",
    "--no-first-run",
)


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page after its scripts ran. `url`: the final URL. `hosts`: all hosts that the browser contacted."""

    url: str
    html: str
    hosts: tuple[ContactedHost, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserPages:
    """Starts a new Chromium for each page and kills it afterwards; nothing is shared between pages."""

    gateway: EgressGateway
    seconds: float = 25.0
    max_memory_bytes: int = MAX_MEMORY_BYTES
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_BROWSERS), init=False, repr=False)

    async def draw(self, url: str, sites: Sites) -> RenderedPage:
        """Render a URL that the gateway has admitted; raise CommandError if that fails or exceeds a limit."""
        async with self._slots, open_tunnel(self.gateway, sites, MAX_LOADED_BYTES) as proxy:
            rendering = asyncio.create_task(_render(url, proxy))
            try:
                async with asyncio.timeout(self.seconds):
                    await self._watch(rendering, proxy)
                return rendering.result()
            except TimeoutError:
                raise CommandError(f"{url} was not drawn within {self.seconds:g} seconds.") from None
            finally:
                rendering.cancel()
                await asyncio.gather(rendering, return_exceptions=True)
                _kill(proxy.port)

    async def _watch(self, rendering: "asyncio.Task[RenderedPage]", proxy: EgressProxy) -> None:
        while not rendering.done():
            await asyncio.wait({rendering}, timeout=WATCH_SECONDS)
            if await asyncio.to_thread(_memory, proxy.port) > self.max_memory_bytes:
                _kill(proxy.port)
                raise CommandError(TOO_MUCH_MEMORY)


def browser_fault() -> str:
    """Why pages cannot be rendered here, as a sentence; "" if they can."""
    if find_spec("playwright") is None:
        return f"Pages that need JavaScript are not drawn: run `{install_text('browser')}`."
    if not chromium():
        return (
            f"Pages that need JavaScript are not drawn: there is no Chromium. Install it: {install_command('chromium')}"
        )
    fault = confinement_fault() if is_needed() else ""
    return f"Pages that need JavaScript are not drawn. {fault}" if fault else ""


def chromium() -> str:
    """Path of Chromium: of the system's if there is one, otherwise of Playwright's. Return "" if there is neither."""
    if found := next(filter(None, map(shutil.which, BROWSER_NAMES)), None):
        return found
    cache = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    return next((str(path) for path in sorted(cache.glob("chromium-*/chrome-*/chrome"), reverse=True)), "")


async def _render(url: str, proxy: EgressProxy) -> RenderedPage:
    from playwright.async_api import Error

    try:
        async with _browser(proxy) as browser:
            context = await browser.new_context(
                accept_downloads=False,
                service_workers="block",
                user_agent=proxy.gateway.user_agent,
                java_script_enabled=True,
            )
            page = await context.new_page()
            await page.goto(url, wait_until="load")
            with suppress(Error):  # still loading: read the present content
                await page.wait_for_load_state("networkidle", timeout=IDLE_TIMEOUT_MILLISECONDS)
            final_url = page.url if page.url.startswith("http") else url
            return RenderedPage(final_url, await _html(page), tuple(proxy.reached))
    except Error as error:
        if "crashed" in str(error):  # V8 reached its own limit (--max-old-space-size) between two looks at the memory
            raise CommandError(TOO_MUCH_MEMORY) from None
        why = "it loads too much" if proxy.is_over_limit else "the browser could not open it"
        raise CommandError(f"{url} was not drawn: {why}. Try another source.") from None


@asynccontextmanager
async def _browser(proxy: EgressProxy) -> "AsyncIterator[Browser]":
    from playwright.async_api import Error

    with TemporaryDirectory(prefix="signoff-page-", ignore_cleanup_errors=True) as home:
        async with _program(proxy, Path(home)) as program, _driver() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=program,
                args=[*ARGUMENTS],
                chromium_sandbox=True,  # Playwright's default is False
                env={"PATH": os.environ.get("PATH", ""), "HOME": home, "TMPDIR": home},
                proxy={
                    "server": proxy.url,
                    "username": "job",
                    "password": proxy.password,
                    "bypass": "<-loopback>",  # removes the rule that loopback bypasses the proxy
                },
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
            )
            try:
                yield browser
            finally:
                with suppress(Error, TimeoutError):
                    async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                        await browser.close()


@asynccontextmanager
async def _driver() -> "AsyncIterator[Playwright]":
    """Playwright's driver, a process. If this is cancelled while it starts, it is ended once it has started."""
    from playwright.async_api import async_playwright

    starting = asyncio.create_task(async_playwright().start())
    try:
        yield await asyncio.shield(starting)
    finally:
        await finish_uncancelled(_stop(starting))


async def _stop(starting: "asyncio.Task[Playwright]") -> None:
    playwright = await starting
    await playwright.stop()


@asynccontextmanager
async def _program(proxy: EgressProxy, home: Path) -> AsyncIterator[str]:
    """The path of Chromium, or of the script that confines it; raise CommandError if confinement is impossible."""
    if not is_needed():
        yield chromium()
        return
    if fault := await asyncio.to_thread(confinement_fault):
        raise CommandError(f"The page was not drawn. {fault}")
    async with start_confined(chromium(), proxy, home) as wrapper:
        yield str(wrapper)


async def _html(page: "Page") -> str:
    """The page's HTML, cut to 3,000,000 characters, read in an isolated world that its scripts cannot change."""
    session = await page.context.new_cdp_session(page)
    frame = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
    world = await session.send("Page.createIsolatedWorld", {"frameId": frame})
    asked = {
        "expression": f"document.documentElement.outerHTML.slice(0, {MAX_HTML_CHARACTERS})",
        "contextId": world["executionContextId"],
        "returnByValue": True,
    }
    return str((await session.send("Runtime.evaluate", asked))["result"].get("value", ""))


def _memory(port: int) -> int:
    """The private memory, in bytes, of the processes of the browser that uses this proxy port."""
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
    """The process with this proxy port in its command line, and all its descendants."""
    mark = f"--proxy-server=http://127.0.0.1:{port}\0".encode()
    roots: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (entry / "cmdline").read_bytes():
                roots.append(int(entry.name))
    return set(ProcessTree.below(*roots).processes)
