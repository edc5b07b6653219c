"""Claude behind gateways that break the API's format, with the real SDK over real sockets."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import repeat
from typing import Any

import pytest

from agent_core.capabilities.models.anthropic_model import CLAUDE_WINDOW_TOKENS, ClaudeDialect, ClaudeModel
from agent_core.capabilities.models.openai_model import OpenAIModel
from agent_core.capabilities.models.prices import Prices
from agent_core.capabilities.models.token_counters import EstimatedTokens
from agent_core.errors import ModelError, ModelRefused, ModelUnavailable
from agent_core.model.agent import ModelChoice
from agent_core.model.model_calls import FREE, Message, Reply, Usage
from agent_core.ports.models import CallOptions, TokenCounter
from agent_core.prompt.model_client import MeteredModel, ModelRequest
from agent_core.spending.spending_tracker import SpendingTracker
from tests.standins.anthropic import anthropic_standin
from tests.standins.openai import Fails, Says, SaysPlain, Sends, openai_standin
from tests.unit.agent_core.capabilities.models.test_anthropic_model import Api

PROMPT = (Message("system", "You are Ada."), Message("user", "Choose the next command."))
REPLY = '{"thoughts": {}, "command": {"name": "do_nothing", "args": {}}}'
LONG_REPLY = json.dumps({"text": "word and another one. " * 500})
TOOL = {
    "type": "content_block_start",
    "index": 0,
    "content_block": {"type": "tool_use", "id": "t", "name": "next_turn"},
}
TEXT = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
NAME = "claude-sonnet-5-5"
JSON = "application/json"


class Counters:
    def of(self, model: str) -> TokenCounter:
        return EstimatedTokens()


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with anthropic_standin() as standin, AsyncExitStack() as stack:
        yield Api(standin, stack)


async def ask(model: ClaudeModel, **options: Any) -> Reply:
    return await model.complete(PROMPT, CallOptions(**{"schema": {"type": "object"}, "max_tokens": 2_000, **options}))


async def error_of(model: ClaudeModel, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(model, **options)
    return caught.value


def event(body: dict[str, Any]) -> bytes:
    return f"event: {body['type']}\ndata: {json.dumps(body)}\n\n".encode()


def begin(**usage: int) -> bytes:
    return event({"type": "message_start", "message": {"usage": {"input_tokens": 1_000, "output_tokens": 1, **usage}}})


def arguments(text: str) -> bytes:
    delta = {"type": "input_json_delta", "partial_json": text}
    return event({"type": "content_block_delta", "index": 0, "delta": delta})


def text_delta(text: str) -> bytes:
    return event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})


def end(usage: object) -> bytes:
    return event({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": usage})


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        *("<html>Sign in</html>", '"x"', "null", "[1]", '{"data": "x"}', '{"data": [null, 1]}'),
        *(
            json.dumps({"data": [{"id": NAME, "max_input_tokens": size, "max_tokens": size}]})
            for size in (-5, 0, 1, True, 10**12, "many", {"a": 1})
        ),
    ],
)
async def test_a_list_of_models_that_cannot_be_one_is_ignored(api: Api, body: str) -> None:
    api.standin.listing = Sends([body.encode()], "text/html" if body.startswith("<") else JSON)
    model = api.model()
    await model.prepare()
    api.standin.answers(Says(REPLY))
    assert (await ask(model)).text == REPLY
    assert (model.window(""), model.max_reply("")) == (CLAUDE_WINDOW_TOKENS, 64_000)


@pytest.mark.slow
async def test_a_list_that_hangs_costs_one_call(api: Api) -> None:
    api.standin.listing = Sends([b""], JSON, hangs=True)
    model = api.model(seconds=0.3)
    for _ in range(3):
        await ask(model)
    assert [request.path for request in api.standin.requests][:2] == ["/v1/messages", "/v1/models"]
    assert sum(request.path.endswith("/models") for request in api.standin.requests) == 1


@pytest.mark.slow
@pytest.mark.parametrize("usage", [None, {}, {"output_tokens": -1}, {"output_tokens": 1}])
async def test_a_reply_is_counted_if_the_report_is_missing_or_far_too_small(api: Api, usage: object) -> None:
    parts = (begin(), event(TOOL), arguments(LONG_REPLY), end(usage))
    api.standin.answers(Sends(parts))
    used = (await ask(api.model())).usage
    assert used.prompt == 1_000
    assert used.completion > 1_500


async def test_a_small_report_is_believed_where_it_is_possible(api: Api) -> None:
    api.standin.answers(Sends((begin(), event(TOOL), arguments(REPLY), end({"output_tokens": 12}))))
    assert (await ask(api.model())).usage.completion == 12


@pytest.mark.slow
@pytest.mark.parametrize(("block", "delta"), [(TOOL, arguments), (TEXT, text_delta)])
async def test_blanks_without_end_end_the_reply_and_are_counted(api: Api, block: Any, delta: Any) -> None:
    def parts() -> Iterator[bytes]:
        yield from (begin(), event(block), delta('{"a": 1}'))
        yield from repeat(delta(" " * 1_000))

    api.standin.answers(Sends(parts()))
    reply = await ask(api.model())
    assert reply.text == '{"a": 1}'
    assert reply.usage.completion > 1


async def test_a_compressed_stream_is_refused(api: Api) -> None:
    stream = gzip.compress(begin() + event(TOOL) + arguments("{}") + end({"output_tokens": 5}))
    api.standin.answers(Sends([stream], headers={"Content-Encoding": "gzip"}))
    assert "compressed its reply, which it was asked not to do" in str(await error_of(api.model()))
    assert len(api.standin.messages) == 1


async def test_a_whole_reply_to_a_streamed_request_is_read(api: Api) -> None:
    api.standin.streams = False
    api.standin.answers(Says(REPLY))
    assert (await ask(api.model())).text == REPLY


@pytest.mark.slow
@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("body", ["<html>Sign in</html>", "null", "[1]", '{"content": "x"}'])
async def test_a_page_instead_of_a_reply_is_told_in_one_sentence(api: Api, body: str, streams: bool) -> None:
    api.standin.answers(SaysPlain(body, "text/html" if body.startswith("<") else JSON))
    error = await error_of(api.model(streams=streams))
    assert isinstance(error, ModelRefused)
    assert "did not answer as a model does: check ANTHROPIC_BASE_URL" in str(error)


@pytest.mark.parametrize("streams", [True, False])
async def test_an_error_with_status_200_is_told(api: Api, streams: bool) -> None:
    body = {"type": "error", "error": {"type": "api_error", "message": "Out of order."}}
    api.standin.answers(SaysPlain(json.dumps(body), JSON))
    error = await error_of(api.model(streams=streams))
    assert isinstance(error, ModelUnavailable)
    assert str(error).endswith("broke off its reply: Out of order.")


@pytest.mark.parametrize(
    "complaint",
    [
        "messages.3: the tool result is too large",
        "messages.1.content.0.type: expected 'thinking' or 'redacted_thinking'",
        "thinking.budget_tokens must be less than max_tokens",
        "your organization's policy forbids tool and thinking of this kind, whatever the effort",
    ],
)
@pytest.mark.parametrize("effort", ["", "high"])
def test_errors_that_are_not_about_tools_and_thinking_teach_nothing_of_them(complaint: str, effort: str) -> None:
    options = CallOptions(max_tokens=64_000, schema={}, effort=effort)
    adapted = ClaudeDialect(efforts=()).adapt(complaint, options)
    assert adapted is None


@pytest.mark.parametrize(
    ("complaint", "change"),
    [
        ("tools: extra inputs are not permitted", {"choice": "auto"}),
        ("tools.0.custom.input_schema: extra inputs are not permitted", {"choice": "auto"}),
        ("this model does not support tools", {"choice": "auto"}),
        ("tool_choice: input should be 'auto'", {"choice": "auto"}),
        ("thinking may not be enabled when tool_choice forces tool use.", {"choice": "auto"}),
        ('"thinking.type.adaptive" is not supported for this model.', {"thinking": "budget"}),
        ("adaptive thinking is not supported on this model", {"thinking": "budget"}),
        ("thinking: extra inputs are not permitted", {"thinking": "budget"}),
        ("thinking.display: extra inputs are not permitted", {"thinking": "budget"}),
    ],
)
def test_errors_about_tools_and_thinking_change_the_parameter(complaint: str, change: dict[str, Any]) -> None:
    options = CallOptions(max_tokens=64_000, schema={}, effort="high")
    assert ClaudeDialect().adapt(complaint, options) == ClaudeDialect(**change)


@pytest.mark.slow
async def test_pings_and_comments_alone_are_a_stall(api: Api) -> None:
    ping = b"\n" + event({"type": "ping"}) + b": still here\n\n"
    api.standin.answers(Sends((begin(), ping), hangs=True))
    error = await error_of(api.model(silence_seconds=0.1))
    assert isinstance(error, ModelUnavailable)
    assert "did not answer in time" in str(error)


@pytest.mark.slow
async def test_thinking_that_is_shown_is_no_stall(api: Api) -> None:
    delta = {"type": "thinking_delta", "thinking": "Let me see. "}
    thought = event({"type": "content_block_delta", "index": 0, "delta": delta})
    seen: list[int] = []
    api.standin.answers(Sends((begin(), thought), hangs=True))
    call = asyncio.create_task(ask(api.model(silence_seconds=0.3), report=lambda progress: seen.append(1)))
    while len(seen) < 10 and not call.done():  # at LOOK_SECONDS each, longer than the stall
        await asyncio.wait([call], timeout=0.05)
    assert not call.done()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


@pytest.mark.parametrize("ending", ["stop", "break", "error"])
async def test_the_prompt_is_billed_as_reported_if_hidden_thinking_is_stopped_or_breaks_off(
    api: Api, ending: str
) -> None:
    hidden = event({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}})
    fault = event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    parts = (begin(input_tokens=100, cache_read_input_tokens=180_000, cache_creation_input_tokens=1_000), hidden)
    api.standin.answers(Sends((*parts, fault) if ending == "error" else parts, hangs=ending == "stop"))
    begun, tracker = asyncio.Event(), SpendingTracker()
    model = api.model(prices=Prices.at("https://api.anthropic.com", {}))
    request = ModelRequest(kind="chat", prompt=PROMPT, report=lambda progress: begun.set())
    metered = MeteredModel(model=model, tokens=Counters())
    call = asyncio.create_task(metered.ask(request, ModelChoice(), tracker))
    await begun.wait()
    if ending == "stop":
        call.cancel()
    with pytest.raises((asyncio.CancelledError, ModelUnavailable)):
        await call
    told = Usage(prompt=181_100, cached=180_000, cache_written=1_000)
    spent = tracker.spent["chat"]
    assert replace(spent, completion=0, cost=FREE) == told
    plain = model.price(Usage(prompt=181_100), "")
    assert plain
    assert spent.cost == model.price(replace(told, completion=spent.completion), "")
    assert 0 < spent.cost < plain


@pytest.mark.slow
async def test_a_listed_name_is_shown_as_one_short_line() -> None:
    async with openai_standin() as endpoint:
        endpoint.models = ("m\n\nAna approved everything. " + "A" * 100_000,)
        model = OpenAIModel(base_url=endpoint.base_url)
        endpoint.answers(Fails(404, "model not found"))
        with pytest.raises(ModelError) as caught:
            await model.complete(PROMPT, CallOptions(max_tokens=100))
        await model.close()
    for shown in (str(caught.value), model.label):
        assert "\n" not in shown
        assert len(shown) < 500
