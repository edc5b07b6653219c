"""Replies of today's endpoints: streamed or whole, with reasoning, tool calls, and usage of several shapes."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from agent_core.capabilities.models.openai_model import OpenAIDialect, OpenAIModel
from agent_core.errors import ModelError, ModelRefused, ModelUnavailable
from agent_core.model.model_calls import Message, Reply, ToolCall, Usage
from agent_core.ports.models import CallOptions, ModelProgress
from tests.standins.openai import Fails, Hangs, Says, SaysPlain, openai_standin
from tests.unit.agent_core.capabilities.models.test_openai_model import Endpoint, way_of

PROMPT = (Message("system", "You are Ada."), Message("user", "Choose."))
SCHEMA = {"type": "object"}
CONTENT_TYPE = "application/json"
JSON = '{"thoughts": {}, "command": {"name": "do_nothing", "args": {}}}'


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    async with openai_standin() as standin, AsyncExitStack() as stack:
        yield Endpoint(standin, stack)


async def ask(model: OpenAIModel, **options: Any) -> Reply:
    return await model.complete(
        PROMPT, CallOptions(**{"schema": SCHEMA, "model": "gpt-test", "max_tokens": 500, **options})
    )


both = pytest.mark.parametrize("streams", [True, False])


async def test_an_endpoint_that_ignores_streaming_is_read_as_a_whole(endpoint: Endpoint) -> None:
    endpoint.standin.streams = False
    endpoint.standin.answers(Says(JSON, reasoning="Hm."))
    reply = await ask(endpoint.model())
    assert (reply.text, reply.reasoning, reply.usage.prompt) == (JSON, "Hm.", 11)


def whole(**message: Any) -> SaysPlain:
    """A completion as an endpoint sends it at once."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    return SaysPlain(json.dumps({"object": "chat.completion", "model": "gpt-test", "choices": [choice]}), CONTENT_TYPE)


async def test_ollama_gives_arguments_as_an_object(endpoint: Endpoint) -> None:
    called = {"index": 0, "function": {"name": "read_file", "arguments": {"filename": "a.md"}}}
    endpoint.standin.answers(whole(content="", tool_calls=[called]))
    reply = await ask(endpoint.model(streams=False))
    assert [(each.name, json.loads(each.arguments)) for each in reply.tool_calls] == [
        ("read_file", {"filename": "a.md"})
    ]


async def test_mistral_gives_text_and_thoughts_as_chunks(endpoint: Endpoint) -> None:
    thoughts = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    endpoint.standin.answers(whole(content=[thoughts, {"type": "text", "text": JSON}]))
    reply = await ask(endpoint.model(streams=False))
    assert (reply.text, reply.reasoning) == (JSON, "Hm.")


@pytest.mark.parametrize("refused", [{"stream"}, {"stream_options"}])
async def test_an_endpoint_that_refuses_streaming_is_asked_without(endpoint: Endpoint, refused: set[str]) -> None:
    endpoint.standin.refuses = refused
    model = endpoint.model()
    assert [(await ask(model)).text for _ in range(2)] == [JSON, JSON]
    assert [bool(refused & body.keys()) for body in endpoint.standin.completions] == [True, False, False]


@both
@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
async def test_reasoning_is_read_apart_from_the_text(endpoint: Endpoint, field: str, streams: bool) -> None:
    command = '{"command": {"name": "delete_file", "args": {}}}'
    endpoint.standin.answers(Says(JSON, reasoning=command, reasoning_field=field))
    reply = await ask(endpoint.model(streams=streams))
    assert (reply.text, reply.reasoning) == (JSON, command)


REASONED = {"completion_tokens_details": {"reasoning_tokens": 20}}
TOO_MUCH = {"prompt_tokens": 10**12, "completion_tokens": -3, "completion_tokens_details": {"reasoning_tokens": 1e9}}
WRITTEN = {"prompt_tokens_details": {"cached_tokens": 10, "cache_write_tokens": 80}}


def told(**more: object) -> dict[str, object]:
    """What an endpoint tells of a call with a prompt of 100 tokens and a reply of 30."""
    return {"prompt_tokens": 100, "completion_tokens": 30, **more}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("usage", "used"),
    [
        (told(**REASONED), Usage(prompt=100, completion=30, reasoning=20)),
        (told(**REASONED, total_tokens=150), Usage(prompt=100, completion=50, reasoning=20)),  # beside the completion
        (told(prompt_cache_hit_tokens=64), Usage(prompt=100, cached=64, completion=30)),
        (told(**WRITTEN), Usage(prompt=100, cached=10, cache_written=80, completion=30)),
        (TOO_MUCH, Usage(prompt=7, completion=2)),
    ],
)
@both
async def test_usage_is_read_in_the_shapes_of_several_endpoints(
    endpoint: Endpoint, usage: dict[str, object], used: Usage, streams: bool
) -> None:
    endpoint.standin.answers(Says("abcdef", usage=usage))
    assert (await ask(endpoint.model(streams=streams))).usage == used


CACHE_APART = {"prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 100}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("usage", "reasoning"),
    [
        (told(total_tokens=1_000), 870),
        (told(total_tokens=1_130), 0),  # more than the request allowed
        (told(total_tokens=100_000_000), 0),
        (told(total_tokens=20), 0),
        ({"completion_tokens": 30, "total_tokens": 900}, 0),
        (told(prompt_tokens=0, total_tokens=900), 0),
        (told(total_tokens=730, **CACHE_APART), 0),
        (told(total_tokens=830, **CACHE_APART), 0),
    ],
)
async def test_reasoning_that_only_the_total_contains_is_charged_if_it_is_plausible(
    endpoint: Endpoint, usage: dict[str, object], reasoning: int
) -> None:
    endpoint.standin.answers(Says("abcdef", usage=usage))
    used = (await endpoint.model().complete(PROMPT, CallOptions(max_tokens=1_000))).usage
    assert (used.completion, used.reasoning) == (30 + reasoning, reasoning)


@both
async def test_reasoning_that_is_not_counted_is_estimated(endpoint: Endpoint, streams: bool) -> None:
    endpoint.standin.answers(Says("abcdef", usage=None, reasoning="I think of it. " * 4))
    assert (await ask(endpoint.model(streams=streams))).usage == Usage(prompt=7, completion=2 + 20, reasoning=20)


@both
async def test_several_tool_calls_are_given_as_they_came(endpoint: Endpoint, streams: bool) -> None:
    calls = (("write_to_file", '{"filename": "a'), ("write_to_file", '.txt"}'))
    endpoint.standin.answers(Says("I write.", tools=calls, finish_reason="tool_calls"))
    reply = await ask(endpoint.model(streams=streams))
    assert reply.tool_calls == tuple(ToolCall(name, arguments) for name, arguments in calls)
    assert (reply.text, reply.finish_reason) == ("I write.", "stop")


@pytest.mark.slow
async def test_an_accepted_format_that_is_ignored_is_not_asked_for_again(endpoint: Endpoint) -> None:
    endpoint.standin.obeys = False
    endpoint.standin.answers(*[Says("I would write the file.")] * 5)
    model = endpoint.model()
    for _ in range(5):
        await ask(model)
    assert [way_of(body) for body in endpoint.standin.completions] == ["json_schema", "tool", "json_object", None, None]


@pytest.mark.parametrize(
    "answer",
    [
        Says(JSON),
        Says(f"<think>It {{is}} clear.</think>\n{JSON}"),
        Says(""),
        Says("I wo", finish_reason="length"),
        Says(None, tools=(("do_nothing", "{}"),)),
    ],
)
async def test_a_format_that_is_not_ignored_stays(endpoint: Endpoint, answer: Says) -> None:
    endpoint.standin.answers(answer)
    model = endpoint.model()
    await ask(model)
    await ask(model)
    assert [way_of(body) for body in endpoint.standin.completions] == ["json_schema", "json_schema"]


async def test_a_limit_that_is_too_large_is_learned_from_the_error(endpoint: Endpoint) -> None:
    words = (
        "max_tokens is too large: 32000. This model supports at most 16384 completion tokens, whereas you gave 32000."
    )
    endpoint.standin.answers(Fails(400, words, param="max_tokens"))
    model = endpoint.model()
    await ask(model, max_tokens=32_000)
    await ask(model, max_tokens=32_000)
    assert [body["max_tokens"] for body in endpoint.standin.completions] == [32_000, 16_384, 16_384]
    assert model.max_reply("gpt-test") == 16_384


ONLY_MEDIUM = (
    "Unsupported value: 'reasoning_effort' does not support '{}' with this model. Supported values are: 'medium'."
)
LOW_TO_HIGH = "reasoning_effort: Input should be 'low', 'medium' or 'high'"
NONE_OR_DEFAULT = "`reasoning_effort` must be one of `none` or `default`"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("complaint", "effort", "sent"),
    [
        (ONLY_MEDIUM, "minimal", ["minimal", "medium"]),
        (LOW_TO_HIGH, "xhigh", ["xhigh", "high"]),
        (LOW_TO_HIGH, "none", ["none", "low"]),
        ("Unsupported reasoning effort: {}", "medium", ["medium", "low"]),
        (NONE_OR_DEFAULT, "high", ["high", None]),
        ("Unrecognized request argument supplied: reasoning_effort", "high", ["high", None]),
    ],
)
async def test_the_nearest_accepted_word_is_sent_instead_of_a_refused_effort(
    endpoint: Endpoint, complaint: str, effort: str, sent: list[str | None]
) -> None:
    endpoint.standin.answers(Fails(400, complaint.format(effort)), Says(JSON), Says(JSON))
    model = endpoint.model()
    await ask(model, effort=effort)
    await ask(model, effort=effort)
    assert [body.get("reasoning_effort") for body in endpoint.standin.completions] == [*sent, sent[-1]]


async def test_after_an_error_that_names_the_accepted_efforts_only_these_are_sent(endpoint: Endpoint) -> None:
    endpoint.standin.answers(Fails(400, LOW_TO_HIGH), *[Says(JSON)] * 3)
    model = endpoint.model()
    for effort in ("minimal", "high", "xhigh"):
        await ask(model, effort=effort)
    sent = [body.get("reasoning_effort") for body in endpoint.standin.completions]
    assert sent == ["minimal", "low", "high", "high"]


@pytest.mark.slow
async def test_the_longest_reply_is_the_operators_the_endpoints_or_unknown(endpoint: Endpoint) -> None:
    endpoint.standin.facts = {"gpt-test": {"top_provider": {"max_completion_tokens": 65_536}}}
    model, limited = endpoint.model(), endpoint.model(reply_limit=9_000)
    unknown = model.max_reply("gpt-test")
    await model.prepare()
    await limited.prepare()
    assert (unknown, model.max_reply("gpt-test"), limited.max_reply("gpt-test")) == (None, 65_536, 9_000)
    assert OpenAIModel(model="gpt-5.4-mini").max_reply("") == 128_000
    assert OpenAIModel(base_url="https://openrouter.ai/api/v1").max_reply("anthropic/claude-opus-4.5") == 64_000


async def test_a_stream_that_breaks_off_gives_no_reply(endpoint: Endpoint) -> None:
    endpoint.standin.answers(Says(JSON, breaks_after=3))
    with pytest.raises(ModelUnavailable, match="broke off in the middle of its reply"):
        await ask(endpoint.model())


@pytest.mark.slow
async def test_a_stream_that_stalls_is_told_from_a_slow_one(endpoint: Endpoint) -> None:
    endpoint.standin.answers(Hangs('{"thoughts": '))
    seen: list[ModelProgress] = []
    with pytest.raises(ModelUnavailable, match="did not answer in time"):
        await ask(endpoint.model(seconds=0.2), report=seen.append)
    assert seen[-1].written() == '{"thoughts": '


@pytest.mark.slow
@pytest.mark.parametrize("text", [" " * 1_000_000, JSON + "\n" * 1_000_000])
async def test_blanks_without_end_end_the_reply(endpoint: Endpoint, text: str) -> None:
    endpoint.standin.answers(Says(text, piece=4_096))
    reply = await ask(endpoint.model())
    assert reply.text == text.rstrip()
    assert reply.usage.completion < 10_000


async def test_an_error_inside_a_stream_is_told_without_the_key(endpoint: Endpoint) -> None:
    endpoint.standin.answers(
        SaysPlain('data: {"error": {"message": "overloaded, sk-12345678"}}\n\n', "text/event-stream")
    )
    with pytest.raises(ModelUnavailable, match=r"broke off its reply: overloaded, …$"):
        await ask(endpoint.model())


async def test_a_page_instead_of_a_stream_names_the_setting(endpoint: Endpoint) -> None:
    endpoint.standin.answers(SaysPlain("<html>Welcome</html>"))
    with pytest.raises(ModelRefused, match="OPENAI_BASE_URL"):
        await ask(endpoint.model())


@pytest.mark.slow
async def test_a_cancelled_call_ends_the_stream(endpoint: Endpoint) -> None:
    endpoint.standin.answers(Says("abc " * 200_000, piece=4))
    begun = asyncio.Event()
    call = asyncio.create_task(ask(endpoint.model(), report=lambda _progress: begun.set()))
    await begun.wait()
    call.cancel()
    await asyncio.wait([call])
    assert call.cancelled()
    await endpoint.standin.lost_a_stream.wait()


async def test_progress_tells_reasoning_from_writing(endpoint: Endpoint) -> None:
    endpoint.standin.answers(Says(JSON, reasoning="Hm, hm, hm, hm, hm."))
    seen: list[ModelProgress] = []
    await ask(endpoint.model(), report=seen.append)
    assert [seen[1].is_reasoning, seen[-1].is_reasoning, seen[-1].written()] == [True, False, JSON]
    assert seen[-1].characters == len(JSON) + 19


async def test_calls_of_one_agent_are_sent_to_one_cache_where_that_is_known(endpoint: Endpoint) -> None:
    await ask(endpoint.model(), cache_key="agent-1")
    assert "prompt_cache_key" not in endpoint.standin.completions[0]
    sent = OpenAIDialect(cache_key=True).request(PROMPT, CallOptions(max_tokens=5, cache_key="agent-1"))
    assert sent["prompt_cache_key"] == "agent-1"


def odd_reply(deltas: list[Any], message: dict[str, Any], finish_reason: str, *, streams: bool) -> Says | SaysPlain:
    """A reply that no SDK makes: streamed as these deltas, or whole as this message."""
    if not streams:
        return Says(body={"choices": [{"message": {"role": "assistant", **message}, "finish_reason": finish_reason}]})
    chunks: list[Any] = [{"choices": [{"delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"delta": {}, "finish_reason": finish_reason}]})
    return SaysPlain("".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks), "text/event-stream")


@both
@pytest.mark.parametrize("second", ["delete_file", ""])
async def test_calls_that_share_an_index_are_not_made_one(endpoint: Endpoint, streams: bool, second: str) -> None:
    halves: list[Any] = [
        {"index": 0, "id": "t0", "function": {"name": "delete_file", "arguments": '{"filename": "'}},
        {"index": 0, "id": "t1", "function": {"name": second, "arguments": 'all.db"}'}},
    ]
    deltas = [{"tool_calls": [half]} for half in halves]
    endpoint.standin.answers(odd_reply(deltas, {"tool_calls": halves}, "tool_calls", streams=streams))
    reply = await ask(endpoint.model(streams=streams))
    assert [call.arguments for call in reply.tool_calls] == ['{"filename": "', 'all.db"}']


@both
@pytest.mark.parametrize("name", ["next_turn", "functions.next_turn:0"])
async def test_a_call_in_the_old_field_or_in_a_name_space_is_the_reply(
    endpoint: Endpoint, streams: bool, name: str
) -> None:
    parts = [{"name": name, "arguments": '{"a": '}, {"arguments": "1}"}]
    message = {"function_call": {"name": name, "arguments": '{"a": 1}'}}
    deltas = [{"function_call": part} for part in parts]
    endpoint.standin.answers(odd_reply(deltas, message, "function_call", streams=streams))
    reply = await ask(endpoint.model(streams=streams))
    assert (reply.text, reply.tool_calls, reply.finish_reason) == ('{"a": 1}', (), "stop")


@both
@pytest.mark.parametrize("body", [{"choices": 5}, {"choices": {"a": 1}}, True])
async def test_an_absurd_completion_is_a_sentence(endpoint: Endpoint, streams: bool, body: object) -> None:
    endpoint.standin.answers(Says(body=body))
    with pytest.raises(ModelError):
        await ask(endpoint.model(streams=streams))


@pytest.mark.slow
async def test_an_upstream_that_is_away_is_no_refusal_of_streaming(endpoint: Endpoint) -> None:
    endpoint.standin.answers(Fails(503, "upstream connect error"))
    model = endpoint.model()
    with pytest.raises(ModelUnavailable):
        await ask(model)
    await ask(model)
    assert [body.get("stream") for body in endpoint.standin.completions] == [True, True]
