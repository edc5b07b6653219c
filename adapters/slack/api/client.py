"""Calls Slack's Web API; refuses calls to a channel during its backoff, reads pages, translates Slack's errors."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TypeAlias

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.chat.catchup import retry_while_rate_limited
from adapters.slack.api.tokens import SlackTokens
from adapters.slack.api.web_api import SlackRefused, require_success
from agent_core.errors import SurfaceBusy, ThreadGone
from agent_core.ports.clock import Clock
from agent_core.ports.telemetry import NOT_WATCHED, Telemetry

Ask: TypeAlias = Callable[[AsyncWebClient], Awaitable[AsyncSlackResponse]]
MAX_BACKOFF_SECONDS = 60.0

REMOVED = "Signoff was removed from this Slack workspace. Install it again."
CLOSED = "Slack does not let Signoff post in this channel."
GONE_REASONS = {
    "channel_not_found": "Slack cannot find this channel, or Signoff is not a member: add it with /invite @Signoff.",
    "not_in_channel": "Signoff is not in this channel: add it with /invite @Signoff.",
    "is_archived": "The channel is archived.",
    "is_inactive": "The channel is archived.",
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


@dataclass(slots=True)
class Backoff:
    """A pause for one channel: no request is sent before `until`. `faults`: the number of failures in a row."""

    until: datetime
    faults: int


@dataclass(slots=True, kw_only=True)
class SlackApi:
    """Calls Slack's Web API. While a rate limit or backoff lasts for a channel, raises SurfaceBusy without a call."""

    tokens: SlackTokens
    clock: Clock
    telemetry: Telemetry = NOT_WATCHED
    gates: dict[str, Backoff] = field(default_factory=dict)

    async def ask(self, workspace: str, ask: Ask, *, place: str = "") -> AsyncSlackResponse:
        """Call a method and return the response; rate limits and backoff are tracked per `place`, usually a channel.

        Raise SurfaceBusy if a retry may succeed, ThreadGone if the channel or thread is gone, else
        SlackRefused.
        """
        key = f"{workspace}/{place}"
        self._pass(key)
        client = await self.tokens.client(workspace)
        try:
            answer = await require_success(ask(client))
        except SurfaceBusy as busy:
            raise self._closed(key, str(busy), busy.retry_after) from None
        except SlackRefused as refused:
            if refused.error in GONE_REASONS:
                raise ThreadGone(GONE_REASONS[refused.error]) from None
            raise
        self.gates.pop(key, None)
        return answer

    async def pages(
        self,
        workspace: str,
        ask: Callable[..., Awaitable[AsyncSlackResponse]],
        most: int,
        *,
        place: str,
        retries: bool = False,
    ) -> AsyncIterator[AsyncSlackResponse]:
        """Yield at most `most` pages of a method; raise what `SlackApi.ask` raises.

        The parameter `ask` calls the method with a client and a `cursor`. `retries`: retry while Slack is busy.
        """
        cursor: str | None = None
        for _ in range(most):
            call = partial(self.ask, workspace, partial(ask, cursor=cursor), place=place)
            page = await (retry_while_rate_limited(call, self.clock) if retries else call())
            yield page
            cursor = (page.get("response_metadata") or {}).get("next_cursor") or None
            if cursor is None:
                return

    def _pass(self, key: str) -> None:
        gate = self.gates.get(key)
        left = (gate.until - self.clock.now()).total_seconds() if gate else 0
        if left > 0:
            raise SurfaceBusy("Slack's rate limit: waiting", left)

    def _closed(self, key: str, why: str, seconds: float | None) -> SurfaceBusy:
        faults = self.gates[key].faults + 1 if key in self.gates else 1
        if seconds is not None:  # only a rate limit names a time
            self.telemetry.count_rate_limit("slack")
        else:
            # Jitter, so that many agents do not retry at the same moment.
            seconds = min(MAX_BACKOFF_SECONDS, 2**faults) * (0.5 + random.random() / 2)  # noqa: S311 - no secret
        self.gates[key] = Backoff(self.clock.now() + timedelta(seconds=seconds), faults)
        return SurfaceBusy(why, seconds)
