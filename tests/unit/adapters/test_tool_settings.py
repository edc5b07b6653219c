"""`/agent tools`: what is shown, what is switched, and what is answered to what cannot be."""

from dataclasses import replace

import pytest

from adapters.typed.command_lines import is_thread_command
from adapters.typed.tool_settings import HOW_TOOLS, NO_TOOLS, TOO_MANY, set_tools
from agent_core.errors import InvalidInput
from agent_core.model.channel_settings import TOOLS_KEY, ToolSwitches, parse_tool_switches
from agent_core.testing.examples import CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from tests.plugins import add_plugins, two_plugins
from tests.unit.agent_core.prompt.test_tool_choice import a_command, many


@pytest.fixture
def stage() -> Stage:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    add_plugins(stage, two_plugins())
    return stage


async def said(stage: Stage, line: str) -> str:
    return await set_tools(stage.agent_settings, stage.views, line, stage.origin())


async def kept(stage: Stage) -> ToolSwitches:
    async with stage.database.begin() as work:
        return parse_tool_switches(await work.preferences.get(CHANNEL, TOOLS_KEY))


@pytest.mark.proves("plugin:shown")
async def test_the_list_names_sources_commands_classes_and_what_is_left_out(stage: Stage) -> None:
    assert await said(stage, "") == (
        "Agents here may use, besides Signoff's own commands:\n"
        "• word_counter 1.0 (plugin, file word_counter.py): on\n   count_words (read)\n"
        "• link_checker 1.0 (plugin, file link_checker.py): on · "
        "left out: post_link is left out: Signoff has a command of that name\n   check_link (network)"
    )
    assert await said(Stage(), "") == NO_TOOLS


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["off word_counter"], ToolSwitches(off=("word_counter",))),
        (["off COUNT_WORDS, check_link"], ToolSwitches(off=("count_words", "check_link"))),
        (["off word_counter", "on word_counter"], ToolSwitches()),
        (["only link_checker"], ToolSwitches(only=("link_checker",))),
        (["only link_checker", "on count_words"], ToolSwitches(only=("link_checker", "count_words"))),
        (["only link_checker", "off word_counter", "all on"], ToolSwitches()),
    ],
)
async def test_lines_switch(stage: Stage, lines: list[str], expected: ToolSwitches) -> None:
    answers = [await said(stage, line) for line in lines]
    assert await kept(stage) == expected
    offered = stage.commands.specs_for("", expected)
    assert ("off here" in answers[-1]) == (len(offered) < len(stage.commands.specs))


@pytest.mark.parametrize("line", ["off", "away word_counter", "all", "all off", "on " + "a " * 101])
async def test_what_is_no_line_about_tools_is_told_how(stage: Stage, line: str) -> None:
    with pytest.raises(InvalidInput, match=HOW_TOOLS.split(".", maxsplit=1)[0]):
        await said(stage, line)
    assert await kept(stage) == ToolSwitches()


async def test_an_unknown_name_and_signoffs_own_commands_are_named_and_change_nothing(stage: Stage) -> None:
    for name in ("coffee", "write_to_file"):
        with pytest.raises(InvalidInput, match=f"{name} is no plugin, server or command of one. There are: word_c"):
            await said(stage, f"off {name}")
    assert await kept(stage) == ToolSwitches()


async def test_a_command_whose_source_is_off_is_switched_on_with_its_source(stage: Stage) -> None:
    await said(stage, "off word_counter")
    with pytest.raises(InvalidInput, match=r"all of word_counter is off here\. Write on word_counter\."):
        await said(stage, "on count_words")


async def test_what_was_switched_and_is_gone_now_can_be_switched_on_again(stage: Stage) -> None:
    await stage.agent_settings.set_tools(lambda now: now.turn_off(["gone"]), stage.origin(), "off gone")
    assert "off here" not in await said(stage, "on gone")
    assert await kept(stage) == ToolSwitches()


@pytest.mark.parametrize(
    ("line", "is_command"),
    [
        ("tools", True),
        ("tools off word_counter", True),
        ("tools all on", True),
        ("tools on the desk are mine", False),
        ("tools only for linux please", False),
        ("Tools should be cheap", False),
    ],
)
def test_a_reply_about_tools_is_no_command(line: str, is_command: bool) -> None:
    assert is_thread_command(line) == is_command


@pytest.mark.proves("plugin:room")
async def test_more_tools_than_a_prompt_lists_are_told_as_such(stage: Stage) -> None:
    assert TOO_MANY not in await said(stage, "")
    found = two_plugins()
    made = (a_command(spec.name, spec.description) for spec in many(300))
    found.loaded[0].commands = tuple(replace(each, spec=replace(each.spec, source="word_counter 1.0")) for each in made)
    for command in found.loaded[0].commands:
        stage.commands.register(command)
    stage.views = replace(stage.views, list_sources=found.list_sources)
    assert (await said(stage, "")).endswith(TOO_MANY)
    assert TOO_MANY not in await said(stage, "only link_checker")
