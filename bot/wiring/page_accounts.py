"""The sign-in with accounts on the page, where the operator names a provider."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from adapters.web.guard import cookie_secret
from adapters.web.sign_in.sessions import AccountSignIn
from adapters.web.surface import WebSurface
from agent_core.ports.database import Database
from agent_core.ports.surface import ChatSurface
from agent_core.providers.clock import SystemClock
from agent_core.service.housekeeping.accounts import Accounts
from bot.settings import Settings

if TYPE_CHECKING:
    from adapters.web.sign_in.provider import OpenIdProvider


def make_sign_in(settings: Settings, database: Database | None) -> AccountSignIn:
    """The sign-in at the provider of the settings; without a database nobody's rights are known yet."""
    return AccountSignIn(
        provider=_provider(settings),
        secret=cookie_secret(settings.oidc_client_secret.get_secret_value()),
        secure=settings.public_url.startswith("https:"),
        public_url=settings.public_url,
        accounts=_accounts(settings, database) if database else None,
    )


def with_accounts(surfaces: Iterable[ChatSurface], settings: Settings, database: Database) -> list[ChatSurface]:
    """The surfaces, of which the page now knows who its people are, where they sign in with accounts."""
    accounts, only = _accounts(settings, database), bool(settings.oidc_issuer)
    return [
        replace(each, accounts=accounts, has_accounts_only=only) if isinstance(each, WebSurface) else each
        for each in surfaces
    ]


async def find_sign_in_fault(settings: Settings) -> str:
    """Why nobody can sign in at the provider of the settings, or ""."""
    return await _provider(settings).find_fault()


def _provider(settings: Settings) -> "OpenIdProvider":
    from adapters.web.sign_in.provider import OpenIdProvider  # imported only where it is used: it takes 0.3 s

    return OpenIdProvider(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        client_secret=settings.oidc_client_secret.get_secret_value(),
        clock=SystemClock(),
        groups_claim=settings.oidc_groups_claim,
    )


def _accounts(settings: Settings, database: Database) -> Accounts:
    return Accounts(database, settings.oidc_issuer, frozenset(settings.oidc_groups))
