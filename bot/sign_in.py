"""The commands `sign-in` and `sign-out` at a tool server: shows an address to open, and waits for the browser's return.

The browser comes back to an address of this machine (RFC 8252), which `Browser` serves; it checks `state`. If the
browser runs on another machine, people paste the address that it shows then.
"""

import asyncio
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from aiohttp import web

from agent_core.errors import SettingsError
from agent_core.ports.tool_servers import ComeBack, RemoteAddress, ServerEntry
from agent_core.text.lines import counted
from bot.bootstrap import migrate_database
from bot.logs import say
from bot.settings import Settings
from bot.wiring.sign_ins import open_desk

PATH = "/signed-in"
PATIENCE_SECONDS, LINE_BYTES = 600.0, 16_384
DONE_PAGE = "Signoff has what it needs. You can close this page."
NOTHING_HERE = "This is not the end of a sign-in."


async def sign_in(settings: Settings, rest: Sequence[str]) -> int:
    """Have somebody sign in at the server that is named; store what it gives. Return 1 if that fails."""
    entry, address = _entry_of(settings, _options("sign-in", rest).server)
    if entry is None or address is None:
        return 2
    await migrate_database(settings)
    async with open_desk(settings) as desk, _await_browser(address) as browser:
        fault, tools = await desk.sign_in(entry, browser.ask, browser.address, PATIENCE_SECONDS)
        if fault:
            say(f"{entry.name} {fault}.")
            return 1
    offered = counted(len(tools), "tool")
    say(f"Signed in at {entry.name} ({entry.place}): it offers {offered}. A Signoff that runs uses it within a minute.")
    return 0


async def sign_out(settings: Settings, rest: Sequence[str]) -> int:
    """Forget the sign-in at the server that is named."""
    entry, _ = _entry_of(settings, _options("sign-out", rest).server)
    if entry is None:
        return 2
    await migrate_database(settings)
    async with open_desk(settings) as desk:
        was_in = await desk.sign_out(entry)
    said = "is forgotten. A Signoff that runs makes no request with it any more, and ends its connection"
    say(f"The sign-in at {entry.name} {said}." if was_in else f"Nobody had signed in at {entry.name}.")
    return 0


@dataclass(slots=True)
class Browser:
    """Where the browser of the person who signs in comes back to: this address, or a line that is pasted here.

    `state`: that of the sign-in that is shown. What comes without it, such as from another page, is not meant.
    """

    address: str = ""
    state: str = ""
    back: "asyncio.Future[ComeBack]" = field(default_factory=asyncio.Future)

    async def ask(self, url: str) -> ComeBack:
        """Show the address of the sign-in, and wait until the browser is back; raise TimeoutError after ten minutes."""
        host, self.state = urlsplit(url).hostname, parse_qs(urlsplit(url).query).get("state", [""])[0]
        say(f"Open this address in a browser, and sign in at {host}:\n\n{url}\n")
        say("If the browser runs on another machine, paste the address that it shows at the end here, and press Enter.")
        with _pasted_lines(self._take):
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await self.back

    async def receive(self, request: web.Request) -> web.Response:
        """GET /signed-in: the browser is back."""
        taken = self._take(str(request.url))
        return web.Response(text=DONE_PAGE if taken else NOTHING_HERE, status=200 if taken else 400)

    def _take(self, address: str) -> bool:
        """Use an address to which the browser came back; return whether it is one. The first one counts."""
        try:
            query = parse_qs(urlsplit(address.strip()).query)
        except ValueError:
            query = {}
        refused, code = query.get("error", [""])[0], query.get("code", [""])[0]
        is_meant = bool(self.state) and query.get("state") == [self.state]
        if self.back.done() or not is_meant or not (code or refused):
            return False
        if refused:
            self.back.set_exception(ValueError(f"the sign-in was refused: {refused[:100]!a}"))
        else:
            self.back.set_result(ComeBack(code, query.get("state", [None])[0], query.get("iss", [None])[0]))
        return True


@asynccontextmanager
async def _await_browser(address: RemoteAddress) -> AsyncIterator[Browser]:
    browser, app = Browser(), web.Application()
    app.router.add_get(PATH, browser.receive)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    port = address.sign_in.port if address.sign_in else 0
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        browser.address = f"http://127.0.0.1:{runner.addresses[0][1]}{PATH}"
        yield browser
    except OSError as fault:
        raise SettingsError(
            "MCP_SERVERS", f"names port {port} for a sign-in, which cannot be used: {fault.strerror}."
        ) from fault
    finally:
        await runner.cleanup()
        browser.back.cancel()


@contextmanager
def _pasted_lines(take: Callable[[str], object]) -> Iterator[None]:
    """Give the lines of the standard input to a function as they come, if the loop can watch it."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        if line := os.read(sys.stdin.fileno(), LINE_BYTES):
            take(line.decode(errors="replace"))
        else:
            loop.remove_reader(sys.stdin.fileno())

    with suppress(OSError, ValueError, NotImplementedError):  # a file cannot be watched, a closed input has no number
        loop.add_reader(sys.stdin.fileno(), read)
    try:
        yield
    finally:
        with suppress(OSError, ValueError, NotImplementedError):
            loop.remove_reader(sys.stdin.fileno())


def _options(command: str, rest: Sequence[str]) -> Namespace:
    parser = ArgumentParser(prog=f"signoff {command}")
    parser.add_argument("server", help="its name in the file of MCP_SERVERS")
    return parser.parse_args(rest)


def _entry_of(settings: Settings, name: str) -> tuple[ServerEntry | None, RemoteAddress | None]:
    """The entry of that name, and its address; None for one that needs no sign-in, which is said."""
    for entry in settings.mcp_servers.entries if settings.mcp_servers else ():
        if entry.name == name and isinstance(entry.reached, RemoteAddress) and entry.reached.sign_in:
            return entry, entry.reached
    needing = settings.mcp_servers.with_sign_in if settings.mcp_servers else ()
    known = f"Servers with oauth: {', '.join(needing)}." if needing else 'No entry of MCP_SERVERS says "oauth": true.'
    say(f"{name[:60]!a} is not a server that requires a sign-in. {known}")
    return None, None
