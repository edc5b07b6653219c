"""The provider with the real SDK over real sockets, against a stand-in for the endpoint."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest

from agent_core.capabilities.models.endpoint_errors import CHAT, redact_and_shorten
from agent_core.capabilities.models.openai_model import DEFAULT_MODEL, OpenAIDialect, OpenAIModel
from agent_core.capabilities.models.settings import Endpoint as ConfiguredEndpoint
from agent_core.errors import ModelError, ModelRefused, ModelUnavailable
from agent_core.model.model_calls import Message, Reply, Usage
from agent_core.ports.models import CallOptions
from agent_core.testing.clock import FakeClock
from tests.standins.openai import Fails, Hangs, OpenAIStandIn, Says, SaysPlain, openai_standin

PROMPT = (Message("system", "You are Ada."), Message("user", "Choose."))
SCHEMA = {"type": "object"}
KEY = "sk-proj-secret1234567890"
ABILITY = replace(CHAT, key="OPENAI_API_KEY", address="OPENAI_BASE_URL", model="SMART_MODEL")


class Endpoint:
    """The stand-in with providers that are closed after the test."""

    def __init__(self, standin: OpenAIStandIn, stack: AsyncExitStack) -> None:
        self.standin, self.stack = standin, stack

    def model(self, **facts: Any) -> OpenAIModel:
        model = OpenAIModel(
            **{"base_url": self.standin.base_url, "api_key": KEY, "model": "gpt-test", "ability": ABILITY, **facts}
        )
        self.stack.push_async_callback(model.close)
        return model

    async def error(self, *answers: Any, **facts: Any) -> ModelError:
        self.standin.answers(*answers)
        with pytest.raises(ModelError) as caught:
            await ask(self.model(**facts))
        return caught.value


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    async with openai_standin() as standin, AsyncExitStack() as stack:
        yield Endpoint(standin, stack)


async def ask(model: OpenAIModel, name: str = "gpt-test") -> Reply:
    return await model.complete(PROMPT, CallOptions(schema=SCHEMA, model=name, max_tokens=500))


def way_of(body: dict[str, Any]) -> str | None:
    """How a request asked for JSON."""
    return "tool" if "tools" in body else body.get("response_format", {}).get("type")


async def test_a_completion_is_asked_for_with_schema_and_limit(endpoint: Endpoint) -> None:
    await ask(endpoint.model())
    assert endpoint.standin.completions == [
        {
            "model": "gpt-test",
            "messages": [{"role": "system", "content": "You are Ada."}, {"role": "user", "content": "Choose."}],
            "max_tokens": 500,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "turn", "schema": SCHEMA, "strict": False},
            },
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ]
    assert endpoint.standin.requests[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.slow
async def test_text_usage_and_finish_reason_are_read(endpoint: Endpoint) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 64}}
    endpoint.standin.answers(Says("{}", usage=usage, finish_reason="length"))
    used = Usage(prompt=100, cached=64, completion=9)
    assert await ask(endpoint.model()) == Reply(text="{}", usage=used, finish_reason="length")


@pytest.mark.parametrize("told", [0, -1, "many", None, 1.5])
async def test_usage_that_cannot_be_is_estimated(endpoint: Endpoint, told: object) -> None:
    usage = {"prompt_tokens": told, "completion_tokens": told, "prompt_tokens_details": {"cached_tokens": told}}
    endpoint.standin.answers(Says("abcdef", usage=usage))
    assert (await ask(endpoint.model())).usage == Usage(prompt=7, completion=2)


async def test_no_more_is_cached_than_was_sent(endpoint: Endpoint) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 64}}
    endpoint.standin.answers(Says("{}", usage=usage))
    assert (await ask(endpoint.model())).usage == Usage(prompt=10, cached=10, completion=1)


@pytest.mark.parametrize("answer", [Says(None), Says(body={"id": "1", "object": "chat.completion", "choices": []})])
async def test_an_answer_without_content_is_an_empty_text(endpoint: Endpoint, answer: Says) -> None:
    endpoint.standin.answers(answer)
    assert (await ask(endpoint.model())).text == ""


async def test_no_schema_asks_for_no_format(endpoint: Endpoint) -> None:
    await endpoint.model().complete(PROMPT, CallOptions(model="gpt-test", max_tokens=5))
    assert "response_format" not in endpoint.standin.completions[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("refused", "formats"),
    [
        ({"json_schema"}, ["json_schema", "tool", "tool"]),
        ({"json_schema", "tools"}, ["json_schema", "tool", "json_object", "json_object"]),
        ({"json_schema", "tools", "json_object"}, ["json_schema", "tool", "json_object", None, None]),
    ],
)
async def test_a_format_that_is_refused_is_not_asked_for_again(
    endpoint: Endpoint, refused: set[str], formats: list[str | None]
) -> None:
    endpoint.standin.refuses = refused
    model = endpoint.model()
    await ask(model)
    await ask(model)
    assert [way_of(body) for body in endpoint.standin.completions] == formats


@pytest.mark.slow
async def test_what_one_model_refuses_is_still_asked_of_another(endpoint: Endpoint) -> None:
    endpoint.standin.models = ("gpt-test", "other")
    endpoint.standin.refuses = {"json_schema"}
    model = endpoint.model()
    await ask(model)
    endpoint.standin.refuses = set()
    await ask(model, "other")
    assert endpoint.standin.completions[-1]["response_format"]["type"] == "json_schema"


@pytest.mark.slow
async def test_a_limit_under_another_name_is_learned(endpoint: Endpoint) -> None:
    endpoint.standin.refuses = {"max_tokens"}
    model = endpoint.model()
    await ask(model)
    await ask(model)
    names = [next(name for name in body if name.startswith("max_")) for body in endpoint.standin.completions]
    assert names == ["max_tokens", "max_completion_tokens", "max_completion_tokens"]


@pytest.mark.slow
async def test_a_temperature_is_sent_only_when_set_and_taken(endpoint: Endpoint) -> None:
    await ask(endpoint.model())
    await ask(endpoint.model(temperature=0.0))
    endpoint.standin.refuses = {"temperature"}
    await ask(endpoint.model(temperature=0.5))
    assert [body.get("temperature") for body in endpoint.standin.completions] == [None, 0.0, 0.5, None]


@pytest.mark.slow
async def test_the_operators_temperature_goes_before_the_callers(endpoint: Endpoint) -> None:
    for model in (endpoint.model(), endpoint.model(temperature=0.9)):
        await model.complete(PROMPT, CallOptions(model="gpt-test", max_tokens=5, temperature=0.2))
    assert [body.get("temperature") for body in endpoint.standin.completions] == [0.2, 0.9]


def test_openai_itself_is_given_the_newer_limit() -> None:
    assert OpenAIModel().first_dialect() == OpenAIDialect(limit="max_completion_tokens", cache_key=True)


async def test_a_wrong_key_names_the_setting_and_never_the_key(endpoint: Endpoint) -> None:
    endpoint.standin.key = "sk-another"
    error = await endpoint.error()
    assert isinstance(error, ModelRefused)
    assert "OPENAI_API_KEY" in str(error)
    assert "secret" not in str(error)


async def test_a_key_in_the_endpoints_words_is_left_out(endpoint: Endpoint) -> None:
    error = await endpoint.error(*[Fails(400, f"Bad request by {KEY} and sk-other***ab12.")] * 4)
    assert str(error).endswith("refused the request (400): Bad request by … and …")


async def test_the_advice_for_an_unknown_model_names_what_chose_it(endpoint: Endpoint) -> None:
    place = ConfiguredEndpoint(url="", key="")
    ability = CHAT.with_variables(place, "SMART_MODEL", {"gpt-fast": "FAST_MODEL"})
    model = endpoint.model(ability=ability, model="gpt-test")
    with pytest.raises(ModelRefused, match="Set FAST_MODEL to one it offers, then restart"):
        await ask(model, "gpt-fast")
    with pytest.raises(ModelRefused) as caught:
        await ask(model, "gpt-own")
    own = "It is this agent's own model: write !model and the name of another one, or !model default, then resume."
    assert str(caught.value).endswith(f"The model `gpt-own` does not exist. {own}")
    assert "SMART_MODEL" not in str(caught.value)


async def test_the_endpoints_sentence_ends_before_the_advice(endpoint: Endpoint) -> None:
    error = await endpoint.error(Fails(404, "model 'x' not found, try pulling it first"))
    assert "try pulling it first. Set SMART_MODEL" in str(error)


@pytest.mark.parametrize("status", [408, 409, 429, 502, 503, 529])
async def test_a_passing_fault_may_be_tried_again(endpoint: Endpoint, status: int) -> None:
    error = await endpoint.error(Fails(status, "Overloaded."))
    assert isinstance(error, ModelUnavailable)
    assert str(error) == f"{endpoint.model().host} answered {status}: Overloaded."
    assert len(endpoint.standin.completions) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "7", "retry-after-ms": "1500"}, 1.5),
        ({"Retry-After": format_datetime(datetime(2026, 1, 5, 9, 0, 30, tzinfo=UTC), usegmt=True)}, 30.0),
        ({"Retry-After": format_datetime(datetime(2020, 1, 5, tzinfo=UTC), usegmt=True)}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "0"}, None),
        ({"retry-after-ms": "40"}, None),
        ({"Retry-After": "1e300"}, 3600.0),
        ({"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}, 3600.0),
        ({"Retry-After": "Fri, 31 Dec 2027 23:59:59 +99999999999999999999"}, None),
        ({}, None),
    ],
)
async def test_the_told_wait_is_passed_on(endpoint: Endpoint, headers: dict[str, str], seconds: float | None) -> None:
    error = await endpoint.error(Fails(429, headers=headers), clock=FakeClock(datetime(2026, 1, 5, 9, tzinfo=UTC)))
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after == seconds


@pytest.mark.parametrize(
    "echoed", ["my.own/key+BBBB2222==", "my.own%2Fkey%2BBBBB2222%3D%3D", "my.own/k\ney+BBBB\r\n2222=="]
)
def test_a_key_that_is_echoed_in_another_form_is_redacted(echoed: str) -> None:
    assert redact_and_shorten(f"bad key {echoed} for you", "my.own/key+BBBB2222==") == "bad key … for you"


async def test_an_account_without_credit_is_not_asked_again(endpoint: Endpoint) -> None:
    error = await endpoint.error(Fails(429, "You exceeded your current quota.", code="insufficient_quota"))
    assert isinstance(error, ModelRefused)
    assert "no credit" in str(error)


@pytest.mark.slow
async def test_an_endpoint_that_does_not_answer_in_time_may_be_tried_again(endpoint: Endpoint) -> None:
    error = await endpoint.error(Hangs(), seconds=0.1)
    assert isinstance(error, ModelUnavailable)
    assert str(error).endswith("did not answer in time.")


@pytest.mark.slow
async def test_nobody_at_the_address_may_be_tried_again(endpoint: Endpoint) -> None:
    error = await endpoint.error(base_url="http://127.0.0.1:9/v1")
    assert isinstance(error, ModelUnavailable)
    assert str(error) == "127.0.0.1:9 cannot be reached."


@pytest.mark.slow
@pytest.mark.parametrize("answer", [SaysPlain("<html>"), SaysPlain("{broken", "application/json"), Says(body=["?"])])
async def test_an_answer_that_is_no_completion_is_a_model_error(endpoint: Endpoint, answer: Says | SaysPlain) -> None:
    assert str(await endpoint.error(answer)).startswith(endpoint.model().host)


async def test_the_only_model_offered_becomes_the_default(endpoint: Endpoint) -> None:
    model = endpoint.model(model="")
    before = (model.default_model, model.label)
    await model.prepare()
    assert before == ("", model.host)
    assert (model.default_model, model.label) == ("gpt-test", f"gpt-test · {model.host}")


@pytest.mark.parametrize(("offer", "listing"), [(("a", "b"), None), ((), None), (("a",), Fails(404, "Not Found"))])
async def test_where_not_one_model_is_listed_the_current_default_is_taken(
    endpoint: Endpoint, offer: tuple[str, ...], listing: Fails | None
) -> None:
    endpoint.standin.models, endpoint.standin.listing = offer, listing
    model = endpoint.model(model="")
    await model.prepare()
    assert model.default_model == DEFAULT_MODEL


async def test_a_default_not_found_at_first_is_sought_again_at_the_first_call(endpoint: Endpoint) -> None:
    endpoint.standin.listing = Fails(503)
    model = endpoint.model(model="")
    await model.prepare()
    unresolved = model.default_model
    endpoint.standin.listing = None
    await ask(model, "")
    assert (unresolved, model.default_model) == ("", "gpt-test")


@pytest.mark.slow
async def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert (await ask(endpoint.model())).text


def test_the_label_shows_neither_credentials_nor_path() -> None:
    model = OpenAIModel(base_url="https://me:pw@models.example:8443/v1?key=1", model="m", api_key=KEY)
    assert model.label == "m · models.example:8443"
    assert KEY not in repr(model)


async def test_an_endpoint_of_ones_own_is_asked_for_the_windows_of_its_models(endpoint: Endpoint) -> None:
    endpoint.standin.facts = {"gpt-test": {"max_model_len": 32_768}}
    model = endpoint.model()
    before = model.window("gpt-test")
    await model.prepare()
    assert (before, model.window("gpt-test"), model.window(""), model.window("another")) == (
        4_096,
        32_768,
        32_768,
        4_096,
    )


async def test_a_window_not_heard_of_at_the_start_is_asked_for_once_after_a_reply(endpoint: Endpoint) -> None:
    endpoint.standin.facts = {"gpt-test": {"meta": {"n_ctx": 8_192}}}
    endpoint.standin.listing = Fails(503)
    model = endpoint.model()
    await model.prepare()
    endpoint.standin.listing = None
    for _ in range(2):
        await ask(model)
    assert model.window("gpt-test") == 8_192
    assert [request.path for request in endpoint.standin.requests].count("/v1/models") == 2


@pytest.mark.parametrize("listing", [Fails(404), Fails(500), SaysPlain("<html>"), SaysPlain("[1", "application/json")])
async def test_no_call_fails_because_nothing_is_told_of_windows(endpoint: Endpoint, listing: Fails | SaysPlain) -> None:
    endpoint.standin.listing = listing
    model = endpoint.model()
    await model.prepare()
    assert (await ask(model)).text
    assert (await ask(model)).text
    assert len(endpoint.standin.requests) == 4
    assert model.window("gpt-test") == 4_096
