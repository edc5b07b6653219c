"""Discord's API and gateway at other addresses, such as a proxy's: for one client and no other."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from discord.http import HTTPClient, Route
from discord.webhook.async_ import AsyncWebhookAdapter


@dataclass(frozen=True, slots=True)
class BaseUrls:
    """Empty where Discord's own is meant."""

    api: str = ""
    gateway: str = ""

    def redirect(self, http: HTTPClient) -> None:
        """Have a client ask there, also for the gateway that Discord names to resume a session.

        Requests and the gateway go through the proxy that the environment names, which discord.py does not look for.
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
        """The request, to this address."""
        if self.api and route.url.startswith(Route.BASE):
            route.url = self.api.rstrip("/") + route.url.removeprefix(Route.BASE)
        return route

    def of_gateway(self, url: str) -> str:
        """The gateway, with what is asked of it."""
        if not self.gateway:
            return url
        there = urlsplit(self.gateway)
        return urlunsplit((there.scheme, there.netloc, there.path or "/", urlsplit(url).query, ""))


class RedirectedAnswers(AsyncWebhookAdapter):
    """Answers to what people do go to the same address; discord.py asks for this in the context that listens."""

    def __init__(self, addresses: BaseUrls) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # discord.py leaves it without types
        self._addresses = addresses

    async def request(self, route: Route, *where: Any, **what: Any) -> Any:
        return await super().request(self._addresses.of_route(route), *where, **what)


def _environment_proxy(url: str) -> str | None:
    """The proxy of HTTPS_PROXY or HTTP_PROXY; None where there is none, or NO_PROXY excludes the host."""
    address = urlsplit(url)
    return None if proxy_bypass(address.hostname or "") else getproxies().get(address.scheme)
