"""Reads an endpoint's list of models.

The SDKs would build an object for each entry in the event loop, which takes seconds for 100,000 of them.
"""

import asyncio
import json
from collections.abc import Awaitable, Mapping
from typing import Any

LISTING_TIMEOUT_SECONDS = 10
MAX_MODELS = 10_000


async def receive_model_list(request: Awaitable[Any], seconds: float) -> list[tuple[str, Mapping[str, object]]] | None:
    """The first MAX_MODELS models, each with its name and metadata; None if the response is not a JSON object.

    `request` gives a raw response of an SDK. Raise its errors, or TimeoutError after `seconds`, and at the latest after
    LISTING_TIMEOUT_SECONDS.
    """
    async with asyncio.timeout(min(seconds, LISTING_TIMEOUT_SECONDS)):
        response = await request
    try:
        answer = await asyncio.to_thread(json.loads, response.http_response.content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(answer, dict):
        return None
    listed = answer.get("data")
    first = listed[:MAX_MODELS] if isinstance(listed, list) else []
    return [(model["id"], model) for model in first if isinstance(model, dict) and isinstance(model.get("id"), str)]
