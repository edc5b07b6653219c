"""What the stand-in remembers: simcord's backend on a clock that runs, its files, its faults, and what was called."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from simcord._clock import Clock
from simcord.backend import Backend
from simcord.backend.cdn import CDN_BASE, CdnStore

from agent_core.providers.clock import SystemClock
from tests.patience import PATIENCE_SECONDS
from tests.standins.discord.values import Call
from tests.standins.slack.faults import Faults

MESSAGE_CONTENT = 1 << 15  # docs.discord.com/developers/events/gateway#list-of-intents


class RunningClock(Clock):
    """The time as it is, so that three seconds are three seconds to the program and to Discord."""

    def now(self) -> datetime:
        """Now."""
        return SystemClock().now()


class Files(CdnStore):
    """Files under the stand-in's own address."""

    base = CDN_BASE

    def store_attachment(
        self, attachment_id: int, channel_id: int, filename: str, data: bytes, description: str | None
    ) -> dict[str, Any]:
        """Keep a file and describe it."""
        kept = super().store_attachment(attachment_id, channel_id, filename, data, description)
        url = kept["url"].replace(CDN_BASE, self.base)
        return {**kept, "url": url, "proxy_url": url}


@dataclass(eq=False, kw_only=True, repr=False)
class Discord:
    """One bot and the servers it is in.

    `nonces` tells what was sent under which nonce where: Discord forgets it within minutes, this only when cleared.
    """

    token: str
    grants_content: bool = True
    backend: Backend = field(default_factory=lambda: Backend(clock=RunningClock()))
    base_url: str = ""
    calls: list[Call] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    nonces: dict[tuple[str, str], str] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    files: Files = field(default_factory=Files)
    _next: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.backend.cdn = self.files
        self.backend.subscribers.append(lambda *_: self.changed())

    @property
    def api_url(self) -> str:
        """Where the REST API is: `DISCORD_API_URL`, `discord.http.Route.BASE`."""
        return f"{self.base_url}/api/v10"

    @property
    def gateway_url(self) -> str:
        """Where the gateway is: `DISCORD_GATEWAY_URL`, `DiscordWebSocket.DEFAULT_GATEWAY`."""
        return f"{self.base_url.replace('http', 'ws', 1)}/gateway"

    def calls_of(self, route: str) -> list[Call]:
        """The calls of one route, in order."""
        return [call for call in self.calls if call.route == route]

    def content(self, attachment: Mapping[str, Any]) -> str:
        """What a file that was sent says."""
        kept = self.files.get(str(attachment["url"]).replace(self.base_url, CDN_BASE))
        assert kept is not None
        return kept.decode()

    def changed(self) -> None:
        """Wake those who wait."""
        self._next.set()
        self._next = asyncio.Event()

    async def until(self, claim: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until it holds; it is asked again whenever something changed here."""
        async with asyncio.timeout(seconds):
            while not claim():
                await self._next.wait()
