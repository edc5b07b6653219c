"""A page on which people sign in with accounts, and people who do so over HTTP as a browser without scripts would."""

import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from aiohttp import ClientResponse, ClientSession, CookieJar
from itsdangerous import TimestampSigner, URLSafeTimedSerializer

from adapters.web.guard import cookie_secret
from adapters.web.sign_in.provider import TIMEOUT_SECONDS, OpenIdProvider
from adapters.web.sign_in.sessions import AccountSignIn
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.clock import Clock
from agent_core.ports.models import LanguageModel
from agent_core.providers.clock import SystemClock
from agent_core.service.housekeeping.accounts import Accounts
from agent_core.testing.language_model import ScriptedModel
from tests.scenario.page import PageChat
from tests.scenario.served import served
from tests.standins.oidc import CLIENT_ID, CLIENT_SECRET

GENERAL = "/c/web/local/general"


@asynccontextmanager
async def page_with_accounts(
    issuer: str,
    folder: Path,
    *,
    model: LanguageModel | None = None,
    groups: tuple[str, ...] = (),
    clock: Clock | None = None,
    public_url: str = "",
    seconds: float = TIMEOUT_SECONDS,
    **options: Any,
) -> AsyncIterator[str]:
    """The address of a page on which people sign in at this provider; `clock`: as the sign-in has it, as `seconds`."""

    def sign_in(database: SqlDatabase) -> AccountSignIn:
        provider = OpenIdProvider(
            issuer=issuer,
            client_id=CLIENT_ID,
            client_secret=CLIENT_SECRET,
            clock=clock or SystemClock(),
            seconds=seconds,
        )
        return AccountSignIn(
            provider=provider,
            secret=cookie_secret(CLIENT_SECRET),
            secure=public_url.startswith("https:"),
            public_url=public_url,
            accounts=Accounts(database, provider.issuer, frozenset(groups)),
        )

    given = model or ScriptedModel(waits=True)
    async with served(given, folder, sign_in=sign_in, public_url=public_url, **options) as base:
        yield base


@dataclass(slots=True)
class Browser:
    """A browser at the page of `base`, with cookies of its own."""

    base: str
    session: ClientSession
    way_back: str = field(default="", repr=False)

    async def get(self, path: str, **options: Any) -> ClientResponse:
        """What the page answers at first, with its text read."""
        async with self.session.get(f"{self.base}{path}", allow_redirects=False, **options) as answer:
            await answer.read()
            return answer

    async def post(self, path: str, **fields: str) -> ClientResponse:
        async with self.session.post(f"{self.base}{path}", data=fields, allow_redirects=False) as answer:
            await answer.read()
            return answer

    async def begin(self, to: str = "/") -> str:
        """Press Sign in; the provider's address to which that leads."""
        answer = await self.get("/enter/begin", params={"to": to})
        assert answer.status == 303, await answer.text()
        return answer.headers["Location"]

    async def go_to_provider(self, to: str = "/", subject: str = "") -> str:
        """Sign in at the provider, and take the address that leads back before the browser follows it."""
        address = await self.begin(to)
        fields = {"sub": subject} if subject else None
        ask = self.session.post if fields else self.session.get
        async with ask(address, data=fields, allow_redirects=False) as answer:
            assert answer.status == 302, await answer.text()
            self.way_back = answer.headers["Location"]
        return self.way_back

    async def come_back(self, address: str = "") -> ClientResponse:
        """Follow the address that leads back to the page."""
        async with self.session.get(address or self.way_back, allow_redirects=False) as answer:
            await answer.read()
            return answer

    async def sign_in(self, subject: str = "", to: str = "/") -> ClientResponse:
        await self.go_to_provider(to, subject)
        return await self.come_back()

    @property
    def cookies(self) -> Mapping[str, str]:
        return {each.key: each.value for each in self.session.cookie_jar}

    def chat(self) -> PageChat:
        """The same person as the stories on the page have it."""
        return PageChat(self.base, self.session)


@asynccontextmanager
async def browser(base: str) -> AsyncIterator[Browser]:
    async with ClientSession(cookie_jar=CookieJar(unsafe=True), headers={"Origin": base}) as session:
        yield Browser(base, session)


def query_of(address: str) -> Mapping[str, str]:
    return dict(parse_qsl(urlsplit(address).query))


def alert_in(html: str) -> str:
    """The sentence that says what happened; "" without one."""
    found = re.search(r'role="alert">(.*?)</p>', html)
    return found[1] if found else ""


def signed_cookie(what: str, texts: list[str], age: float = 0, secret: str = CLIENT_SECRET) -> str:
    """A cookie as the page would have signed it so long ago."""

    class Earlier(TimestampSigner):
        def get_timestamp(self) -> int:
            return int(time.time() - age)

    return str(URLSafeTimedSerializer(cookie_secret(secret), f"signoff {what}", signer=Earlier).dumps(texts))
