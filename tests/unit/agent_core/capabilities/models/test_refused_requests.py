"""Requests that an endpoint refuses in its own words: asked in a simpler way, made smaller, or told to people."""

from collections.abc import AsyncIterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from agent_core.capabilities.models.anthropic_model import ClaudeModel
from agent_core.capabilities.models.endpoint_errors import is_too_large, smaller_window
from agent_core.capabilities.models.openai_model import OpenAIModel
from agent_core.errors import ModelRefused, ModelUnavailable, PromptTooLong
from agent_core.model.model_calls import Message, Reply
from agent_core.ports.models import CallOptions
from tests.standins.anthropic import anthropic_standin
from tests.standins.openai import Fails, Manners, OpenAIStandIn, Says, openai_standin

PROMPT = (Message("system", "You are Ada."), Message("user", "Choose."))
OPAQUE = {"error": {"message": "Cannot compile the request.", "code": 400}}
GEMINI = [{"error": {"code": 400, "message": "Unknown name \"const\" at 'generation_config': Cannot find field."}}]


@pytest.fixture
async def standin() -> AsyncIterator[OpenAIStandIn]:
    async with openai_standin() as standin:
        yield standin


async def ask(standin: OpenAIStandIn, model: OpenAIModel | None = None, **facts: Any) -> Reply:
    """Ask this model, or a new one as after a restart."""
    model = model or OpenAIModel(base_url=standin.base_url, api_key="sk-1", model="gpt-test", **facts)
    try:
        return await model.complete(PROMPT, CallOptions(schema={"type": "object"}, max_tokens=9_000))
    finally:
        await model.close()


def ways(standin: OpenAIStandIn) -> list[str | None]:
    return ["tool" if "tools" in sent else sent.get("response_format", {}).get("type") for sent in standin.completions]


def without(*refused: str | None, status: int = 400, body: object = OPAQUE) -> Manners:
    """A service that refuses these ways to ask."""

    def refuses(sent: Mapping[str, Any]) -> tuple[int, object] | None:
        way = "tool" if "tools" in sent else sent.get("response_format", {}).get("type")
        return (status, body) if way in refused else None

    return Manners(refuses=refuses)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, OPAQUE),
        (400, GEMINI),
        (400, {"error": {"message": 'Unrecognized: {"not": {}}'}}),
        (404, {"error": {"message": "No endpoints can handle the requested parameters.", "code": 404}}),
        (422, {"detail": "Not a request that this server understands."}),
        (500, {"error": {"message": "invalid JSON schema in format"}}),
    ],
)
async def test_a_schema_that_is_refused_in_any_words_is_left_out(
    standin: OpenAIStandIn, status: int, body: object
) -> None:
    standin.manners = without("json_schema", status=status, body=body)
    model = OpenAIModel(base_url=standin.base_url, model="gpt-test")
    await ask(standin, model)
    await ask(standin, model)
    assert ways(standin) == ["json_schema", "tool", "tool"]


@pytest.mark.slow
async def test_an_error_inside_the_endpoint_is_asked_around_once_and_not_learned(standin: OpenAIStandIn) -> None:
    model = OpenAIModel(base_url=standin.base_url, model="gpt-test")
    standin.answers(Fails(500, "Internal error."), Says("{}"), Fails(500, "Internal error."), Fails(500, "Away."))
    await ask(standin, model)
    with pytest.raises(ModelUnavailable, match="500: Away"):
        await ask(standin, model)
    assert ways(standin) == ["json_schema", None, "json_schema", None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, "The API deployment for this resource does not exist."),
        (404, "The model `gpt-9` does not exist."),
        (404, "Not Found"),
        (429, "Slow down."),
        (400, "This model's maximum context length is 512 tokens."),
        (403, "Your input was flagged."),
        (402, "No money."),
    ],
)
async def test_what_a_simpler_request_cannot_mend_is_asked_once(
    standin: OpenAIStandIn, status: int, message: str
) -> None:
    standin.answers(Fails(status, message))
    with pytest.raises((ModelRefused, ModelUnavailable)):
        await ask(standin)
    assert len(standin.completions) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "message", "told"),
    [
        (404, "No endpoints found matching your data policy.", "refused the request (404): No endpoints found"),
        (404, "The API deployment for this resource does not exist.", "no model gpt-test: The API deployment"),
        (404, "Not Found", "check the base URL"),
        (404, "404 page not found", "check the base URL"),
        (404, "<html><h1>404</h1></html>", "check the base URL"),
        (403, "Your input was flagged.", "refused the request (403): Your input was flagged."),
        (403, "Country not supported.", "refused the request (403): Country not supported."),
        (403, "Project p1 does not have access to gpt-test.", "(403): Project p1 does not have access"),
        (403, "This API key may not do that.", "does not accept the key (403). Set the API key"),
        (403, "Forbidden", "does not accept the key (403)"),
    ],
)
async def test_people_read_the_endpoints_own_reason(
    standin: OpenAIStandIn, status: int, message: str, told: str
) -> None:
    standin.answers(*[Fails(status, message)] * 4)
    with pytest.raises(ModelRefused) as caught:
        await ask(standin)
    assert told in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "System role not supported",
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "Developer instruction is not enabled for models/gemma",
    ],
)
async def test_a_model_without_a_system_role_reads_the_standing_prompt_as_a_users(
    standin: OpenAIStandIn, words: str
) -> None:
    def refuses(sent: Mapping[str, Any]) -> tuple[int, object] | None:
        has_system = any(message["role"] == "system" for message in sent["messages"])
        return (400, {"error": {"message": words}}) if has_system else None

    standin.manners = Manners(refuses=refuses)
    model = OpenAIModel(base_url=standin.base_url, model="gpt-test")
    await ask(standin, model)
    await ask(standin, model)
    assert [sent["messages"] for sent in standin.completions[1:]] == [
        [{"role": "user", "content": "You are Ada.\n\nChoose."}]
    ] * 2
    assert ways(standin) == ["json_schema"] * 3


def refusal(message: str, status: int = 400, **more: object) -> Exception:
    error = Exception(message)
    error.__dict__ |= vars(SimpleNamespace(status_code=status, body={"message": message, **more}))
    return error


@pytest.mark.parametrize(
    ("message", "window"),
    [
        ("'max_tokens' is too large: 9000. This model's maximum context length is 8192 tokens and your request has 500 "
         "input tokens (9000 > 8192 - 500).", 8_192),
        ("This model's maximum context length is 8192 tokens. However, you requested 9500 tokens (500 in the messages, "
         "9000 in the completion).", 8_192),
        ("Input tokens exceed the configured limit of 27,200 tokens. Your messages resulted in 31,000.", 27_200),
        ("prompt is too long: 31000 tokens > 20000 maximum", 20_000),
        ("input length and `max_tokens` exceed context limit: 19000 + 9000 > 20000, decrease them", 20_000),
        ("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", 4_096),
        ("The input token count (31000) exceeds the maximum number of tokens allowed (30720).", 30_720),
        ("Prompt contains 31000 tokens and 0 draft tokens, too large for model with 16384 maximum context length",
         16_384),
        ("`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 500 `inputs` tokens and 9000", 8_193),
        ("Range of input length should be [1, 30720]", 30_720),
        ("The request exceeds the context window. n_ctx: 4096", 4_096),
        ("The prompt is too long.", 24_000),
        ("The context length is 64000 tokens.", 24_000),
    ],
)  # fmt: skip
def test_the_window_in_an_error_is_learned_and_else_a_smaller_one_tried(message: str, window: int) -> None:
    error = refusal(message)
    assert is_too_large(error)
    assert smaller_window(error, 32_000) == window


def test_a_window_beside_the_words_of_an_error_is_learned() -> None:
    error = refusal("the request exceeds the available context size.", n_prompt_tokens=5_000, n_ctx=4_096)
    assert smaller_window(error, 32_000) == 4_096


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("`max_tokens` must be less than or equal to `4096`, which is less than the `context_window`", 400),
        ("max_tokens is too large: 9000. This model supports at most 4096 completion tokens.", 400),
        ("Rate limit reached (TPM): Limit 10000, Used 9000, Requested 2000. Please try again in 6s.", 429),
        ("Too many tokens, please wait.", 429),
        ("The context length is 8192 tokens.", 403),
    ],
)
def test_what_a_shorter_prompt_cannot_mend_is_not_too_large(message: str, status: int) -> None:
    assert not is_too_large(refusal(message, status))


@pytest.mark.slow
@pytest.mark.parametrize("status", [413, 429])
async def test_a_request_above_a_rate_limit_is_made_smaller(standin: OpenAIStandIn, status: int) -> None:
    said = "Request too large for gpt-test on tokens per min (TPM): Limit 10000, Requested 13000."
    standin.facts = {"gpt-test": {"context_length": 32_000}}
    standin.answers(Fails(status, said), Fails(status, said.replace("10000", "900")))
    model = OpenAIModel(base_url=standin.base_url, model="gpt-test")
    await model.prepare()
    with pytest.raises(PromptTooLong, match="Limit 10000"):
        await ask(standin, model)
    assert model.window("") == 10_000
    with pytest.raises(ModelRefused, match="Limit 900") as caught:
        await ask(standin, model)
    assert not isinstance(caught.value, PromptTooLong)


@pytest.mark.slow
async def test_claude_names_its_window_as_well() -> None:
    async with anthropic_standin() as api:
        api.answers(Fails(400, "prompt is too long: 210000 tokens > 150000 maximum"))
        model = ClaudeModel(base_url=api.base_url)
        try:
            with pytest.raises(PromptTooLong):
                await model.complete(PROMPT, CallOptions(max_tokens=2_000))
        finally:
            await model.close()
    assert model.window("") == 150_000
