"""What Slack sends to the app: events, interactions and slash commands, signed over HTTP or through Socket Mode."""

import asyncio
import hashlib
import hmac
import io
import json
import time
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import aiohttp

from tests.standins.slack.sockets import Sockets
from tests.standins.slack.state import Slack
from tests.standins.slack.values import Answer, Delivery, Json, Kind

if TYPE_CHECKING:
    from tests.standins.slack.teams import Channel, Team

FORM = "application/x-www-form-urlencoded"


def signature(secret: str, body: bytes, timestamp: str) -> str:
    """As X-Slack-Signature has it."""
    return "v0=" + hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + body, hashlib.sha256).hexdigest()


class Courier:
    """Delivers to one URL when it is set, through the sockets otherwise."""

    def __init__(self, slack: Slack) -> None:
        self.slack = slack
        self.url = ""
        self.sockets = Sockets(slack)
        self._session = aiohttp.ClientSession(auto_decompress=False)
        self._tasks: set[asyncio.Task[Any]] = set()

    def in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start it; it ends with the stand-in."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def settle(self) -> None:
        """Wait until nothing is under way."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Stop what is under way."""
        await self.sockets.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._session.close()

    async def event(self, team: "Team", event: Json, *, is_shared: bool = False) -> None:
        """An event, when the app is subscribed to it; tried again in the background when it is not taken."""
        if event["type"] not in self.slack.events:
            return
        payload = self._wrapped(team, event, is_shared=is_shared)
        delivery = await self.attempt("event", event["type"], payload)
        if not delivery.answer.is_acknowledged and "x-slack-no-retry" not in delivery.headers:
            self.in_background(self._retry(delivery))

    async def interaction(self, payload: Json) -> Answer:
        """A click or a form; never tried again."""
        return (await self.attempt("interaction", payload["type"], payload)).answer

    async def command(self, fields: Json) -> Answer:
        """A slash command; never tried again."""
        return (await self.attempt("slash", fields["command"], fields)).answer

    async def attempt(self, kind: Kind, name: str, payload: Json, retry: int = 0, reason: str = "") -> Delivery:
        """Deliver once and wait for the answer as long as Slack does."""
        delivery = Delivery(kind, name, payload, retry, reason)
        self.slack.deliveries.append(delivery)
        self.slack.changed()
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self.slack.patience):
                await (self._post(delivery) if self.url else self.sockets.send(delivery))
        except TimeoutError:
            delivery.status, delivery.ack = 0, "http_timeout" if self.url else "timeout"
        except (aiohttp.ClientError, ConnectionError):
            delivery.status, delivery.ack = 0, "connection_failed"
        delivery.seconds = time.perf_counter() - started
        self.slack.changed()
        return delivery

    async def raw(self, body: str | bytes, headers: Mapping[str, str]) -> Answer:
        """POST what a test has written."""
        started = time.perf_counter()
        data = io.BytesIO(body.encode() if isinstance(body, str) else body)
        async with self._session.post(self.url, data=data, headers=headers) as response:
            text = await response.text()
            return Answer(response.status, _read(text), time.perf_counter() - started)

    def headers(self, body: bytes, *, content_type: str, timestamp: float | None = None) -> dict[str, str]:
        """Those of a request that Slack signs."""
        at = str(int(time.time() if timestamp is None else timestamp))
        return {
            "Content-Type": content_type,
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
            "X-Slack-Request-Timestamp": at,
            "X-Slack-Signature": signature(self.slack.signing_secret, body, at),
        }

    async def tells_of_message(self, channel: "Channel", message: Json) -> None:
        """The `message` event of a new one."""
        event = {key: value for key, value in message.items() if key not in ("metadata", "reply_count")}
        event |= {"channel": channel.id, "channel_type": channel.kind, "event_ts": message["ts"]}
        await self.event(channel.team, event, is_shared=channel.is_shared)

    async def echoes(self, channel: "Channel", message: Json) -> None:
        """The `message` event of what the app itself has posted, unless the test wants none."""
        if self.slack.echo and channel.bot_is_member:
            await self.tells_of_message(channel, message)

    async def tells_of_change(self, channel: "Channel", before: Json, after: Json) -> None:
        """The `message` event of an edit."""
        await self._tells(channel, {"subtype": "message_changed", "message": after, "previous_message": before})

    async def tells_of_deletion(self, channel: "Channel", message: Json) -> None:
        """The `message` event of a deletion."""
        gone = {"subtype": "message_deleted", "previous_message": message, "deleted_ts": message["ts"]}
        await self._tells(channel, gone)

    async def _tells(self, channel: "Channel", event: Json) -> None:
        if not channel.bot_is_member:
            return
        ts = self.slack.ts()
        place = {"channel": channel.id, "channel_type": channel.kind, "ts": ts, "event_ts": ts}
        await self.event(channel.team, {"type": "message", "hidden": True, **place, **event})

    async def _retry(self, first: Delivery) -> None:
        failed = first
        for retry in range(1, self.slack.retries + 1):
            if not self.url and (self.sockets.is_away or not self.sockets.open):
                return
            reason = "http_error" if failed.status else str(failed.ack)
            failed = await self.attempt(first.kind, first.name, first.payload, retry, reason)
            if failed.answer.is_acknowledged or "x-slack-no-retry" in failed.headers:
                return

    async def _post(self, delivery: Delivery) -> None:
        body, content_type = _encoded(delivery)
        headers = self.headers(body, content_type=content_type)
        if delivery.retry:
            headers |= {"X-Slack-Retry-Num": str(delivery.retry), "X-Slack-Retry-Reason": delivery.reason}
        async with self._session.post(self.url, data=body, headers=headers) as response:
            text = await response.text()
            delivery.headers = {name.lower(): value for name, value in response.headers.items()}
            delivery.status, delivery.ack = response.status, _read(text)

    def _wrapped(self, team: "Team", event: Json, *, is_shared: bool) -> Json:
        authorization = {
            "enterprise_id": None,
            "team_id": team.id,
            "user_id": team.bot_user,
            "is_bot": True,
            "is_enterprise_install": False,
        }
        return {
            "token": "verification-token",
            "team_id": team.id,
            "context_team_id": team.id,
            "context_enterprise_id": None,
            "api_app_id": self.slack.app_id,
            "event": {"event_ts": self.slack.ts(), **event},
            "type": "event_callback",
            "event_id": self.slack.new_id("Ev"),
            "event_time": int(time.time()),
            "authorizations": [authorization],
            "is_ext_shared_channel": is_shared,
        }


def _encoded(delivery: Delivery) -> tuple[bytes, str]:
    match delivery.kind:
        case "event":
            return json.dumps(delivery.payload).encode(), "application/json"
        case "interaction":
            return urlencode({"payload": json.dumps(delivery.payload)}).encode(), FORM
        case "slash":
            return urlencode(delivery.payload).encode(), FORM


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
