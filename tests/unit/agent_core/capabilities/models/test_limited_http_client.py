"""The SDKs' HTTP client: events without end, and redirects to other hosts."""

import json
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from agent_core.capabilities.models.anthropic_model import CLAUDE_WINDOW_TOKENS, ClaudeModel
from agent_core.capabilities.models.model_endpoint import MAX_EVENT_BYTES, MAX_LIST_BYTES
from agent_core.capabilities.models.openai_model import OpenAIModel
from agent_core.errors import ModelRefused
from agent_core.model.model_calls import Message
from agent_core.ports.models import CallOptions, LanguageModel
from tests.standins.anthropic import anthropic_standin
from tests.standins.openai import SaysPlain, Sends, openai_standin

PROMPT = (Message("user", "Choose the next command."),)


class Redirects:
    """A server that redirects every request to `target`, with method and body."""

    def __init__(self) -> None:
        self.url = self.target = ""

    async def redirect(self, request: web.Request) -> web.StreamResponse:
        return web.Response(status=307, headers={"Location": f"{self.target}{request.path}"})


@pytest.fixture
async def redirects() -> AsyncIterator[Redirects]:
    server, app = Redirects(), web.Application()
    app.router.add_route("*", "/{path:.*}", server.redirect)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield server
    await runner.cleanup()


async def ask(model: LanguageModel) -> str:
    return (await model.complete(PROMPT, CallOptions(max_tokens=100))).text


@pytest.mark.parametrize("streams", [True, False])
async def test_claudes_prompts_are_not_redirected_to_another_host(redirects: Redirects, streams: bool) -> None:
    async with anthropic_standin() as other:
        redirects.target = other.base_url
        model = ClaudeModel(base_url=redirects.url, api_key="sk-ant-secret", streams=streams)
        with pytest.raises(ModelRefused, match=f"redirects to {other.base_url}, which is sent nothing") as caught:
            await ask(model)
        await model.close()
    assert "\n" not in str(caught.value)
    assert other.requests == []


@pytest.mark.parametrize("streams", [True, False])
async def test_prompts_in_openais_format_are_not_redirected_to_another_host(
    redirects: Redirects, streams: bool
) -> None:
    async with openai_standin() as other:
        redirects.target = other.base_url.removesuffix("/v1")
        model = OpenAIModel(base_url=f"{redirects.url}/v1", api_key="sk-secret", model="gpt-test", streams=streams)
        with pytest.raises(ModelRefused, match="which is sent nothing"):
            await ask(model)
        await model.close()
    assert other.requests == []


@pytest.mark.slow
async def test_a_redirect_within_the_host_is_followed() -> None:
    async def move(request: web.Request) -> web.StreamResponse:
        return web.Response(status=307, headers={"Location": "/new/v1/chat/completions"})

    async def answer(request: web.Request) -> web.StreamResponse:
        message = {"role": "assistant", "content": "Moved."}
        return web.json_response({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    app = web.Application()
    app.router.add_post("/v1/chat/completions", move)
    app.router.add_post("/new/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    model = OpenAIModel(base_url=f"http://127.0.0.1:{runner.addresses[0][1]}/v1", model="gpt-test")
    assert await ask(model) == "Moved."
    await model.close()
    await runner.cleanup()


@pytest.mark.slow
@pytest.mark.parametrize("line", [b": a comment without an event after it, in many lines\n", b"data: x"])
async def test_an_event_without_end_is_refused_for_both_sdks(line: bytes) -> None:
    part = line * (MAX_EVENT_BYTES // len(line) + 1)
    async with anthropic_standin() as api, openai_standin() as endpoint:
        claude = ClaudeModel(base_url=api.base_url)
        other = OpenAIModel(base_url=endpoint.base_url, model="gpt-test")
        for standin, model in ((api, claude), (endpoint, other)):
            standin.answers(Sends([part], hangs=True))
            with pytest.raises(ModelRefused, match="1,000,000 bytes as one event"):
                await ask(model)
            await model.close()


@pytest.mark.slow
@pytest.mark.parametrize("most", [MAX_LIST_BYTES, MAX_LIST_BYTES + 100])
async def test_a_list_of_models_that_is_too_long_is_not_read(most: int) -> None:
    listing = json.dumps({"data": [{"id": "only", "max_input_tokens": 50_000, "note": "x" * (most - 80)}]}).encode()
    is_read = len(listing) <= MAX_LIST_BYTES
    async with anthropic_standin() as api, openai_standin() as endpoint:
        api.listing = Sends([listing], "application/json")
        endpoint.listing = SaysPlain(listing.decode(), "application/json")
        claude, other = ClaudeModel(base_url=api.base_url, model="only"), OpenAIModel(base_url=endpoint.base_url)
        await claude.prepare()
        assert claude.window("") == (50_000 if is_read else CLAUDE_WINDOW_TOKENS)
        refusal = (
            "model only" if is_read else "sent more than 4,000,000 bytes as one list of models, so it was not read"
        )
        with pytest.raises(ModelRefused, match=refusal):
            await ask(other)
        await claude.close()
        await other.close()
