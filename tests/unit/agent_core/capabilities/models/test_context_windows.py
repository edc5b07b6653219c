"""How many tokens a model takes: who says it, and what is not believed."""

import pytest

from agent_core.capabilities.models.model_facts import ModelFacts, reported_window
from agent_core.capabilities.models.openai_model import OpenAIModel

HERE, GATEWAY, OPENAI = "http://127.0.0.1:11434/v1", "https://gateway.example/v1", "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("facts", "window"),
    [
        ({"context_length": 131_072, "top_provider": {"context_length": 65_536, "max_completion_tokens": 900}}, 65_536),
        ({"max_model_len": 32_768}, 32_768),
        ({"context_window": 8_192, "owned_by": "groq"}, 8_192),
        ({"max_context_length": 131_072, "loaded_context_length": 4_096}, 4_096),
        ({"meta": {"n_ctx": 4_096, "n_ctx_train": 131_072, "n_vocab": 32_000}}, 4_096),
        ({"meta": {"n_ctx_train": 8_192, "n_embd": 576}}, 8_192),
        ({"limits": {"tokens": {"context_length": 9_000}}}, 9_000),
        ({"created": 1_700_000_000, "max_tokens": 4_096}, None),
        ({}, None),
    ],
)
def test_an_endpoint_tells_the_window_in_its_own_way(facts: dict[str, object], window: int | None) -> None:
    assert reported_window(facts) == window


@pytest.mark.parametrize(
    "value", [0, -1, 511, True, 10**12, "8192", 8192.5, None, [8192], {"n": {"n": {"n_ctx": 900}}}]
)
def test_what_is_no_window_is_not_believed(value: object) -> None:
    assert reported_window({"context_length": value, "n_ctx": 2_048}) == 2_048
    assert reported_window({"context_length": value}) is None


@pytest.mark.parametrize("facts", [None, [], "n_ctx", {"context_length": {"context_length": {}}}])
def test_what_is_told_of_a_model_may_be_anything(facts: object) -> None:
    assert reported_window(facts) is None


@pytest.mark.parametrize(
    ("base_url", "model", "window"),
    [
        (OPENAI, "gpt-4", 8_192),
        (OPENAI, "gpt-4o", 128_000),
        (GATEWAY, "gpt-4o", 128_000),
        (GATEWAY, "nobody-knows-it", 8_192),
        (HERE, "gpt-4o", 128_000),
        (HERE, "claude-opus-4", 4_096),
        (HERE, "nobody-knows-it", 4_096),
        ("", "nobody-knows-it", 8_192),
    ],
)
def test_the_list_is_asked_before_anything_is_guessed(base_url: str, model: str, window: int) -> None:
    assert ModelFacts(base_url=base_url).window(model) == window


def test_the_operators_word_goes_before_the_endpoints_and_that_before_the_list() -> None:
    told = [("gpt-4o", {"context_length": 20_000}), ("gpt-4", {"context_length": -5})]
    windows, own = ModelFacts(base_url=GATEWAY), ModelFacts(base_url=GATEWAY, context=6_000)
    for each in (windows, own):
        each.learn(told)
    assert (windows.window("gpt-4o"), windows.window("gpt-4"), own.window("gpt-4o")) == (20_000, 8_192, 6_000)


def test_an_endpoint_that_has_said_nothing_yet_is_not_taken_for_openais() -> None:
    assert OpenAIModel(base_url="http://127.0.0.1:8080/v1").window("") == 4_096
    assert OpenAIModel().window("") > 100_000
