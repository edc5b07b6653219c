"""HTTP client for the OpenAI SDK with a limit on the size of responses."""

from typing import Any

from openai import DefaultAsyncHttpxClient

from agent_core.providers.limited_replies import join_limited

ENCODING_HEADERS = ("content-encoding", "content-length", "transfer-encoding")


class LimitedClient(DefaultAsyncHttpxClient):
    """The SDK's HTTP client; reads at most `max_reply_bytes` of a response, counted after decompression."""

    def __init__(self, max_reply_bytes: int, **options: Any) -> None:
        super().__init__(**options)
        self._max_reply_bytes = max_reply_bytes

    async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
        """Send the request; raise ReplyTooLong."""
        response = await super().send(request, stream=True, **options)
        if stream:
            return response
        try:
            body = await join_limited(response.aiter_bytes(), self._max_reply_bytes)
        finally:
            await response.aclose()
        headers = [
            (name, value) for name, value in response.headers.multi_items() if name.lower() not in ENCODING_HEADERS
        ]
        return type(response)(response.status_code, headers=headers, content=body, request=request)
