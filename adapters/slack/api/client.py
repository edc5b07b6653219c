"""The one door to Slack's Web API: it waits as it is told, channel by channel, and says what a refusal means."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from aiohttp import ClientError
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.slack.api.tokens import SlackTokens
from adapters.slack.api.web_api import NOT_NOW, retry_after
from agent_core.errors import SurfaceBusy, SurfaceError, ThreadGone
from agent_core.ports.world import Clock

Ask: TypeAlias = Callable[[AsyncWebClient], Awaitable[AsyncSlackResponse]]
LONGEST_WAIT = 60.0

REMOVED = "Signoff was removed from this Slack workspace. Install it again."
CLOSED = "Slack does not let Signoff write in this channel."
GONE = {
    "channel_not_found": "Slack knows no such channel, or Signoff is not in it: /invite @Signoff brings it back.",
    "not_in_channel": "Signoff is not in this channel: /invite @Signoff brings it in.",
    "is_archived": "The channel is archived.",
    "thread_not_found": "The thread was deleted.",
    "cannot_reply_to_message": "The thread was deleted.",
    "missing_scope": "The Slack app lacks a permission: update it from manifest.yml and install it again.",
    "no_permission": CLOSED,
    "restricted_action": CLOSED,
    "restricted_action_read_only_channel": CLOSED,
    "restricted_action_thread_locked": "The thread is locked.",
    "account_inactive": REMOVED,
    "invalid_auth": REMOVED,
    "not_authed": REMOVED,
    "token_expired": REMOVED,
    "token_revoked": REMOVED,
    "team_access_not_granted": REMOVED,
}


class SlackRefused(SurfaceError):
    """Slack took the request for wrong: `error` is its word for it."""

    def __init__(self, error: str, details: str = "") -> None:
        self.error = error
        super().__init__(f"Slack refused: {error}. {details}".strip())


@dataclass(slots=True)
class Gate:
    """Closed until a time, after so many faults in a row."""

    until: datetime
    faults: int


@dataclass(slots=True, kw_only=True)
class SlackApi:
    """Asks Slack, unless it said that it wants to be left alone in that place for a while."""

    tokens: SlackTokens
    clock: Clock
    gates: dict[str, Gate] = field(default_factory=dict)

    async def ask(self, workspace: str, ask: Ask, *, place: str = "") -> AsyncSlackResponse:
        """What Slack answers; `place` is the channel, whose waiting is its own.

        Raise SurfaceBusy for what another try may mend, ThreadGone for a place that is lost, SlackRefused otherwise.
        """
        key = f"{workspace}/{place}"
        self._pass(key)
        try:
            answer = await ask(await self.tokens.client(workspace))
        except SlackApiError as fault:
            raise self._meaning(key, fault) from None  # the SDK's error holds the request with its token
        except (ClientError, SlackClientError, TimeoutError, OSError, AttributeError) as fault:
            # AttributeError is what the SDK makes of an answer in plain text.
            raise self._closed(key, f"Slack cannot be reached ({type(fault).__name__})", None) from None
        self.gates.pop(key, None)
        return answer

    def _pass(self, key: str) -> None:
        gate = self.gates.get(key)
        left = (gate.until - self.clock.now()).total_seconds() if gate else 0
        if left > 0:
            raise SurfaceBusy("Slack asked to wait", left)

    def _meaning(self, key: str, fault: SlackApiError) -> SurfaceError:
        response: Any = fault.response
        data = getattr(response, "data", None)
        told = data if isinstance(data, dict) else {}
        status, error = getattr(response, "status_code", 503), str(told.get("error") or "")
        if status == 429 or status >= 500 or error in NOT_NOW:
            return self._closed(key, f"Slack is busy ({error or status})", retry_after(response))
        if error in GONE:
            return ThreadGone(GONE[error])
        return SlackRefused(error, "; ".join((told.get("response_metadata") or {}).get("messages") or ()))

    def _closed(self, key: str, why: str, seconds: float | None) -> SurfaceBusy:
        faults = self.gates[key].faults + 1 if key in self.gates else 1
        if seconds is None:
            # Full jitter: of many agents that lost Slack together not all come back at once.
            seconds = min(LONGEST_WAIT, 2**faults) * (0.5 + random.random() / 2)  # noqa: S311 - no secret
        self.gates[key] = Gate(self.clock.now() + timedelta(seconds=seconds), faults)
        return SurfaceBusy(why, seconds)
