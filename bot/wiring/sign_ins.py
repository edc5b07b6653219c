"""Opens the sign-ins at tool servers for the connections of a process, the doctor, and the command `sign-in`.

Part of the composition root. Nothing is imported before a server needs a sign-in.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agent_core.errors import SettingsError
from agent_core.oversight.secrets import Secrets
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.clock import Clock
from agent_core.ports.database import Database
from agent_core.ports.tool_servers import AskPerson, ServerEntry, ServerTool
from agent_core.providers.clock import SystemClock
from bot.settings import Settings

if TYPE_CHECKING:
    from agent_core.capabilities.tool_servers.sign_ins import SignIns


NO_SIGN_IN = "let Signoff in without a sign-in: its entry needs no oauth"
KeepSecret = Callable[[tuple[str, ...]], None]


def find_sign_ins(
    settings: Settings, database: Database | None, clock: Clock, keep_secret: KeepSecret = lambda _tokens: None
) -> "SignIns | None":
    """The sign-ins in this database; None if no server needs one. `keep_secret` is told the tokens in use."""
    if database is None or not settings.mcp_servers or not settings.mcp_servers.with_sign_in:
        return None
    from agent_core.capabilities.tool_servers.sign_ins import SignIns, SignInStore

    store = SignInStore(database, clock, settings.mcp_sign_in_key.get_secret_value())
    return SignIns(store=store, clock=clock, use_tokens=keep_secret)


@asynccontextmanager
async def open_database(settings: Settings) -> AsyncIterator[SqlDatabase | None]:
    """The database with the sign-ins; None if there is none yet."""
    file = settings.sqlite_file
    if file and not await asyncio.to_thread(file.exists):
        yield None
        return
    database = SqlDatabase(settings.database_url)
    try:
        yield database
    finally:
        await database.close()


@dataclass(frozen=True, slots=True)
class SignInDesk:
    """Where the commands `sign-in` and `sign-out` sign in and out. `secrets`: of the settings."""

    sign_ins: "SignIns"
    secrets: tuple[str, ...] = ()

    async def sign_in(
        self, entry: ServerEntry, ask: AskPerson, came_back_to: str, seconds: float
    ) -> tuple[str, Sequence[ServerTool]]:
        """Connect to a server, at which somebody signs in meanwhile. Return what failed, or "", and its tools.

        An earlier sign-in is kept until there is the new one.
        """
        from agent_core.capabilities.tool_servers.mcp_server import McpServer

        tokens: list[str] = []
        asking = replace(
            self.sign_ins, ask_person=ask, came_back_to=came_back_to, is_anew=True, use_tokens=tokens.extend
        )
        server = McpServer(
            entry=entry,
            clock=self.sign_ins.clock,
            seconds=seconds,
            sign_ins=asking,
            redact=lambda text: Secrets.of((*self.secrets, *tokens)).redact(text),
        )
        fault = await server.connect_once(until_listed=True)
        return fault or ("" if tokens else NO_SIGN_IN), server.tools

    async def sign_out(self, entry: ServerEntry) -> bool:
        """Forget the sign-in; return whether there was one."""
        return await self.sign_ins.store.forget(entry.name)


@asynccontextmanager
async def open_desk(settings: Settings) -> AsyncIterator[SignInDesk]:
    """Open the sign-ins of a database that is up to date; raise SettingsError if no server needs one."""
    clock = SystemClock()
    async with open_database(settings) as database:
        sign_ins = find_sign_ins(settings, database, clock)
        if sign_ins is None:
            raise SettingsError("MCP_SERVERS", "names no server that requires a sign-in.")
        yield SignInDesk(sign_ins, settings.secrets)
