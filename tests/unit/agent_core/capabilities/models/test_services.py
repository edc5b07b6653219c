"""Services with OpenAI-compatible endpoints, each with its peculiarities: the same reply, reasoning and bill of all."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agent_core.capabilities.models.openai_model import OpenAIModel
from agent_core.errors import ModelError, ModelRefused, ModelUnavailable
from agent_core.model.model_calls import Message, Reply
from agent_core.ports.models import CallOptions
from tests.standins.openai import Fails, OpenAIStandIn, Says, openai_standin
from tests.standins.services import SERVICES

pytestmark = pytest.mark.slow

PROMPT = (Message("system", "You are Ada."), Message("user", "Choose."))
JSON = '{"command": {"name": "do_nothing", "args": {}}}'
USAGE = {"prompt_tokens": 100, "completion_tokens": 30, "completion_tokens_details": {"reasoning_tokens": 20}}
OUTSIDE = ("gemini",)  # reasoning counts beside the completion
streamed = pytest.mark.parametrize("streams", [True, False], ids=["streamed", "whole"])


@asynccontextmanager
async def a_service(name: str, **facts: Any) -> AsyncIterator[tuple[OpenAIStandIn, OpenAIModel]]:
    async with openai_standin() as standin:
        standin.manners = SERVICES[name]
        model = OpenAIModel(base_url=standin.base_url, model="gpt-test", **facts)
        try:
            yield standin, model
        finally:
            await model.close()


async def ask(model: OpenAIModel) -> Reply:
    options = CallOptions(schema={"type": "object"}, max_tokens=500, effort="low", cache_key="agent")
    return await model.complete(PROMPT, options)


@streamed
@pytest.mark.parametrize("name", SERVICES)
async def test_text_reasoning_and_usage_are_read_of_each(name: str, streams: bool) -> None:
    async with a_service(name, streams=streams) as (standin, model):
        standin.answers(Says(JSON, reasoning="Let me see.", usage=dict(USAGE)), Says(JSON, usage=dict(USAGE)))
        first, second = await ask(model), await ask(model)
    assert (first.text, first.reasoning, second.text) == (JSON, "Let me see.", JSON)
    assert first.usage.completion == (50 if name in OUTSIDE else 30)
    assert (first.usage.prompt, first.usage.reasoning) == (100, 20)


@pytest.mark.parametrize(
    ("name", "tries"), [("deepseek", 3), ("gemini", 1), ("mistral", 2), ("groq", 1), ("openrouter", 1), ("vllm", 1)]
)
async def test_what_a_service_refuses_is_learned_in_the_first_call(name: str, tries: int) -> None:
    async with a_service(name) as (standin, model):
        await ask(model)
        assert len(standin.completions) == tries
        await ask(model)
    assert len(standin.completions) == tries + 1


@pytest.mark.parametrize(
    ("body", "status", "kind", "sentence"),
    [
        ({"error": {"code": 402, "message": "Insufficient credits"}}, 402, ModelRefused, "no credit left"),
        ({"error": {"message": "Insufficient Balance"}}, 402, ModelRefused, "left: Insufficient Balance. Add credit"),
        ([{"error": {"code": 400, "message": "Bad goals."}}], 400, ModelRefused, "(400): Bad goals."),
        (
            {"detail": [{"loc": ["body", "x"], "msg": "Not permitted"}]},
            422,
            ModelRefused,
            "(422): body.x: Not permitted",
        ),
        ({"error": "no model is loaded"}, 400, ModelRefused, "(400): no model is loaded"),
        ({"object": "error", "message": "Too long.", "code": 400}, 400, ModelRefused, "(400): Too long."),
        ({"error": {"code": 502, "message": "The provider is down"}}, 200, ModelUnavailable, "The provider is down"),
    ],
)
@streamed
async def test_errors_are_told_in_the_services_words(
    body: object, status: int, kind: type[ModelError], sentence: str, streams: bool
) -> None:
    async with a_service("vllm", streams=streams) as (standin, model):
        standin.manners = type(SERVICES["vllm"])(refuses=lambda _: (status, body))
        with pytest.raises(kind) as caught:
            await ask(model)
    assert sentence in str(caught.value)


async def test_a_service_that_was_sent_no_key_wants_one() -> None:
    async with openai_standin() as standin:
        standin.answers(Fails(401, "No key."))
        model = OpenAIModel(base_url=standin.base_url, api_key="", model="gpt-test")
        try:
            said = r"wants a key \(401\)\. Set the API key to a key that may use gpt-test"
            with pytest.raises(ModelRefused, match=said):
                await ask(model)
        finally:
            await model.close()


@streamed
@pytest.mark.parametrize("reason", ["error", "insufficient_system_resource"])
async def test_a_reply_that_the_service_broke_off_is_asked_for_again(reason: str, streams: bool) -> None:
    async with a_service("deepseek", streams=streams) as (standin, model):
        standin.answers(Says(JSON, finish_reason=reason))
        with pytest.raises(ModelUnavailable, match="broke off"):
            await ask(model)


@streamed
@pytest.mark.parametrize("code", ["json_validate_failed", "tool_use_failed"])
async def test_a_reply_that_groq_could_not_validate_is_read_as_it_is(code: str, streams: bool) -> None:
    error = {"message": "Failed to generate JSON.", "code": code, "failed_generation": f"Well: {JSON}"}
    async with a_service("groq", streams=streams) as (standin, model):
        standin.manners = type(SERVICES["groq"])(refuses=lambda _: (400, {"error": error}))
        assert (await ask(model)).text == f"Well: {JSON}"
