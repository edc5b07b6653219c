"""The server: one bot's Discord on a free port, for as long as the context lasts."""

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from discord import Permissions
from simcord.backend import DEFAULT_EVERYONE_PERMISSIONS
from simcord.backend.cdn import CDN_BASE
from simcord.backend.models import Role

from tests.standins.discord.gateway import Gateway
from tests.standins.discord.people import Guild
from tests.standins.discord.rest import Rest
from tests.standins.discord.state import Discord
from tests.standins.serving import serving
from tests.standins.slack.faults import Fault, Held, Status


@dataclass(eq=False, kw_only=True, repr=False)
class DiscordStandin(Discord):
    """Discord, as one bot sees it."""

    gateway: Gateway = field(init=False)

    @classmethod
    @asynccontextmanager
    async def started(cls, *, token: str = "d1sc0rd", grants_content: bool = True) -> AsyncIterator["DiscordStandin"]:
        """Serve on a free port until the context ends."""
        discord = cls(token=token, grants_content=grants_content)
        discord.gateway = Gateway(discord)
        application = web.Application(client_max_size=2**26)
        application.router.add_get("/gateway", discord.gateway.handle)
        application.router.add_route("*", "/api/v10/{path:.*}", Rest(discord).handle)
        application.router.add_get("/attachments/{path:.*}", discord._file)
        async with serving(application) as address:
            discord.base_url = discord.files.base = address
            try:
                yield discord
            finally:
                discord.gateway.cut()

    def guild(self, name: str = "Acme", may: Permissions | None = None) -> Guild:
        """A server with the bot in it, which may do there what the link that invited it asked for."""
        guild = self.backend.create_guild(name)
        guild.everyone_role.permissions = 0
        team = Role(self.backend.snowflake(), "team", DEFAULT_EVERYONE_PERMISSIONS)
        guild.roles[team.id] = team
        for role in guild.roles.values():
            if role.managed and may is not None:
                role.permissions = may.value
        return Guild(self, guild.id, team.id)

    def fails(
        self,
        route: str,
        *,
        times: int = 1,
        status: Status = 500,
        error: str = "",
        retry_after: str = "",
        after_effect: bool = False,
    ) -> None:
        """Let the next calls of a route fail, by a name such as `POST /channels/{id}/messages`.

        `retry_after` makes it a 429; the status "drop" closes the connection without an answer.
        """
        self.faults.add(route, Fault(times, status, error, retry_after, after_effect))

    def recovers(self, route: str) -> None:
        """Let the calls of a route succeed again."""
        self.faults.forget(route)

    def holding(self, route: str, *, after_effect: bool = False) -> AbstractContextManager[Held]:
        """Let calls of a route wait, before they take effect or before they are answered."""
        return self.faults.holding(route, after_effect=after_effect)

    async def _file(self, request: web.Request) -> web.Response:
        kept = self.files.get(f"{CDN_BASE}{request.path}")
        return web.Response(status=404) if kept is None else web.Response(body=kept)
