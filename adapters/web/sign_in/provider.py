"""The provider of the team's accounts: sends people there, and reads who came back. By Authlib's client.

The code flow of OpenID Connect with PKCE, state and nonce. Of what it sends, name and groups are kept.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.base_client import BaseApp
from authlib.integrations.base_client.async_app import AsyncOAuth2Mixin
from authlib.integrations.base_client.async_openid import AsyncOpenIDMixin
from authlib.integrations.httpx_client import AsyncOAuth2Client
from joserfc.errors import ClaimError, JoseError

from adapters.web.identity import SKEW_SECONDS, WORKSPACE, renamed
from adapters.web.sign_in.sessions import GroupsUnknown, NotTrusted, ProviderAway, SignInAttempt
from adapters.web.urls import is_private
from agent_core.model.origin import Actor, account_id
from agent_core.ports.clock import Clock

SCOPES = ("openid", "profile", "email")
GROUPS_SCOPE = "groups"  # asked for where the provider names it; others refuse a scope that they do not know
# Only signatures with a key that the provider alone has: not "none", and not those with the client's own secret.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
OTHER_ENDPOINTS = ("userinfo_endpoint", "end_session_endpoint")
SIGNING = "id_token_signing_alg_values_supported"
TIMEOUT_SECONDS, MAX_BYTES = 10.0, 1_000_000  # for all that is asked at once, and of each answer
MAX_AGE = timedelta(hours=1)  # of what the provider says of itself, and so of a signing key that it gave up
PLAIN = {"Accept-Encoding": "identity"}  # 1 MB that is compressed may unpack to gigabytes
UNREADABLE = (JoseError, httpx2.InvalidURL, ValueError, TypeError, KeyError, OverflowError, RecursionError)
MAX_GROUPS, MAX_GROUP_CHARACTERS, MAX_SUBJECT_CHARACTERS = 200, 200, 255


@dataclass(frozen=True, slots=True)
class _Limited(httpx2.AsyncByteStream):
    """The body of an answer, of at most MAX_BYTES."""

    body: httpx2.AsyncByteStream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for piece in self.body:
            received += len(piece)
            if received > MAX_BYTES:
                raise httpx2.ReadError("the answer is too long")
            yield piece

    async def aclose(self) -> None:
        await self.body.aclose()


async def _limit(answer: httpx2.Response) -> None:
    if answer.headers.get("Content-Encoding", "identity") != "identity":
        raise httpx2.DecodingError("the answer is compressed, which nobody asked for")
    if isinstance(answer.stream, httpx2.AsyncByteStream):
        answer.stream = _Limited(answer.stream)


HOOKS = {"response": [_limit]}


class _Client(AsyncOAuth2Mixin, AsyncOpenIDMixin, BaseApp):  # type: ignore[misc]  # Authlib has no types
    """Authlib's client of a provider, put together as its integrations of web frameworks are."""

    client_cls = AsyncOAuth2Client


@dataclass(slots=True, kw_only=True)
class OpenIdProvider:
    """The provider at `issuer`, at which Signoff is registered. `groups_claim`: where it names a person's groups.

    `seconds`: in which it must answer.
    """

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    clock: Clock
    groups_claim: str = "groups"
    seconds: float = TIMEOUT_SECONDS
    known: tuple[datetime, _Client] | None = field(default=None, repr=False)

    @property
    def host(self) -> str:
        """Its host, as people know it."""
        return urlsplit(self.issuer).netloc

    async def begin(self, redirect_uri: str, *, asks_which: bool = False) -> SignInAttempt:
        """Begin a sign-in, after which the provider sends the browser to `redirect_uri`; raise ProviderAway.

        `asks_which`: the provider lets people choose the account, also where it knows one.
        """
        client = await self._client()
        wish = {"prompt": "select_account"} if asks_which else {}
        begun = await client.create_authorization_url(redirect_uri, **wish)
        return SignInAttempt(
            url=begun["url"], state=begun["state"], nonce=begun["nonce"], verifier=begun["code_verifier"]
        )

    async def finish(self, code: str, redirect_uri: str, nonce: str, verifier: str) -> Actor:
        """The person for whom the provider gave the code; raise ProviderAway, NotTrusted or GroupsUnknown."""
        try:
            async with asyncio.timeout(self.seconds):
                client = await self._client()
                token = await client.fetch_access_token(redirect_uri, code=code, code_verifier=verifier)
                return self._person(await self._claims(client, token, nonce))
        except (httpx2.HTTPError, TimeoutError) as away:
            raise ProviderAway(type(away).__name__) from away
        except (AuthlibBaseError, *UNREADABLE) as wrong:
            raise NotTrusted(_why(wrong)) from wrong

    async def sign_out_address(self) -> str:
        """Where people end their session at the provider too; "" if it has no such page, or is away."""
        try:
            client = await self._client()
        except ProviderAway:
            return ""
        if "end_session_endpoint" not in client.server_metadata:
            return ""
        left: dict[str, str] = await client.create_logout_url(client_id=self.client_id)
        return left["url"]

    async def find_fault(self) -> str:
        """Why nobody can sign in there, as a sentence without its end; "" if what it says of itself can be used."""
        try:
            await self._client()
        except ProviderAway as away:
            return str(away)
        return ""

    async def _claims(self, client: _Client, token: Mapping[str, Any], nonce: str) -> Mapping[str, Any]:
        """What the provider says of the person: in the signed token, and what that leaves out on a page of its own."""
        wanted = {
            "iss": {"essential": True, "value": client.server_metadata["issuer"]},
            "aud": {"essential": True, "value": self.client_id},
            "sub": {"essential": True},
        }
        signed = await client.parse_id_token(token, nonce=nonce, claims_options=wanted, leeway=SKEW_SECONDS)
        if signed is None:
            raise NotTrusted("there is no ID token in its answer")
        if "userinfo_endpoint" not in client.server_metadata or {"name", self.groups_claim} <= signed.keys():
            return dict(signed)
        told = await client.userinfo(token=token)
        if told.get("sub") != signed["sub"]:
            raise NotTrusted("its page of the person is about somebody else")
        return {**told, **signed}

    def _person(self, claims: Mapping[str, Any]) -> Actor:
        subject = claims["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT_CHARACTERS:
            raise NotTrusted("its id of the person is no text of usable length")
        names = [claims.get(claim) for claim in ("name", "preferred_username", "email")]
        named = next((name for name in names if isinstance(name, str) and name.strip()), "").partition("@")[0]
        person = renamed(Actor(id=account_id(self.issuer, subject), display="Account", workspace=WORKSPACE), named)
        try:
            groups = _groups(claims, self.groups_claim)
        except LookupError as unknown:
            raise GroupsUnknown(person, f"the claim {self.groups_claim} {unknown}") from unknown
        "".join((subject, *groups)).encode()  # raises a ValueError for half a character, which no page can show
        return replace(person, groups=tuple(f"&{group}" for group in groups))

    async def _client(self) -> _Client:
        """The client with what the provider says of itself, read again after an hour; raise ProviderAway."""
        now = self.clock.now()
        if self.known is None or not timedelta() <= now - self.known[0] < MAX_AGE:
            self.known = now, await self._connect()
        return self.known[1]

    async def _connect(self) -> _Client:
        address = f"{self.issuer}/.well-known/openid-configuration"
        try:
            async with (
                asyncio.timeout(self.seconds),
                httpx2.AsyncClient(timeout=self.seconds, event_hooks=HOOKS, headers=PLAIN) as client,
            ):
                answer = (await client.get(address)).raise_for_status()
            said = answer.json()
            used = self._checked(said)
            has_scope = GROUPS_SCOPE in said.get("scopes_supported", ())
        except httpx2.HTTPStatusError as fault:
            said = f"{address} answers with status {fault.response.status_code}, not with the provider's description"
            raise ProviderAway(said) from fault
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as fault:
            raise ProviderAway(f"{self.host} cannot be reached ({type(fault).__name__})") from fault
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as fault:
            raise ProviderAway(f"what is at {address} is no provider's description") from fault
        except (ValueError, TypeError) as fault:
            raise ProviderAway(str(fault)) from fault
        scopes = (*SCOPES, GROUPS_SCOPE) if has_scope else SCOPES
        asks = {"scope": " ".join(scopes), "code_challenge_method": "S256"}
        options = {**asks, "timeout": self.seconds, "event_hooks": HOOKS, "headers": PLAIN}
        return _Client(None, client_id=self.client_id, client_secret=self.client_secret, client_kwargs=options, **used)

    def _checked(self, said: Any) -> dict[str, Any]:
        """What is used of the provider's description of itself; raise ValueError for one of somebody else."""
        if not isinstance(said, dict) or str(said.get("issuer", "")).rstrip("/") != self.issuer:
            raise ValueError(f"the provider there is not {self.issuer}: OIDC_ISSUER must be its own name of itself")
        used = {name: said[name] for name in (*ENDPOINTS, *OTHER_ENDPOINTS) if name in said}
        if missing := [name for name in ENDPOINTS if name not in used]:
            raise ValueError(f"the provider has no {missing[0]}")
        if bare := [name for name, address in used.items() if not is_private(str(address))]:
            raise ValueError(f"the provider's {bare[0]} is not at an https address")
        algorithms = [each for each in said.get(SIGNING) or ["RS256"] if each in ALGORITHMS]
        return {**used, "issuer": said["issuer"], SIGNING: algorithms}


def _groups(claims: Mapping[str, Any], claim: str) -> tuple[str, ...]:
    """The names of groups in a claim, which has one or several; raise LookupError where it does not say them."""
    names = claims.get(claim)
    if names is None or claim in (claims.get("_claim_names") or ()):  # elsewhere: Entra, of somebody in many groups
        raise LookupError("is not in the provider's answer")
    names = names if isinstance(names, list) else [names]
    usable = [name for name in names if isinstance(name, str) and 0 < len(name) <= MAX_GROUP_CHARACTERS]
    if names and not usable:
        raise LookupError("holds no names of groups")
    if len(names) > MAX_GROUPS:
        raise LookupError(f"has more than {MAX_GROUPS} groups")
    return tuple(dict.fromkeys(usable))


def _why(wrong: Exception) -> str:
    """What is wrong, without words of the provider, which could hold a secret or imitate Signoff."""
    return f"{type(wrong).__name__} ({wrong.claim})" if isinstance(wrong, ClaimError) else type(wrong).__name__
