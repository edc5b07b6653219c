"""The SDK's OAuth client with tokens from the database, renewed by one process at a time, sent to no other host."""

import asyncio
import ipaddress
import logging
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TypeAlias

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from agent_core.capabilities.tool_servers.sign_ins import SignIn, SignIns
from agent_core.errors import DatabaseAway
from agent_core.ports.tool_servers import RemoteAddress
from agent_core.providers.egress.address_policy import describe_internal
from agent_core.text.own_commands import command_text

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
LOOPBACK = ("127.0.0.1", "::1", "localhost")
LOOK_SECONDS = 1.0  # between two looks whether the sign-in was forgotten
OTHERS_SECONDS, POLL_SECONDS = 15.0, 0.5  # how long another process's renewal is waited for
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)  # failures are told as the server's state


class SignInNeeded(Exception):
    """Nobody has signed in at a server, or the sign-in ended. The text completes "The server …"."""


def needed_at(server: str) -> str:
    """What completes "The server …" when somebody has to sign in, with the command to run."""
    return f"needs a sign-in: run {command_text(f'sign-in {server}')}"


def sign_in_provider(
    server: str, address: RemoteAddress, sign_ins: SignIns | None, refuse: Callable[[str], None]
) -> "SignInProvider | None":
    """What signs the requests to a server; None if it needs no sign-in. `refuse` is told why that cannot be done."""
    if address.sign_in is None or sign_ins is None:
        return None
    return SignInProvider(server, address, sign_ins, refuse)


class KeptTokens:
    """Implements the SDK's `TokenStorage` with what is stored of one server."""

    def __init__(self, server: str, address: RemoteAddress, sign_ins: SignIns) -> None:
        self.server, self.address, self.sign_ins = server, address, sign_ins
        self.found: SignIn | None = None
        self.client: OAuthClientInformationFull | None = None
        self.newest: Callable[[], tuple[OAuthMetadata | None, float | None]] = lambda: (None, None)

    async def get_tokens(self) -> OAuthToken | None:
        if not self.sign_ins.is_anew:
            self.found = await self.sign_ins.store.get(self.server, self.address.url)
        if self.found is None:
            return None
        self.sign_ins.use_tokens(self.found.secrets)
        return OAuthToken.model_validate_json(self.found.tokens)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        client = self.client or await self.get_client_info()
        metadata, expires_at = self.newest()
        self.found = SignIn(
            url=self.address.url,
            client=client.model_dump_json() if client else "{}",
            tokens=tokens.model_dump_json(),
            metadata=metadata.model_dump_json() if metadata else "",
            expires_at=expires_at,
        )
        self.sign_ins.use_tokens(self.found.secrets)
        if self.sign_ins.ask_person:
            await self.sign_ins.store.put(self.server, self.found)
        elif not await self.sign_ins.store.renew(self.server, self.found):
            raise SignInNeeded(needed_at(self.server))  # it was forgotten while it was renewed

    async def require_known(self) -> None:
        """Raise SignInNeeded if the sign-in that is used was forgotten."""
        if await self.was_forgotten():
            raise SignInNeeded(needed_at(self.server))

    async def was_forgotten(self) -> bool:
        """Whether the sign-in that is used is not in the database any more; False while nobody can tell."""
        if self.found is None or self.sign_ins.ask_person:
            return False
        try:
            return await self.sign_ins.store.get(self.server, self.address.url) is None
        except DatabaseAway:
            return False

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        terms = self.address.sign_in
        if terms and terms.client_id:
            method = "client_secret_post" if terms.client_secret else "none"
            self.client = OAuthClientInformationFull(
                client_id=terms.client_id,
                client_secret=terms.client_secret or None,
                redirect_uris=[AnyUrl(self.sign_ins.came_back_to)],
                token_endpoint_auth_method=method,
            )
        elif self.found:
            self.client = OAuthClientInformationFull.model_validate_json(self.found.client)
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class SignInProvider(OAuthClientProvider):
    """Signs requests to one server, renews its token, and asks somebody to sign in where that is possible."""

    def __init__(self, server: str, address: RemoteAddress, sign_ins: SignIns, refuse: Callable[[str], None]) -> None:
        terms = address.sign_in
        metadata = OAuthClientMetadata(
            client_name="Signoff",
            redirect_uris=[AnyUrl(sign_ins.came_back_to)],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
            token_endpoint_auth_method="client_secret_post" if terms and terms.client_secret else "none",
            scope=(terms.scope if terms else "") or None,
        )
        self.kept = KeptTokens(server, address, sign_ins)
        self.kept.newest = lambda: (self.context.oauth_metadata, self.context.token_expiry_time)
        super().__init__(address.url, metadata, self.kept, self._show, self._come_back)
        self._server, self._own, self._sign_ins, self._refuse = server, httpx2.URL(address.url), sign_ins, refuse
        self._shown, self.look_up = "", addresses_of

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Sign one request. Whatever keeps it from that is told to `refuse`."""
        try:
            await self.kept.require_known()
            await self._let_others_renew()
            async with aclosing(super().async_auth_flow(request)) as flow:
                outgoing = await anext(flow)
                while True:
                    await self._require_allowed(outgoing.url)
                    response = yield outgoing
                    outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        except SignInNeeded as needed:
            self._refuse(str(needed))
            raise
        except (OAuthFlowError, ValueError) as failure:
            said = str(failure).partition("\n")[0]  # what follows in one of pydantic may hold a token
            self._refuse(f"could not be signed in to: {said}")
            raise

    async def watch(self) -> None:
        """Refuse as soon as the sign-in that is used was forgotten, also by another process."""
        while not await self.kept.was_forgotten():
            await self._sign_ins.clock.sleep(LOOK_SECONDS)
        self._refuse(needed_at(self._server))

    async def _initialize(self) -> None:
        await super()._initialize()
        if found := self.kept.found:
            self.context.token_expiry_time = found.expires_at
            if found.metadata:
                self.context.oauth_metadata = OAuthMetadata.model_validate_json(found.metadata)

    async def _refresh_token(self) -> httpx2.Request:
        """The request for a renewal, which goes to who gave the token, whatever the server has named since."""
        found = self.kept.found
        metadata = found.metadata if found else ""
        self.context.oauth_metadata = OAuthMetadata.model_validate_json(metadata) if metadata else None
        return await super()._refresh_token()

    async def _let_others_renew(self) -> None:
        """If the token has ended, read what another process may have stored; wait for one that renews it now."""
        if not self._initialized:
            await self._initialize()
        tokens = self.context.current_tokens
        if tokens is None or self.context.is_token_valid():
            return
        await self._initialize()
        refresh = self.context.current_tokens and self.context.current_tokens.refresh_token
        if not refresh or self.context.is_token_valid() or await self._sign_ins.store.may_renew(refresh):
            return
        waits_until = self._sign_ins.clock.elapsed() + OTHERS_SECONDS
        while not self.context.is_token_valid() and self._sign_ins.clock.elapsed() < waits_until:
            await self._sign_ins.clock.sleep(POLL_SECONDS)
            await self._initialize()

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        before = self.kept.found
        if await super()._handle_refresh_response(response):
            return True
        await self._initialize()  # another process may have renewed it first
        if self.kept.found != before and self.context.is_token_valid():
            return True
        self.context.clear_tokens()
        return False

    async def _show(self, address: str) -> None:
        url = httpx2.URL(address)
        if self._sign_ins.ask_person is None:
            raise SignInNeeded(needed_at(self._server))
        if url.userinfo or not (url.scheme == "https" or (url.scheme == "http" and url.host in LOOPBACK)):
            raise OAuthFlowError("Its sign-in page has no https address.")
        self._shown = address

    async def _come_back(self) -> AuthorizationCodeResult:
        if self._sign_ins.ask_person is None:
            raise SignInNeeded(needed_at(self._server))
        back = await self._sign_ins.ask_person(self._shown)
        return AuthorizationCodeResult(code=back.code, state=back.state, iss=back.issuer)

    async def _require_allowed(self, url: httpx2.URL) -> None:
        """Raise OAuthFlowError for an address that its server may not send Signoff to.

        Without https a token could be read on the way. A server outside may not name an address inside, where only
        Signoff can reach.
        """
        if (url.scheme, url.host, url.port) == (self._own.scheme, self._own.host, self._own.port):
            return
        own = await self.look_up(self._own.host)
        inside = bool(own) and all(map(describe_internal, own))  # its name may lead to both
        is_here = inside and all(each.is_loopback for each in own) and url.host in LOOPBACK
        if url.scheme != "https" and not is_here:
            raise OAuthFlowError(f"It names {url.host}, which is not reached by https.")
        named = () if inside else await self.look_up(url.host)
        if what := next(filter(None, map(describe_internal, named)), ""):
            raise OAuthFlowError(f"It names {url.host}, which {what}.")


async def addresses_of(host: str) -> Sequence[Address]:
    """The host's addresses; none if they are unknown: a proxy may know them."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return ()
    return [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in found]
