"""Logs in to Discord, tests a token, and awaits any call of discord.py, turning its errors into the core's."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

import discord
from aiohttp import ClientError, ClientSession, ClientTimeout
from discord.http import Route

from agent_core.errors import SettingsError, SurfaceBusy, SurfaceError, ThreadGone
from agent_core.ports.telemetry import NOT_WATCHED, Telemetry

T = TypeVar("T")

ARCHIVED, UNKNOWN_MESSAGE, UNKNOWN_MEMBER = 50083, 10008, 10007
LOCKED = "The thread is locked."
GONE_REASONS = {
    10003: "Discord cannot find this channel or thread: it was deleted.",
    10004: "Signoff was removed from this Discord server. Invite it again.",
    50001: "Signoff cannot see this channel: grant it View Channel there.",
    50013: "Signoff lacks permissions in this channel. It needs: Send Messages, Create Public Threads, "
    "Send Messages in Threads, Attach Files and Read Message History.",
    ARCHIVED: "The thread is archived, and Signoff may not unarchive it.",
    160005: LOCKED,
    160006: "This server has reached Discord's limit of active threads: archive some, then press Resume.",
}
LOGIN_REFUSED = "Discord refuses the bot's token: make a new one under Bot in the developer portal."
LOGIN_REMEDY = "Discord refuses this token. Reset it under Bot in the developer portal."
EXAMPLE_VALUE = "MTIz…"
TOKEN_CHECK_TIMEOUT_SECONDS = 3.0
MIN_RETRY_SECONDS, MAX_RETRY_SECONDS = 2.0, 8.0  # jitter, so that many agents do not retry at once


class DiscordRefused(SurfaceError):
    """Discord rejected the request; `code` is Discord's JSON error code."""

    def __init__(self, code: int, details: str = "") -> None:
        self.code = code
        super().__init__(f"Discord refused ({code}). {details}".strip())


@dataclass(slots=True, kw_only=True)
class DiscordApi:
    """Calls Discord's API and logs in first if needed. Translates errors into SurfaceErrors."""

    client: discord.Client
    token: str = field(repr=False)
    telemetry: Telemetry = NOT_WATCHED
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, act: Callable[[], Awaitable[T]]) -> T:
        """Await a call and return Discord's answer.

        Raise SurfaceBusy if a retry may succeed, ThreadGone if the channel or thread is gone, else
        DiscordRefused.
        """
        await self.ensure_login()
        try:
            return await act()
        except (discord.DiscordException, ClientError, OSError, TimeoutError) as fault:
            if isinstance(fault, discord.RateLimited) or getattr(fault, "status", 0) == 429:
                self.telemetry.count_rate_limit("discord")
            raise surface_error_of(fault) from None  # the cause may contain the request with its token

    async def prepare(self) -> None:
        """Log in; raise SettingsError if the token is rejected, SurfaceBusy if Discord cannot be reached."""
        async with self.lock:
            if self.client.application is None:
                try:
                    await self.client.login(self.token)
                except discord.LoginFailure:
                    raise SettingsError("DISCORD_TOKEN", LOGIN_REMEDY, EXAMPLE_VALUE) from None
                except (discord.DiscordException, ClientError, OSError, TimeoutError) as fault:
                    raise surface_error_of(fault) from None

    async def ensure_login(self) -> None:
        """Log in if not yet done; raise SurfaceError if that fails."""
        if self.client.application is None:
            try:
                await self.prepare()
            except SettingsError as refused:
                raise ThreadGone(LOGIN_REFUSED) from refused


def surface_error_of(fault: Exception) -> SurfaceError:
    """The SurfaceError for an error of discord.py."""
    if isinstance(fault, discord.RateLimited):
        return SurfaceBusy("Discord's rate limit: waiting", fault.retry_after)
    if not isinstance(fault, discord.HTTPException):
        if isinstance(fault, discord.DiscordException):
            return DiscordRefused(0, type(fault).__name__)
        return SurfaceBusy(f"Discord cannot be reached ({type(fault).__name__})", _later())
    if fault.status == 429 or fault.status >= 500:
        return SurfaceBusy(f"Discord is busy ({fault.status})", _later())
    if fault.status == 401:
        return ThreadGone(LOGIN_REFUSED)
    return (
        ThreadGone(GONE_REASONS[fault.code])
        if fault.code in GONE_REASONS
        else DiscordRefused(fault.code, fault.text[:200])
    )


def is_archived(fault: SurfaceError) -> bool:
    """Whether the error means that the thread is archived, which can be undone."""
    return isinstance(fault, ThreadGone) and str(fault) == GONE_REASONS[ARCHIVED]


def _later() -> float:
    return random.uniform(MIN_RETRY_SECONDS, MAX_RETRY_SECONDS)  # noqa: S311 - no secret


async def fault_of_token(token: str, api_url: str) -> str | None:
    """Test a bot token by asking for its account; return what is wrong, or None."""
    headers = {"Authorization": f"Bot {token}"}
    try:
        async with (
            ClientSession(timeout=ClientTimeout(total=TOKEN_CHECK_TIMEOUT_SECONDS), trust_env=True) as session,
            session.get(f"{api_url or Route.BASE}/users/@me", headers=headers, allow_redirects=False) as answer,
        ):
            if answer.status == 401:
                return LOGIN_REMEDY
            return None if answer.status == 200 else f"Discord answers {answer.status}."
    except (ClientError, OSError, TimeoutError, ValueError):
        return "Discord cannot be reached."
