"""The HTTP client that the OpenAI SDK is given: it cuts off replies that are too long. Loaded with the SDK."""

from typing import Any

from openai import DefaultAsyncHttpxClient

from agent_core.providers.limited_replies import ReplyTooLong

PACKING = ("content-encoding", "content-length", "transfer-encoding")


class LimitedClient(DefaultAsyncHttpxClient):
    """The SDK's own client, which reads at most `max_reply_bytes` of a reply, counted when unpacked."""

    def __init__(self, max_reply_bytes: int, **options: Any) -> None:
        super().__init__(**options)
        self._max_reply_bytes = max_reply_bytes

    async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
        """Send the request; raise ReplyTooLong, which the SDK passes on, or gives as the cause of its own error."""
        response = await super().send(request, stream=True, **options)
        if stream:
            return response
        body = bytearray()
        try:
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > self._max_reply_bytes:
                    raise ReplyTooLong(self._max_reply_bytes)
        finally:
            await response.aclose()
        headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in PACKING]
        return type(response)(response.status_code, headers=headers, content=bytes(body), request=request)
