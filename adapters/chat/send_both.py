"""Sends two things that tell of the same, the second also if the first is refused."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

from agent_core.errors import DatabaseAway, SurfaceBusy, SurfaceError


async def send_both(first: Callable[[], Awaitable[None]], second: Callable[[], Awaitable[None]]) -> None:
    """Send both, then raise the error of one of them: rather one after which it can be tried again."""
    try:
        await first()
    except (SurfaceBusy, DatabaseAway):
        with suppress(SurfaceError):
            await second()
        raise
    except SurfaceError:
        await second()
        raise
    await second()
