"""Checks a model endpoint by a request for its list of models, without an SDK."""

import json
from typing import TYPE_CHECKING

from agent_core.ports.models import EndpointCheck
from agent_core.providers.limited_replies import MAX_CHAT_BYTES, ReplyTooLong, read_limited
from agent_core.providers.llm.endpoint_errors import MAX_NAME_CHARACTERS

if TYPE_CHECKING:
    from aiohttp import ClientResponse

TIMEOUT_SECONDS = 3.0


async def check_endpoint(url: str, key: str, *, is_claude: bool) -> EndpointCheck:
    """List the models of the endpoint within 3 s. Never raises. `is_claude`: the endpoint speaks Anthropic's API."""
    from aiohttp import ClientError, ClientSession, ClientTimeout  # imported on first use

    if is_claude and url.endswith("/v1"):
        return EndpointCheck(fault="has an address that ends in /v1, which Anthropic's API does not have")
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"} if is_claude else {"Authorization": f"Bearer {key}"}
    address = f"{url.rstrip('/')}{'/v1/models?limit=1000' if is_claude else '/models'}"
    try:
        async with (
            ClientSession(timeout=ClientTimeout(total=TIMEOUT_SECONDS), trust_env=True) as session,
            session.get(address, headers=headers if key else {}, allow_redirects=False) as answer,
        ):
            if fault := _fault(answer.status, answer.content_type, has_key=bool(key), lists_models=not is_claude):
                return EndpointCheck(fault=fault)
            return EndpointCheck(models=await _read_names(answer) if answer.status == 200 else ())
    except TimeoutError:
        return EndpointCheck(fault=f"did not answer within {TIMEOUT_SECONDS:.0f} seconds")
    except (ClientError, OSError, ValueError):
        return EndpointCheck(fault="cannot be reached")


def model_ids(answer: object) -> tuple[str, ...]:
    """The names in a list of models, or () if one entry has no name or the answer is no such list."""
    match answer:
        case {"data": list(models)}:
            ids = tuple(model["id"] for model in models if isinstance(model, dict) and isinstance(model.get("id"), str))
            return ids if len(ids) == len(models) else ()
        case _:
            return ()


async def _read_names(answer: "ClientResponse") -> tuple[str, ...]:
    from aiohttp import ClientError

    try:
        listing = json.loads(await read_limited(answer, MAX_CHAT_BYTES))
    except (ClientError, OSError, TimeoutError, ValueError, RecursionError, ReplyTooLong):
        return ()  # the endpoint answers, and works without a list
    return tuple(name for name in model_ids(listing) if len(name) <= MAX_NAME_CHARACTERS)


def _fault(status: int, content_type: str, *, has_key: bool, lists_models: bool) -> str:
    """What is wrong with the answer to a request for the list of models, or ""."""
    if status in (401, 403):
        return f"{'does not accept the' if has_key else 'wants a'} key ({status})"
    if status in (404, 405) or (status == 200 and not content_type.endswith("json")):
        return "lists no models; its address usually ends in /v1" if lists_models else ""
    return "" if status == 200 else f"answers {status}"
