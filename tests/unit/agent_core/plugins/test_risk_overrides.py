"""The classes that PLUGIN_CLASSES gives commands of plugins: on the card, for policies and for leases."""

from collections.abc import Mapping

import pytest

from agent_core.model.agent import Agent
from agent_core.model.command import RiskClass
from agent_core.model.decision import Approve, PolicyChange
from agent_core.model.turn import Turn
from agent_core.plugins.plugin_set import PluginSet
from agent_core.plugins.risk_overrides import RiskOverrides
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import Commands
from examples.plugins.word_counter import WordCounter
from tests.unit.agent_core.plugins.test_plugins import COUNT, DONE, FAMILIES, TEA, TOOLS, plugins_of

pytestmark = pytest.mark.proves("autogpt:classes")
Given = Mapping[str, tuple[RiskClass, ...]]


def counter(given: Given, *, is_autogpt: bool = False) -> PluginSet:
    """The word counter, whose one command only reads."""
    found = plugins_of(WordCounter())
    found.loaded[0].declares_classes, found.overrides = not is_autogpt, RiskOverrides(given)
    return found


def risks(given: Given, *, is_autogpt: bool = False) -> tuple[RiskClass, ...]:
    found = counter(given, is_autogpt=is_autogpt)
    return next(each.spec.risks for each in found.commands(TOOLS) if each.spec.name == "count_words")


def test_classes_stand_in_the_place_of_those_that_nobody_chose() -> None:
    assert risks({"WordCounter": ("network", "publish")}, is_autogpt=True) == ("network", "publish")


def test_classes_that_an_author_chose_become_more_only() -> None:
    assert risks({"WordCounter": ("publish",)}) == ("read", "publish")


def test_a_commands_own_name_wins_in_any_case() -> None:
    given: Given = {"wordCounter": ("spend",), "WORDCounter.COUNT_words": ("write",)}
    assert risks(given, is_autogpt=True) == ("write",)


def test_names_that_nothing_has_are_named() -> None:
    found = counter({"WordCounter": ("read",), "WordCounter.cuont": ("read",), "tea": ("read",)})
    found.commands(TOOLS)
    assert found.overrides.unmatched(found.loaded) == ("WordCounter.cuont", "tea")


async def counting(given: Given, free: tuple[RiskClass, ...] = (), lease: int = 0) -> tuple[Stage, Agent, Turn]:
    """An agent that wrote a file under this policy or lease, and then proposed the command."""
    commands = Commands.of(*counter(given, is_autogpt=True).commands(TOOLS, FAMILIES))
    stage = Stage(model=ScriptedModel(TEA, COUNT, DONE), commands=commands)
    agent = await stage.create()
    await stage.agent_settings.set_policy(agent.id, PolicyChange(free=free), stage.origin())
    await stage.decide(agent, Approve(times=1 + lease))
    agent = await stage.wait_until_settled(agent)
    return stage, agent, await stage.turn(agent)


async def test_the_card_shows_the_classes_of_the_settings() -> None:
    _, _, turn = await counting({"WordCounter": ("network", "publish")})
    assert (turn.call.name, turn.risks) == ("count_words", ("network", "publish"))


@pytest.mark.parametrize(("classes", "next_card"), [(("read",), "task_complete"), (("network",), "count_words")])
async def test_policies_go_by_the_classes_of_the_settings(classes: tuple[RiskClass, ...], next_card: str) -> None:
    _, _, turn = await counting({"WordCounter": classes}, free=("read",))
    assert turn.call.name == next_card


@pytest.mark.parametrize("classes", [("read",), ("publish",)])
async def test_a_lease_on_a_command_of_signoff_covers_no_plugin(classes: tuple[RiskClass, ...]) -> None:
    _, _, turn = await counting({"WordCounter": classes}, lease=1)
    assert turn.call.name == "count_words"
