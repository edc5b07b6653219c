"""Checks of model endpoints for the doctor, without an SDK: lists their models, and words what was found.

Servers on this machine (Ollama, LM Studio, llama.cpp) are suggested; none is used automatically.
"""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal

from agent_core.capabilities.capability import Finding
from agent_core.capabilities.models.completion import text_in
from agent_core.capabilities.models.endpoint_errors import MAX_NAME_CHARACTERS
from agent_core.capabilities.models.settings import OPENAI_URL, Endpoint
from agent_core.ports.models import EndpointCheck, LocalServer
from agent_core.providers.limited_replies import MAX_CHAT_BYTES, MAX_JSON_BYTES, ReplyTooLong, read_limited
from agent_core.text.lines import one_line

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

PORTS = (11434, 1234, 8080, 8000, 1337)
NAMES = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp"}
FINDING_SECONDS, CHECK_SECONDS = 0.5, 3.0
MAX_SHOWN_MODELS = 3
MAX_COMPARED_MODELS = 10_000  # takes a fifth of a second
# Ollama's tag, the date of a version that Anthropic and OpenAI leave out of a name, and Gemini's folder
ALIAS = r"(?:models/)?{}(?::latest|-20\d{{6}}|-20\d\d-\d\d-\d\d)?"


async def find_local_servers(ports: Sequence[int] = PORTS, host: str = "127.0.0.1") -> tuple[LocalServer, ...]:
    """Servers that list their models within 0.5 s, in the order of `ports`. Never raises; uses no proxy."""
    from aiohttp import ClientSession, ClientTimeout  # imported late

    async with ClientSession(timeout=ClientTimeout(total=FINDING_SECONDS), trust_env=False) as session:
        found = await asyncio.gather(*(_server(session, host, port) for port in ports))
    return tuple(server for server in found if server)


async def check_endpoint(url: str, key: str, *, is_claude: bool) -> EndpointCheck:
    """List the models of the endpoint within 3 s. Never raises. `is_claude`: the endpoint speaks Anthropic's API."""
    from aiohttp import ClientError, ClientSession, ClientTimeout  # imported on first use

    if is_claude and url.endswith("/v1"):
        return EndpointCheck(fault="has an address that ends in /v1, which Anthropic's API does not have")
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"} if is_claude else {"Authorization": f"Bearer {key}"}
    address = f"{url.rstrip('/')}{'/v1/models?limit=1000' if is_claude else '/models'}"
    try:
        async with (
            ClientSession(timeout=ClientTimeout(total=CHECK_SECONDS), trust_env=True) as session,
            session.get(address, headers=headers if key else {}, allow_redirects=False) as answer,
        ):
            if fault := _fault(answer.status, answer.content_type, has_key=bool(key), lists_models=not is_claude):
                return EndpointCheck(fault=fault)
            # An endpoint that answers works without a list.
            return EndpointCheck(models=await _read_names(answer, MAX_CHAT_BYTES))
    except TimeoutError:
        return EndpointCheck(fault=f"did not answer within {CHECK_SECONDS:.0f} seconds")
    except (ClientError, OSError, ValueError):
        return EndpointCheck(fault="cannot be reached")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenModel:
    """A model that a setting chooses: the finding's `name`, the model or "" for the default, and the setting."""

    name: str
    model: str
    variable: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultModel:
    """The context window of the default model in tokens, whether it is known or assumed, and the prompt for it.

    `sees`: whether it takes pictures; None if neither its name nor the endpoint's list says.
    """

    window: int
    is_known: bool
    profile: Literal["full", "compact"]
    sees: bool | None


def model_finding(chosen: ChosenModel, endpoint: Endpoint, check: EndpointCheck) -> Finding:
    """The state of a model by the check of its endpoint. OpenAI's own list is complete; a gateway may serve more."""
    model = chosen.model or check.default
    default = "" if chosen.model or not model else " (default)"
    why = " · ".join(filter(None, (f"{one_line(model)}{default}", endpoint.host)))
    if check.fault:
        variables = f"{endpoint.key_variable}, {endpoint.url_variable}"
        return Finding(name=chosen.name, state="fault", why=f"{why} {check.fault}", variable=variables)
    if model and check.models and not _is_listed(model, check.models):
        is_complete = endpoint.url == OPENAI_URL
        why = f"{why} is not in the endpoint's list of models; {_suggestion(model, check.models)}"
        return Finding(name=chosen.name, state="fault" if is_complete else "warn", why=why, variable=chosen.variable)
    return Finding(name=chosen.name, state="on", why=why, variable=f"{endpoint.url_variable}, {chosen.variable}")


async def _server(session: "ClientSession", host: str, port: int) -> LocalServer | None:
    from aiohttp import ClientError

    base_url = f"http://{host}:{port}/v1"
    try:
        async with session.get(f"{base_url}/models", allow_redirects=False) as response:
            models = await _read_names(response, MAX_JSON_BYTES)
    except (ClientError, OSError, TimeoutError):
        return None
    return LocalServer(name=NAMES.get(port, "local server"), base_url=base_url, models=models) if models else None


async def _read_names(answer: "ClientResponse", max_bytes: int) -> tuple[str, ...]:
    """The names in a list of models; () if one entry has no name, or the answer is no such list."""
    from aiohttp import ClientError

    try:
        listing = json.loads(await read_limited(answer, max_bytes)) if answer.status == 200 else None
    except (ClientError, OSError, TimeoutError, ValueError, RecursionError, ReplyTooLong):
        return ()
    models = listing.get("data") if isinstance(listing, dict) else None
    names = [text_in(each, "id") for each in models] if isinstance(models, list) else []
    return tuple(name for name in names if len(name) <= MAX_NAME_CHARACTERS) if all(names) else ()


def _fault(status: int, content_type: str, *, has_key: bool, lists_models: bool) -> str:
    """What is wrong with the answer to a request for the list of models, or ""."""
    if status in (401, 403):
        return f"{'does not accept the' if has_key else 'wants a'} key ({status})"
    if status in (404, 405) or (status == 200 and not content_type.endswith("json")):
        return "lists no models; its address usually ends in /v1" if lists_models else ""
    return "" if status == 200 else f"answers {status}"


def _is_listed(model: str, models: Sequence[str]) -> bool:
    alias = re.compile(ALIAS.format(re.escape(model)))
    return any(map(alias.fullmatch, models))


def _suggestion(model: str, models: Sequence[str]) -> str:
    closest = get_close_matches(model, models[:MAX_COMPARED_MODELS], MAX_SHOWN_MODELS)
    shown = ", ".join(map(one_line, closest or models[:MAX_SHOWN_MODELS]))
    return f"closest: {shown}" if closest else f"it has, for example: {shown}"
