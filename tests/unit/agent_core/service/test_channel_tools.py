"""Which tools a channel uses: what is offered, what runs, and who may change that."""

from dataclasses import replace

import pytest

from adapters.screens.cards import turn_card
from agent_core.errors import NotAllowed
from agent_core.model.channel_settings import (
    ALL_ON,
    TOOLS_KEY,
    ToolSwitches,
    parse_tool_switches,
    serialise_tool_switches,
)
from agent_core.model.command import Failed, Succeeded
from agent_core.model.decision import Approve
from agent_core.model.origin import Actor, ChannelScope, Origin
from agent_core.model.turn import Turn
from agent_core.testing.examples import ANA, CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from tests.plugins import add_plugins, two_plugins

TEA = reply_text("write_to_file", {"filename": "tea.txt", "text": "black tea at four"})
COUNT = reply_text("count_words", {"filename": "tea.txt"})
NO_FILE = reply_text("count_words", {"filename": "coffee.txt"})
DONE = reply_text("task_complete", {"reason": "Counted."})
GUEST = Actor(id="eve", display="eve", kind="guest")
ELSEWHERE = ChannelScope("web", "local", "elsewhere")
OFF = "count_words is switched off in this channel. /agent tools, or the page Tools and plugins, says what is on."


def a_stage(*replies: str) -> Stage:
    stage = Stage(model=ScriptedModel(*replies))
    add_plugins(stage, two_plugins())
    return stage


async def switch_off(stage: Stage, *names: str, channel: ChannelScope = CHANNEL) -> ToolSwitches:
    origin = Origin(by=ANA, channel=channel)
    return await stage.agent_settings.set_tools(lambda now: now.turn_off(names), origin, f"off {', '.join(names)}")


async def newest(stage: Stage) -> Turn:
    (agent,) = await stage.views.agents(CHANNEL)
    return await stage.turn(agent)


@pytest.mark.proves("plugin:switched")
@pytest.mark.parametrize("name", ["word_counter", "count_words"])
async def test_what_is_off_is_not_offered_and_a_model_that_proposes_it_reads_why(name: str) -> None:
    stage = a_stage(COUNT, DONE)
    await switch_off(stage, name)
    await stage.create()
    offered, told = stage.script.prompts[0][0].content, stage.script.prompts[1][-1].content
    assert ("count_words" in offered, "check_link" in offered) == (False, True)
    assert OFF in told


@pytest.mark.proves("plugin:switched")
async def test_an_open_card_of_what_was_switched_off_does_not_run_when_it_is_approved() -> None:
    stage = a_stage(TEA, COUNT, DONE)
    agent = await stage.create()
    await stage.decide(agent, Approve())
    agent = await stage.wait_until_settled(agent)
    counted = await stage.turn(agent)
    assert counted.source == "word_counter 1.0"
    await switch_off(stage, "word_counter")
    await stage.decide(agent, Approve())
    await stage.wait_until_settled(agent)
    assert (await stage.views.turn(CHANNEL, counted.id))[1].result == Failed(OFF)


@pytest.mark.proves("plugin:switched")
async def test_what_is_off_elsewhere_is_not_off_here() -> None:
    stage = a_stage(TEA, COUNT, DONE)
    await switch_off(stage, "count_words", channel=ELSEWHERE)
    agent = await stage.create()
    for _ in range(2):
        await stage.decide(agent, Approve())
        await stage.wait_until_settled(agent)
    results = [turn.result for turn in (await stage.views.thread(CHANNEL, agent.id)).turns.values()]
    assert Succeeded("tea.txt has 4 words.") in results  # off elsewhere is not off here


def test_only_names_what_is_left_and_on_brings_back() -> None:
    (words,) = (each for each in a_stage().commands.specs if each.name == "count_words")
    (links,) = (each for each in a_stage().commands.specs if each.name == "check_link")
    (own,) = (each for each in a_stage().commands.specs if each.name == "write_to_file")
    only = ToolSwitches(only=("link_checker",))
    assert [only.allows(each) for each in (words, links, own)] == [False, True, True]
    assert [only.turn_on(["count_words"]).allows(each) for each in (words, links)] == [True, True]
    assert not only.turn_off(["link_checker"]).allows(links)
    assert only.turn_off(["link_checker"]).turn_on(["link_checker"]) == only
    assert [only.is_source_on("word_counter"), only.is_source_on("link_checker")] == [False, True]


def test_what_a_newer_release_keeps_beside_the_switches_stays() -> None:
    stored = serialise_tool_switches(ToolSwitches(off=("a",)), '{"ask": ["b"]}')
    assert '"ask": ["b"]' in stored
    assert parse_tool_switches(stored) == ToolSwitches(off=("a",))
    assert parse_tool_switches(None) == ALL_ON


async def test_a_guest_switches_nothing_and_the_decision_log_says_who_did() -> None:
    stage = a_stage(DONE)
    with pytest.raises(NotAllowed, match="a full member of the channel does"):
        await stage.agent_settings.set_tools(lambda now: now, Origin(by=GUEST, channel=CHANNEL), "all on")
    await switch_off(stage, "word_counter")
    async with stage.database.begin() as work:
        assert "word_counter" in (await work.preferences.get(CHANNEL, TOOLS_KEY) or "")
        assert await work.preferences.get(ELSEWHERE, TOOLS_KEY) is None
        logged = [(entry.act, entry.detail, entry.by) for entry in await work.audit.in_channel(CHANNEL)]
    assert ("set the channel's tools", "off word_counter", ANA) in logged


@pytest.mark.proves("plugin:shown")
async def test_a_channel_sees_the_commands_of_each_plugin_and_what_is_left_out() -> None:
    stage = a_stage()
    await switch_off(stage, "count_words", channel=ELSEWHERE)
    words, links = (await stage.views.tools.of_channel(CHANNEL)).sources
    assert [(each.spec.name, each.is_on) for each in words.commands] == [("count_words", True)]
    assert links.source.remarks
    elsewhere, _ = (await stage.views.tools.of_channel(ELSEWHERE)).sources
    assert [each.is_on for each in elsewhere.commands] == [False]


@pytest.mark.proves("plugin:shown")
async def test_the_card_names_the_plugin_before_and_after_the_run() -> None:
    stage = a_stage(TEA, COUNT, DONE)
    agent = await stage.create()
    assert turn_card(agent, await newest(stage)).footer == ()
    await stage.decide(agent, Approve())
    agent = await stage.wait_until_settled(agent)
    turn = await newest(stage)
    assert turn_card(agent, turn).footer[0] == "command of word_counter"
    await stage.decide(agent, Approve())
    agent = await stage.wait_until_settled(agent)
    ended = (await stage.views.turn(CHANNEL, turn.id))[1]
    assert turn_card(agent, ended).footer[0] == "command of word_counter"


@pytest.mark.proves("plugin:named")
async def test_the_decision_log_that_people_read_names_the_plugin_also_after_the_run() -> None:
    stage = a_stage(TEA, NO_FILE, DONE)
    agent = await stage.create()
    for _ in range(2):
        await stage.decide(agent, Approve())
        agent = await stage.wait_until_settled(agent)
    ran = {row.command: row async for row in stage.views.log.rows(stage.origin()) if row.act == "ran"}
    assert ran["count_words"].detail.startswith("command of word_counter 1.0 · ")
    assert "command of" not in ran["write_to_file"].detail


@pytest.mark.proves("plugin:shown")
async def test_a_command_whose_name_another_source_took_is_listed_under_that_one_only() -> None:
    stage = a_stage()
    taken = stage.commands.by_name["count_words"]
    stage.commands.by_name["count_words"] = replace(taken, spec=replace(taken.spec, source="tea (tool server)"))
    counter = (await stage.views.tools.of_channel(CHANNEL)).sources[0]
    assert counter.source.commands == ("count_words",)
    assert counter.commands == ()
