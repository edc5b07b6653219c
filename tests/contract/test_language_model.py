"""What every language model keeps to: the scripted one, the rehearsal and a real SDK against a stand-in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal

import pytest

from agent_core.capabilities.agents.finish import FINISH_COMMANDS
from agent_core.capabilities.demo.rehearsal import RehearsalModel
from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.capabilities.models.anthropic_model import ClaudeModel
from agent_core.capabilities.models.fallback_model import FallbackModel
from agent_core.capabilities.models.openai_model import OpenAIModel
from agent_core.capabilities.models.prices import Prices
from agent_core.capabilities.models.token_counters import EstimatedTokens
from agent_core.errors import ModelRefused, ModelUnavailable
from agent_core.model.model_calls import Message, Reply, Usage
from agent_core.ports.models import CallOptions, LanguageModel
from agent_core.prompt.packing import Situation, TokenRoom, pack
from agent_core.replies.reading import parse, reply_schema
from agent_core.testing.examples import NOON, an_agent
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.toolset.registry import Commands
from tests.standins.anthropic import anthropic_standin
from tests.standins.openai import Says, openai_standin

COMMANDS = Commands.of(*FILE_COMMANDS, *FINISH_COMMANDS)
CLAUDE = ("claude", "claude whole", "claude plain")
REPLY = reply_text("write_to_file", {"filename": "a.txt", "text": "hello"})


@asynccontextmanager
async def opened(kind: str) -> AsyncIterator[LanguageModel]:
    if kind == "scripted":
        yield ScriptedModel(REPLY)
    elif kind == "rehearsal":
        yield RehearsalModel()
    elif kind == "fallback":
        yield FallbackModel(first=ScriptedModel(REPLY), second=ScriptedModel())
    elif kind.startswith("claude"):
        async with anthropic_standin() as api:
            api.answers(Says(REPLY))
            api.refuses, api.streams = {"tools"} if kind == "claude plain" else set(), kind != "claude whole"
            claude = ClaudeModel(base_url=api.base_url, prices=Prices.at(api.base_url, {}), streams=api.streams)
            await claude.prepare()
            yield claude
            await claude.close()
    else:
        async with openai_standin() as standin:
            standin.answers(Says(REPLY))
            standin.refuses = {"tools": {"json_schema"}, "plain": {"json_schema", "tools", "json_object"}}.get(
                kind, set()
            )
            prices, streams = Prices.at(standin.base_url, {}), kind != "whole"
            model = OpenAIModel(base_url=standin.base_url, prices=prices, streams=streams)
            await model.prepare()
            yield model
            await model.close()


@pytest.fixture(params=["scripted", "rehearsal", "fallback", "streamed", "whole", "tools", "plain", *CLAUDE])
async def model(request: pytest.FixtureRequest) -> AsyncIterator[LanguageModel]:
    async with opened(request.param) as model:
        yield model


def a_prompt() -> tuple[Message, ...]:
    agent = an_agent(goals=('Write "hello" to a.txt',))
    situation = Situation(agent=agent, commands=COMMANDS.specs, turns=(), notes=(), now=NOON)
    return pack(situation, TokenRoom(10_000, EstimatedTokens().count))


async def ask(model: LanguageModel, name: str = "") -> Reply:
    options = CallOptions(schema=reply_schema(COMMANDS.specs), model=name, max_tokens=500)
    return await model.complete(a_prompt(), options)


@pytest.mark.slow
async def test_a_reply_is_a_command_that_can_run(model: LanguageModel) -> None:
    thoughts, call = parse(await ask(model))
    assert COMMANDS.checked(call).arguments == {"filename": "a.txt", "text": "hello"}
    assert thoughts.text


@pytest.mark.slow
async def test_a_whole_reply_says_so_and_counts_its_tokens(model: LanguageModel) -> None:
    reply = await ask(model, model.default_model)
    assert reply.finish_reason == "stop"
    assert reply.usage.prompt > 0 < reply.usage.completion
    assert reply.usage.cached <= reply.usage.prompt


@pytest.mark.slow
async def test_people_and_agents_can_name_it(model: LanguageModel) -> None:
    assert model.label
    assert model.default_model


async def test_a_temperature_can_be_asked_for(model: LanguageModel) -> None:
    prompt = a_prompt()
    reply = await model.complete(prompt, CallOptions(max_tokens=500, temperature=0.2))
    assert reply.text


@pytest.mark.parametrize("name", ["", "a model nobody knows"])
def test_a_window_has_room_for_a_prompt_and_a_reply(model: LanguageModel, name: str) -> None:
    assert model.window(name) >= 4_096


def test_only_a_model_that_is_known_to_takes_pictures(model: LanguageModel) -> None:
    assert model.takes_images("") == model.takes_images(model.default_model)
    assert not model.takes_images("a model nobody knows")


async def test_these_cost_nothing(model: LanguageModel) -> None:
    assert model.price(Usage(prompt=1000, completion=1000), model.default_model) == Decimal(0)


async def test_the_script_is_played_in_order_and_then_refuses() -> None:
    model = ScriptedModel("one", Reply(text="two", usage=Usage(prompt=5)), ModelUnavailable("busy", 3))
    assert [(await ask(model)).text, (await ask(model)).text] == ["one", "two"]
    with pytest.raises(ModelUnavailable, match="busy"):
        await ask(model)
    with pytest.raises(ModelRefused, match="no reply left"):
        await ask(model, "other")
    assert model.prompts == [a_prompt()] * 4
    assert model.models == ["scripted"] * 3 + ["other"]
    assert [each.schema for each in model.options] == [reply_schema(COMMANDS.specs)] * 4
