"""Makes clients of Slack's Web API on one HTTP session; unsuccessful or oversized responses become errors."""

import base64
import logging
from collections.abc import Awaitable
from typing import Any

from aiohttp import ClientError, ClientPayloadError, ClientResponse, ClientSession, ClientTimeout
from cachetools import LRUCache
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.http_body import ReplyTooLong, read_limited
from agent_core.errors import SurfaceBusy, SurfaceError

sdk_logger = logging.getLogger(f"{__name__}.sdk")
sdk_logger.setLevel(logging.INFO)  # at DEBUG the SDK logs responses, new tokens included

SLACK_API = "https://slack.com/api/"
API_TIMEOUT_SECONDS = 10
MAX_CACHED_CLIENTS = 1_000
MAX_ANSWER_BYTES = 20_000_000  # a page of 200 messages has a few MB
RETRYABLE_ERRORS = frozenset(
    {"", "ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"}
)


class SlackRefused(SurfaceError):
    """Slack rejected the request; `error` is Slack's error code."""

    def __init__(self, error: str, details: str = "") -> None:
        self.error = error
        super().__init__(f"Slack refused: {error}. {details}".strip())


async def require_success(call: Awaitable[AsyncSlackResponse]) -> AsyncSlackResponse:
    """Await the response; raise SurfaceBusy for errors worth a retry, SlackRefused for all others."""
    try:
        return await call
    except SlackApiError as fault:
        raise _meaning(fault) from None  # the SDK's error contains the request with its token
    except (ClientError, SlackClientError, TimeoutError, OSError, AttributeError):
        # the SDK raises AttributeError for an answer in plain text
        raise SurfaceBusy("Slack cannot be reached.") from None


def _meaning(fault: SlackApiError) -> SurfaceError:
    response: Any = fault.response
    data = getattr(response, "data", None)
    told = data if isinstance(data, dict) else {}
    status, error = getattr(response, "status_code", 503), str(told.get("error") or "")
    if status == 429 or status >= 500 or error in RETRYABLE_ERRORS:
        return SurfaceBusy(f"Slack is busy ({error or status})", retry_after(response))
    return SlackRefused(error, "; ".join((told.get("response_metadata") or {}).get("messages") or ()))


def exchange(
    client: AsyncWebClient, *, client_id: str, client_secret: str, **given: str
) -> Awaitable[AsyncSlackResponse]:
    """Call oauth.v2.access with a code or a refresh token. The SDK's method uses BasicAuth, which aiohttp 4 removes."""
    credentials = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()
    headers = {"Authorization": f"Basic {credentials}"}
    return client.api_call("oauth.v2.access", data=given, headers=headers)


class LimitedResponse(ClientResponse):
    """An HTTP response with a size limit, checked before it is parsed."""

    async def read(self) -> bytes:
        """Read the whole body; raise ClientPayloadError beyond MAX_ANSWER_BYTES."""
        if self._body is None:
            try:
                self._body = await read_limited(self, MAX_ANSWER_BYTES)
            except ReplyTooLong:
                self.close()
                raise ClientPayloadError(f"Slack answered more than {MAX_ANSWER_BYTES:,} bytes.") from None
        return await super().read()


class SlackClients:
    """Clients that share one HTTP session."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url.rstrip("/") + "/"
        self._session: ClientSession | None = None
        self._clients: LRUCache[str | None, AsyncWebClient] = LRUCache(MAX_CACHED_CLIENTS)

    def client(self, token: str | None = None) -> AsyncWebClient:
        """Return a cached client for the token, without the SDK's own retries."""
        session = self._open()
        if client := self._clients.get(token):
            return client
        client = AsyncWebClient(
            token=token,
            base_url=self.base_url,
            timeout=API_TIMEOUT_SECONDS,
            session=session,
            retry_handlers=[],
            logger=sdk_logger,
        )
        client.proxy = None  # the SDK's own proxy choice ignores NO_PROXY; the session's does not
        self._clients[token] = client
        return client

    async def close(self) -> None:
        if self._session:
            await self._session.close()

    def _open(self) -> ClientSession:
        if self._session is None or self._session.closed:
            self._clients.clear()
            self._session = ClientSession(
                timeout=ClientTimeout(total=API_TIMEOUT_SECONDS), trust_env=True, response_class=LimitedResponse
            )
        return self._session


def retry_after(response: Any) -> float | None:
    """The Retry-After header in seconds; None if there is no valid one."""
    headers = getattr(response, "headers", None) or {}
    told = {name.lower(): value for name, value in headers.items()}.get("retry-after")
    try:
        return None if told is None else max(0.0, float(told[0] if isinstance(told, list) else told))
    except ValueError:
        return None
