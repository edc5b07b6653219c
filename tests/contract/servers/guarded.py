"""A tool server, and its authorization server, that lets in who has signed in: everybody who asks. In this process."""

import asyncio
import itertools
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import Context
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from mcp.shared.exceptions import MCPError
from pydantic import AnyHttpUrl
from starlette.requests import Request


@dataclass
class Doorkeeper(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Gives tokens that last so many seconds, and a new refresh token with each renewal; an old one is of no use.

    `renewals`: how often a token was renewed. `reused`: how often an old refresh token was tried.
    `checks`: how often an access token came.
    """

    seconds: int = 3600
    renewals: int = 0
    reused: int = 0
    checks: int = 0
    clients: dict[str, OAuthClientInformationFull] = field(default_factory=dict)
    codes: dict[str, AuthorizationCode] = field(default_factory=dict)
    tokens: dict[str, AccessToken] = field(default_factory=dict)
    refreshing: dict[str, RefreshToken] = field(default_factory=dict)
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[str(client_info.client_id)] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = f"code-of-forty-characters-or-so-{next(self.numbers)}"
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=str(client.client_id),
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._give(str(client.client_id))

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        self.reused += refresh_token not in self.refreshing
        return self.refreshing.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refreshing[refresh_token.token]
        self.renewals += 1
        return self._give(str(client.client_id))

    async def load_access_token(self, token: str) -> AccessToken | None:
        self.checks += 1
        found = self.tokens.get(token)
        return found if found and (found.expires_at or 0) > time.time() else None

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.tokens.pop(token.token, None)
        self.refreshing.pop(token.token, None)

    def end_all(self) -> None:
        """Let no token that was given be of any use."""
        self.tokens.clear()
        self.refreshing.clear()

    def _give(self, client: str) -> OAuthToken:
        access, refresh = f"access-token-{next(self.numbers)}", f"refresh-token-{next(self.numbers)}"
        ends = int(time.time()) + self.seconds
        self.tokens[access] = AccessToken(token=access, client_id=client, scopes=[], expires_at=ends)
        self.refreshing[refresh] = RefreshToken(token=refresh, client_id=client, scopes=[])
        return OAuthToken(access_token=access, expires_in=self.seconds, refresh_token=refresh)


@asynccontextmanager
async def guarded_server(doorkeeper: Doorkeeper) -> AsyncIterator[str]:
    """The server on a free port; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    origin = f"http://127.0.0.1:{port}"
    server = MCPServer(
        "guarded",
        auth_server_provider=doorkeeper,
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(origin),
            resource_server_url=AnyHttpUrl(f"{origin}/mcp"),
            client_registration_options=ClientRegistrationOptions(enabled=True),
            validate_token_resource=False,
        ),
    )

    @server.tool()
    def key(ctx: Context) -> str:
        """Say with what key the caller came."""
        request = ctx.request_context.request
        return request.headers["authorization"] if isinstance(request, Request) else "none"

    @server.tool()
    def refuse(ctx: Context) -> str:
        """Refuse a call, and say with what key the caller came."""
        raise MCPError(1, f"Not with {key(ctx)}.")

    app = server.streamable_http_app()
    web = uvicorn.Server(
        uvicorn.Config(app, port=port, log_level="critical", lifespan="on", timeout_graceful_shutdown=1)
    )
    serving = asyncio.create_task(web._serve())
    try:
        while not web.started:
            await asyncio.wait((serving,), timeout=0.01)
            if serving.done():
                serving.result()
        yield f"{origin}/mcp"
    finally:
        web.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)
