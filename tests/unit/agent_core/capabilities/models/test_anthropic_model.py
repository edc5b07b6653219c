"""Claude with the real SDK over real sockets, against a stand-in for Anthropic's API."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from agent_core.capabilities.models.anthropic_model import CLAUDE, CLAUDE_WINDOW_TOKENS, ClaudeModel
from agent_core.capabilities.models.prices import Prices
from agent_core.capabilities.models.settings import ANTHROPIC_URL
from agent_core.errors import ModelError, ModelRefused, ModelUnavailable
from agent_core.model.model_calls import Message, Reply, Usage
from agent_core.ports.models import CallOptions, ModelProgress
from tests.standins.anthropic import AnthropicStandIn, anthropic_standin
from tests.standins.openai import CutsOff, Fails, Hangs, Says, SaysPlain

STANDING = "You are Ada. " * 20
PROMPT = (
    Message("system", STANDING),
    Message("user", "You have done nothing yet."),
    Message("assistant", '{"command": {"name": "list_files", "args": {}}}'),
    Message("user", "It returned: a.txt"),
    Message("user", "Choose the next command."),
)
SCHEMA = {"type": "object"}
KEY = "sk-ant-secret1234567890"
ABILITY = replace(CLAUDE, key="ANTHROPIC_API_KEY", address="ANTHROPIC_BASE_URL", model="SMART_MODEL")
REPLY = '{"thoughts": {}, "command": {"name": "do_nothing", "args": {}}}'


class Api:
    """The stand-in with providers that are closed after the test."""

    def __init__(self, standin: AnthropicStandIn, stack: AsyncExitStack) -> None:
        self.standin, self.stack = standin, stack

    def model(self, **facts: Any) -> ClaudeModel:
        given = {"base_url": self.standin.base_url, "api_key": KEY, "ability": ABILITY, **facts}
        model = ClaudeModel(**given)
        self.stack.push_async_callback(model.close)
        return model

    async def error(self, *answers: Any, **facts: Any) -> ModelError:
        self.standin.answers(*answers)
        with pytest.raises(ModelError) as caught:
            await ask(self.model(**facts))
        return caught.value


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with anthropic_standin() as standin, AsyncExitStack() as stack:
        standin.key = KEY
        yield Api(standin, stack)


async def ask(model: ClaudeModel, prompt: Sequence[Message] = PROMPT, **options: Any) -> Reply:
    return await model.complete(prompt, CallOptions(**{"schema": SCHEMA, "max_tokens": 2_000, **options}))


async def test_the_reply_is_asked_for_as_a_tool_call_and_becomes_text(api: Api) -> None:
    api.standin.answers(Says(REPLY))
    reply = await ask(api.model())
    assert (reply.text, reply.tool_calls, reply.finish_reason) == (REPLY, (), "stop")
    sent = api.standin.messages[0]
    assert sent["tool_choice"] == {"type": "tool", "name": "next_turn", "disable_parallel_tool_use": True}
    assert (sent["tools"][0]["input_schema"], sent["stream"]) == (SCHEMA, True)


async def test_a_prompt_is_sent_with_two_breakpoints_and_alternating_roles(api: Api) -> None:
    await ask(api.model())
    sent = api.standin.messages[0]
    assert [block["text"] for block in sent["system"]] == [STANDING]
    assert [turn["role"] for turn in sent["messages"]] == ["user", "assistant", "user"]
    assert [block["text"] for block in sent["messages"][2]["content"]] == [PROMPT[3].content, PROMPT[4].content]
    marked = [*sent["system"], *(block for turn in sent["messages"] for block in turn["content"])]
    assert [block["text"] for block in marked if "cache_control" in block] == [STANDING, PROMPT[3].content]


async def test_the_history_is_read_from_the_cache_and_only_what_is_new_is_written(api: Api) -> None:
    model = api.model()
    first = (await ask(model)).usage
    longer = (*PROMPT[:4], Message("assistant", REPLY), Message("user", "It did nothing."), PROMPT[4])
    second = (await ask(model, longer)).usage
    assert (first.cached, second.cached) == (0, first.cache_written)
    assert 0 < second.cache_written < 15
    assert second.prompt == second.cached + second.cache_written + len(PROMPT[4].content.split())


async def test_a_single_question_writes_nothing_to_the_cache(api: Api) -> None:
    reply = await ask(api.model(), PROMPT[:2])
    assert (reply.usage.cache_written, "cache_control" in str(api.standin.messages[0])) == (0, False)


def test_reads_and_writes_of_the_cache_have_their_own_prices() -> None:
    model = ClaudeModel(prices=Prices.at(ANTHROPIC_URL, {}))
    plain, cached, written = (
        model.price(Usage(prompt=1_000_000, cached=cached, cache_written=written), "claude-haiku-4-5")
        for cached, written in ((0, 0), (1_000_000, 0), (0, 1_000_000))
    )
    assert (plain, cached, written) == (Decimal(1), Decimal("0.1"), Decimal("1.25"))


@pytest.mark.parametrize(
    ("effort", "thinking", "config"),
    [
        ("", None, None),
        ("none", {"type": "disabled"}, None),
        ("minimal", {"type": "adaptive", "display": "summarized"}, {"effort": "low"}),
        ("high", {"type": "adaptive", "display": "summarized"}, {"effort": "high"}),
    ],
)
async def test_an_effort_switches_thinking_on(api: Api, effort: str, thinking: object, config: object) -> None:
    await ask(api.model(), effort=effort, temperature=0.5)  # which the API does not have
    sent = api.standin.messages[0]
    assert (sent.get("thinking"), sent.get("output_config")) == (thinking, config)
    is_thinking = effort in ("minimal", "high")
    assert sent["tool_choice"]["type"] == ("auto" if is_thinking else "tool")
    assert "temperature" not in sent


@pytest.mark.slow
async def test_an_older_model_gets_a_budget_for_thinking(api: Api) -> None:
    api.standin.thinking = ("enabled", "disabled")
    model = api.model()
    await ask(model, effort="high", max_tokens=20_000)
    assert api.standin.messages[1]["thinking"] == {"type": "enabled", "budget_tokens": 10_000}
    await ask(model, effort="high", max_tokens=1_500)
    assert "thinking" not in api.standin.messages[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("thinking", "effort", "sent"),
    [
        (("enabled",), "low", ["adaptive", "enabled"]),
        ((), "low", ["adaptive", "enabled", None]),
        (("adaptive",), "none", ["disabled", None]),
    ],
)
async def test_without_a_list_of_models_what_is_refused_is_learned(
    api: Api, thinking: Sequence[str], effort: str, sent: list[str | None]
) -> None:
    api.standin.thinking, api.standin.lists = thinking, False
    model = api.model()
    await ask(model, effort=effort, max_tokens=8_000)
    await ask(model, effort=effort, max_tokens=8_000)
    assert [body.get("thinking", {}).get("type") for body in api.standin.messages] == [*sent, sent[-1]]


@pytest.mark.slow
async def test_a_model_that_always_thinks_is_offered_the_tool_and_not_forced(api: Api) -> None:
    model = api.model()
    api.standin.thinks = True
    api.standin.answers(Says(REPLY, reasoning="Let me see."))
    reply = await ask(model)
    assert (reply.text, reply.reasoning) == (REPLY, "Let me see.")
    assert 0 < reply.usage.reasoning < reply.usage.completion
    await ask(model)
    choices = [body["tool_choice"]["type"] for body in api.standin.messages]
    assert choices == ["tool", "auto", "auto"]


async def test_a_model_that_ignores_the_tool_is_asked_otherwise_the_next_time(api: Api) -> None:
    api.standin.obeys = False
    api.standin.answers(Says("Prose."))
    model = api.model()
    assert (await ask(model)).text == "Prose."
    await ask(model)
    assert api.standin.messages[1]["tool_choice"]["type"] == "auto"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tools", "cache_control", "effort", "display", "output_config"])
async def test_a_parameter_that_a_gateway_refuses_is_left_out(api: Api, name: str) -> None:
    api.standin.refuses = {name}
    api.standin.answers(Says(REPLY))
    effort = "low" if name in ("effort", "display", "output_config") else ""
    reply = await ask(api.model(), effort=effort)
    assert reply.text == REPLY
    assert name not in str(api.standin.messages[-1])


@pytest.mark.slow
async def test_the_longest_reply_is_the_models_own(api: Api) -> None:
    api.standin.models = {"claude-sonnet-5-5": 1_900}
    model = api.model()
    await model.prepare()
    assert (model.max_reply(""), model.window("")) == (1_900, 1_000_000)
    await ask(model)
    assert [body["max_tokens"] for body in api.standin.messages] == [2_000, 1_900]
    unlisted = ClaudeModel(context=50_000, reply_limit=5_000)
    assert (unlisted.max_reply("claude-x"), unlisted.window("claude-x")) == (5_000, 50_000)
    assert (ClaudeModel().max_reply("claude-x"), ClaudeModel().window("x")) == (64_000, CLAUDE_WINDOW_TOKENS)


@pytest.mark.slow
async def test_the_nearest_accepted_word_is_sent_instead_of_a_refused_effort(api: Api) -> None:
    refusal = "output_config.effort: Input should be 'low', 'medium', 'high' or 'max'"
    api.standin.answers(Fails(400, refusal), *[Says(REPLY)] * 3)
    model = api.model()
    for effort in ("xhigh", "xhigh", "low"):
        await ask(model, effort=effort)
    sent = [body.get("output_config") for body in api.standin.messages]
    assert sent == [{"effort": word} for word in ("xhigh", "high", "high", "low")]


async def test_progress_is_told_while_claude_thinks_and_writes(api: Api) -> None:
    seen: list[ModelProgress] = []
    api.standin.answers(Says(REPLY, reasoning="Let me see. " * 5))
    reply = await ask(api.model(), report=seen.append)
    assert seen[5].is_reasoning
    told = replace(reply.usage, completion=0, reasoning=0)
    assert (seen[-1].characters, seen[-1].written(), seen[-1].is_reasoning) == (60 + len(REPLY), REPLY, False)
    assert seen[-1].prompt_usage == told


@pytest.mark.slow
async def test_what_a_stopped_call_streamed_ends_at_once(api: Api) -> None:
    begun = asyncio.Event()
    api.standin.answers(Hangs("Once upon a time"))
    call = asyncio.create_task(ask(api.model(), report=lambda progress: begun.set() if progress.characters else None))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.wait_for(api.standin.lost_a_stream.wait(), 10)


async def test_a_cut_reply_and_a_refusal_are_told_apart(api: Api) -> None:
    api.standin.answers(Says('{"thoughts"', finish_reason="length"), Says("", finish_reason="content_filter"))
    model = api.model()
    cut, refused = await ask(model), await ask(model)
    assert (cut.text, cut.finish_reason) == ('{"thoughts"', "length")
    assert (refused.text, refused.finish_reason) == ("I cannot help with this.", "content_filter")


async def test_two_tool_calls_are_given_as_such(api: Api) -> None:
    api.standin.answers(Says("", tools=(("next_turn", "{}"), ("write_to_file", '{"filename": "a"}'))))
    reply = await ask(api.model())
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [
        ("next_turn", "{}"),
        ("write_to_file", '{"filename": "a"}'),
    ]


@pytest.mark.parametrize("usage", [None, {"input_tokens": -5, "output_tokens": 10**12}])
@pytest.mark.parametrize("streams", [True, False])
async def test_missing_or_absurd_usage_is_counted_here(api: Api, usage: Any, streams: bool) -> None:
    api.standin.answers(Says(REPLY, usage=usage))
    used = (await ask(api.model(streams=streams))).usage
    assert 50 < used.prompt < 200
    assert 5 < used.completion < 50


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "kind", "sentence"),
    [
        (Fails(529, "Overloaded", code="overloaded_error"), ModelUnavailable, "answered 529: Overloaded"),
        (Fails(429, "Slow down", code="rate_limit_error", headers={"retry-after": "7"}), ModelUnavailable, "429"),
        (Fails(400, "Your credit balance is too low."), ModelRefused, "no credit left"),
        (Fails(402, "Billing.", code="billing_error"), ModelRefused, "no credit left"),
        (Fails(403, "Your key is not for this."), ModelRefused, "Set ANTHROPIC_API_KEY to a key that may use claude-"),
        (Fails(403, "Not in your region."), ModelRefused, "refused the request (403): Not in your region."),
        (Fails(400, "prompt is too long: 210000 tokens > 200000 maximum"), ModelRefused, "prompt is too long"),
        (Fails(404, "Not Found"), ModelRefused, "check ANTHROPIC_BASE_URL; Anthropic's own is"),
        (SaysPlain("<html>A page</html>"), ModelError, "127.0.0.1"),
        (CutsOff(), ModelUnavailable, "127.0.0.1"),
        (Says(REPLY, breaks_after=4), ModelUnavailable, "broke off"),
    ],
)
async def test_faults_are_told_in_one_sentence(api: Api, answer: Any, kind: type[ModelError], sentence: str) -> None:
    error = await api.error(answer)
    assert isinstance(error, kind)
    assert sentence in str(error)
    assert KEY not in str(error)
    assert "\n" not in str(error)


@pytest.mark.slow
async def test_a_wrong_key_and_an_unknown_model_name_their_settings(api: Api) -> None:
    assert "Set ANTHROPIC_API_KEY" in str(await api.error(api_key="sk-ant-wrong"))
    error = str(await api.error(model="claude-unknown"))
    assert "has no model claude-unknown" in error
    assert "Set SMART_MODEL" in error


@pytest.mark.slow
async def test_a_silent_stream_counts_as_stalled(api: Api) -> None:
    error = await api.error(Hangs("Once"), seconds=0.2)
    assert isinstance(error, ModelUnavailable)
    assert "did not answer in time" in str(error)


def test_a_claude_model_is_shown_with_its_host() -> None:
    assert ClaudeModel().label == "claude-sonnet-5-5 · api.anthropic.com"
    assert ClaudeModel.is_installed()
