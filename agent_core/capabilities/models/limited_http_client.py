"""HTTP client for the SDKs of models: bounded responses, nothing compressed, no redirect to another host."""

from collections.abc import AsyncIterator

from httpx2 import AsyncByteStream, AsyncClient, Limits, Response

from agent_core.capabilities.models.endpoint_errors import CompressedReply, RedirectedElsewhere
from agent_core.providers.limited_replies import EVENT_STREAM, ReplyTooLong

MAX_STREAM_BYTES = 128_000_000  # 128,000 tokens in events of 400 bytes come to 51 MB
MAX_LIST_BYTES = 4_000_000  # of a list of models; OpenRouter's, with hundreds of models, has less than 1 MB
MAX_EVENT_BYTES = 1_000_000  # Anthropic's SDK copies an event for each of its lines
EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
CONNECTIONS = Limits(max_connections=1_000, max_keepalive_connections=100)  # as the SDKs' own clients


class LimitedStream(AsyncByteStream):
    """The body of a response, which raises ReplyTooLong as soon as it has more than `max_bytes`.

    So does an event of a stream of more than MAX_EVENT_BYTES.
    """

    def __init__(self, body: AsyncByteStream, max_bytes: int, unit: str, *, has_events: bool) -> None:
        self._body, self._max_bytes, self._unit, self._has_events = body, max_bytes, unit, has_events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = event = 0
        async for part in self._body:
            size += len(part)
            if size > self._max_bytes:
                raise ReplyTooLong(self._max_bytes, self._unit)
            event = 0 if any(end in part for end in EVENT_ENDS) else event + len(part)
            if self._has_events and event > MAX_EVENT_BYTES:
                raise ReplyTooLong(MAX_EVENT_BYTES, "event")
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()


def limited_client(max_reply_bytes: int, *, trust_env: bool) -> AsyncClient:
    """A client whose responses have at most `max_reply_bytes`; MAX_STREAM_BYTES for a stream of events.

    A list of models may have MAX_LIST_BYTES. Reading more raises ReplyTooLong. A compressed response raises
    CompressedReply: a short one could unpack to any size. Redirects are followed within the same host only, else they
    raise RedirectedElsewhere: prompts are sent to no other host.
    """

    async def limit(response: Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise CompressedReply
        request = response.request
        has_events = EVENT_STREAM in response.headers.get("content-type", "")
        if has_events:
            most, unit = MAX_STREAM_BYTES, "reply"
        elif request.method == "GET" and request.url.path.endswith("/models"):
            most, unit = MAX_LIST_BYTES, "list of models"
        else:
            most, unit = max_reply_bytes, "reply"
        if isinstance(response.stream, AsyncByteStream):
            response.stream = LimitedStream(response.stream, most, unit, has_events=has_events)

    return AsyncClient(
        headers={"Accept-Encoding": "identity"},
        follow_redirects=True,
        limits=CONNECTIONS,
        event_hooks={"response": [check_redirect, limit]},
        trust_env=trust_env,
    )


async def check_redirect(response: Response) -> None:
    """Raise RedirectedElsewhere if the response redirects to another host, or from https to http."""
    if not response.has_redirect_location:
        return
    source = response.request.url
    target = source.join(response.headers["location"])
    is_same = (target.scheme, target.host, target.port) == (source.scheme, source.host, source.port)
    is_made_secure = (source.scheme, target.scheme, target.host, target.port) == ("http", "https", source.host, None)
    if not (is_same or is_made_secure):
        raise RedirectedElsewhere(f"{target.scheme}://{target.netloc.decode(errors='replace')}")
