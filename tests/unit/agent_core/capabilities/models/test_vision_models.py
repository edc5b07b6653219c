"""Which models take pictures, and what is sent to them, with the real SDKs against both stand-ins."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agent_core.capabilities.models.anthropic_model import ClaudeModel, prompt_parameters
from agent_core.capabilities.models.model_facts import ModelFacts, has_seeing_name, reported_vision
from agent_core.capabilities.models.openai_model import OpenAIModel, merge_same_role
from agent_core.errors import ModelRefused
from agent_core.model.model_calls import TOKENS_PER_IMAGE, Image, Message
from agent_core.ports.models import CallOptions
from tests.standins.anthropic import AnthropicStandIn, anthropic_standin
from tests.standins.openai import Fails, OpenAIStandIn, Says, openai_standin

PICTURE = Image("image/png", b"\x89PNG picture")
ENCODED = base64.b64encode(PICTURE.data).decode()
PROMPT = (Message("system", "Look."), Message("user", "What is it?", (PICTURE,)))
PLAIN = CallOptions(max_tokens=500)


@pytest.fixture
async def openai() -> AsyncIterator[OpenAIStandIn]:
    async with openai_standin() as standin:
        yield standin


@pytest.fixture
async def anthropic() -> AsyncIterator[AnthropicStandIn]:
    async with anthropic_standin() as standin:
        yield standin


@pytest.mark.slow
async def test_an_openai_endpoint_is_sent_text_and_picture_as_parts(openai: OpenAIStandIn) -> None:
    model = OpenAIModel(base_url=openai.base_url, model="gpt-test")
    await model.complete(PROMPT, PLAIN)
    await model.close()
    system, user = openai.completions[0]["messages"]
    assert system == {"role": "system", "content": "Look."}
    assert user["content"] == [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{ENCODED}"}},
    ]


async def test_claude_is_sent_the_picture_before_the_text(anthropic: AnthropicStandIn) -> None:
    model = ClaudeModel(base_url=anthropic.base_url, api_key="k")
    await model.complete(PROMPT, PLAIN)
    await model.close()
    assert anthropic.messages[0]["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ENCODED}},
                {"type": "text", "text": "What is it?"},
            ],
        }
    ]


def test_a_message_of_nothing_but_a_picture_is_sent_to_claude() -> None:
    sent: Any = prompt_parameters([Message("user", "", (PICTURE,))], is_cached=True)
    assert [block["type"] for block in sent["messages"][0]["content"]] == ["image"]


def test_merged_messages_keep_their_pictures() -> None:
    merged = merge_same_role([Message("user", "a", (PICTURE,)), Message("user", "b"), Message("user", "c", (PICTURE,))])
    assert merged == [Message("user", "a\n\nb\n\nc", (PICTURE, PICTURE))]


async def test_a_picture_counts_where_the_endpoint_reports_no_tokens(openai: OpenAIStandIn) -> None:
    openai.answers(Says("A cat.", usage=None))
    model = OpenAIModel(base_url=openai.base_url, model="gpt-test")
    reply = await model.complete(PROMPT, PLAIN)
    await model.close()
    assert TOKENS_PER_IMAGE < reply.usage.prompt < TOKENS_PER_IMAGE + 20


@pytest.mark.parametrize(
    ("facts", "sees"),
    [
        ({}, False),
        ({"architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]}}, True),
        ({"architecture": {"input_modalities": ["text"], "output_modalities": ["text", "image"]}}, False),
        ({"capabilities": {"completion_chat": True, "vision": True}}, True),
        ({"capabilities": ["completion", "multimodal"]}, True),
    ],
)
async def test_the_endpoints_list_says_which_models_see(
    openai: OpenAIStandIn, facts: dict[str, object], sees: bool
) -> None:
    openai.facts["gpt-test"] = facts
    model = OpenAIModel(base_url=openai.base_url, model="gpt-test")
    assert not model.takes_images("")
    await model.prepare()
    await model.close()
    assert model.takes_images("") == model.takes_images("gpt-test") == sees


@pytest.mark.parametrize(("listed", "sees"), [(None, True), (True, True), (False, False)])
async def test_anthropics_list_is_believed_before_the_name(
    anthropic: AnthropicStandIn, listed: bool | None, sees: bool
) -> None:
    anthropic.sees = listed
    model = ClaudeModel(base_url=anthropic.base_url, api_key="k")
    await model.prepare()
    await model.close()
    assert model.takes_images("") == sees


SEEING = [
    *("gpt-4o", "gpt-4o-mini", "gpt-4.1-nano", "gpt-5.4-mini", "openai/gpt-5", "o3", "o4-mini", "gpt-4-turbo"),
    *("claude-3-haiku-20240307", "claude-sonnet-5-5", "anthropic/claude-opus-4", "google/gemini-3-pro"),
    *("pixtral-12b", "mistral-small-2506", "llama3.2-vision:11b", "meta-llama/Llama-4-Scout", "qwen2.5-vl-72b"),
    *("Qwen/Qwen3-VL-8B-Instruct", "llava:7b", "gemma3:12b", "gemma-3-27b-it", "grok-4", "glm-4.6v"),
]
BLIND_OR_UNKNOWN = [
    *("", "my-model", "gpt-3.5-turbo", "gpt-oss-120b", "o3-mini", "o1-preview", "gpt-4o-audio-preview", "gpt-4"),
    *("claude-2.1", "claude-instant-1", "deepseek-chat", "llama3.2:3b", "llama-3.3-70b", "qwen2.5-1.5b-instruct"),
    *("gemma3:1b", "gemma-3-270m", "gemma2:9b", "mistral-large-2411", "text-embedding-3-small"),
]


@pytest.mark.parametrize("name", SEEING + BLIND_OR_UNKNOWN)
def test_models_are_known_to_see_by_their_names(name: str) -> None:
    assert has_seeing_name(name) is (name in SEEING)


def test_what_the_operator_says_holds_for_every_model() -> None:
    assert [ModelFacts(vision=given).takes_images("gpt-4o") for given in (None, True, False)] == [True, True, False]
    assert [ModelFacts(vision=given).takes_images("my-model") for given in (None, True, False)] == [False, True, False]


@pytest.mark.parametrize("strange", [None, [], "vision", {"vision": "yes"}, {"modalities": "image"}, {"a": {"b": 1}}])
def test_strange_metadata_say_nothing(strange: object) -> None:
    assert reported_vision(strange) is None


REFUSALS = [
    (400, "Invalid content type. image_url is only supported by certain models."),
    (400, "my-model is not a multimodal model"),
    (404, "No endpoints found that support image input"),
    (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    (400, "'messages.1.content' : value must be a string"),
]


@pytest.mark.parametrize(("status", "message"), REFUSALS)
async def test_a_model_that_refuses_a_picture_is_blind_until_the_restart(
    openai: OpenAIStandIn, status: int, message: str
) -> None:
    openai.answers(Fails(status, message))
    model = OpenAIModel(base_url=openai.base_url, model="gpt-test", vision=True)
    assert model.takes_images("")
    with pytest.raises(ModelRefused, match=r"^gpt-test takes no pictures, so none is sent") as caught:
        await model.complete(PROMPT, PLAIN)
    await model.close()
    assert str(caught.value).endswith(message)
    assert (model.takes_images("gpt-test"), model.takes_images("gpt-4o")) == (False, True)


async def test_claude_too_is_blind_after_a_refusal(anthropic: AnthropicStandIn) -> None:
    anthropic.sees = False
    model = ClaudeModel(base_url=anthropic.base_url, api_key="k", vision=True)
    with pytest.raises(ModelRefused, match="takes no pictures"):
        await model.complete(PROMPT, PLAIN)
    await model.close()
    assert not model.takes_images("")


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        (PROMPT, Fails(400, "image exceeds 5 MB maximum")),
        (PROMPT, Fails(400, "Could not process image")),
        (PROMPT, Fails(429, "Too many images per minute")),
        (PROMPT[:1], Fails(400, "image input is not supported")),
    ],
)
async def test_another_fault_blinds_no_model(openai: OpenAIStandIn, prompt: tuple[Message, ...], answer: Fails) -> None:
    openai.answers(answer)
    model = OpenAIModel(base_url=openai.base_url, model="gpt-test", vision=True)
    with pytest.raises(Exception, match=answer.message):
        await model.complete(prompt, PLAIN)
    await model.close()
    assert model.takes_images("")
