"""Sends the requests of one client to other base addresses than Discord's own, such as those of a proxy."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from discord.http import HTTPClient, Route
from discord.webhook.async_ import AsyncWebhookAdapter


@dataclass(frozen=True, slots=True)
class BaseUrls:
    """The base addresses; an empty one means Discord's own."""

    api: str = ""
    gateway: str = ""

    def redirect(self, http: HTTPClient) -> None:
        """Make a client use these addresses, also when it resumes a session at an address that Discord gave it.

        The client then uses the proxy in HTTPS_PROXY or HTTP_PROXY, which discord.py does not read by itself.
        """
        http.proxy = _environment_proxy(self.api or Route.BASE)
        connect, ask = http.ws_connect, http.request

        async def connect_elsewhere(url: str, **how: Any) -> aiohttp.ClientWebSocketResponse:
            return await connect(self.of_gateway(url), **how)

        async def send_elsewhere(route: Route, **what: Any) -> Any:
            return await ask(self.of_route(route), **what)

        if self.gateway:
            http.ws_connect = connect_elsewhere  # type: ignore[method-assign]
        if self.api:
            http.request = send_elsewhere  # type: ignore[method-assign]

    def of_route(self, route: Route) -> Route:
        """Replace the base of a request's address."""
        if self.api and route.url.startswith(Route.BASE):
            route.url = self.api.rstrip("/") + route.url.removeprefix(Route.BASE)
        return route

    def of_gateway(self, url: str) -> str:
        """Replace the base of the gateway's address and keep its query."""
        if not self.gateway:
            return url
        there = urlsplit(self.gateway)
        return urlunsplit((there.scheme, there.netloc, there.path or "/", urlsplit(url).query, ""))


class RedirectedAnswers(AsyncWebhookAdapter):
    """Sends answers to interactions to the base address `BaseUrls.api`.

    discord.py sends these answers through the adapter that is set in its context variable `async_context`.
    """

    def __init__(self, addresses: BaseUrls) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # discord.py leaves it without types
        self._addresses = addresses

    async def request(self, route: Route, *where: Any, **what: Any) -> Any:
        return await super().request(self._addresses.of_route(route), *where, **what)


def _environment_proxy(url: str) -> str | None:
    """The proxy for a URL from HTTPS_PROXY or HTTP_PROXY; None if there is none or if NO_PROXY excludes the host."""
    address = urlsplit(url)
    return None if proxy_bypass(address.hostname or "") else getproxies().get(address.scheme)
