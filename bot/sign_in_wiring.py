"""Opens the sign-ins at tool servers for the connections of a process, the doctor, and the command `sign-in`.

Part of the composition root. Nothing is imported before a server needs a sign-in.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent_core.errors import SettingsError
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database
from agent_core.ports.tool_servers import AskPerson, RemoteAddress, ServerEntry, ServerTool
from agent_core.providers.clock import SystemClock
from bot.settings import Settings

if TYPE_CHECKING:
    from agent_core.providers.mcp.sign_ins import SignIns

KeepSecret = Callable[[tuple[str, ...]], None]


def find_sign_ins(
    settings: Settings, database: Database | None, clock: Clock, keep_secret: KeepSecret = lambda _tokens: None
) -> "SignIns | None":
    """The sign-ins in this database; None if no server needs one. `keep_secret` is told the tokens in use."""
    if database is None or not settings.mcp_servers or not settings.mcp_servers.with_sign_in:
        return None
    from agent_core.providers.mcp.sign_ins import SignIns, SignInStore

    store = SignInStore(database, clock, settings.mcp_sign_in_key.get_secret_value())
    return SignIns(store=store, clock=clock, use_tokens=keep_secret)


@asynccontextmanager
async def open_sign_ins(settings: Settings, clock: Clock) -> "AsyncIterator[SignIns | None]":
    """The sign-ins in the database; None if no server needs one, or if there is no database yet."""
    file = settings.sqlite_file
    if file and not await asyncio.to_thread(file.exists):
        yield None
        return
    database = SqlDatabase(settings.database_url)
    try:
        yield find_sign_ins(settings, database, clock)
    finally:
        await database.close()


@dataclass(frozen=True, slots=True)
class SignInDesk:
    """Where the commands `sign-in` and `sign-out` sign in and out."""

    sign_ins: "SignIns"

    async def sign_in(
        self, entry: ServerEntry, ask: AskPerson, came_back_to: str, seconds: float
    ) -> tuple[str, Sequence[ServerTool]]:
        """Connect to a server, at which somebody signs in meanwhile. Return what failed, or "", and its tools."""
        from agent_core.providers.mcp.mcp_server import McpServer

        await self.sign_out(entry)
        asking = replace(self.sign_ins, ask_person=ask, came_back_to=came_back_to)
        server = McpServer(entry=entry, clock=self.sign_ins.clock, seconds=seconds, sign_ins=asking)
        return await server.connect_once(until_listed=True), server.tools

    async def sign_out(self, entry: ServerEntry) -> bool:
        """Forget the sign-in; return whether there was one."""
        return await self.sign_ins.store.forget(entry.name)

    async def is_in(self, entry: ServerEntry) -> bool:
        """Whether somebody has signed in."""
        url = entry.reached.url if isinstance(entry.reached, RemoteAddress) else ""
        return await self.sign_ins.store.get(entry.name, url) is not None


@asynccontextmanager
async def open_desk(settings: Settings) -> AsyncIterator[SignInDesk]:
    """Open the sign-ins of a database that is up to date; raise SettingsError if no server needs one."""
    async with open_sign_ins(settings, SystemClock()) as sign_ins:
        if sign_ins is None:
            raise SettingsError("MCP_SERVERS", "names no server at which somebody signs in.")
        yield SignInDesk(sign_ins)
