"""Of hundreds of tools a prompt lists those that fit the goals, within a share of the window, and names the others."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.capabilities.files.commands import FILE_COMMANDS
from agent_core.model.command import CommandSpec
from agent_core.prompt.tool_choice import MAX_TOOL_TOKENS, choose_tools, tool_room, tool_tokens
from agent_core.testing.examples import an_agent
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import Command, CommandContext, Commands, NoArguments, declare

OWN = tuple(command.spec for command in FILE_COMMANDS)
WINDOW = 128_000
AGENT = an_agent(role="looks after our calendar", goals=("Move the meetings of Friday to Monday",))


def tool(name: str, description: str) -> CommandSpec:
    return a_command(name, description).spec


def a_command(name: str, description: str) -> Command:
    async def do(_given: NoArguments, _context: CommandContext) -> str:
        return "done"

    made = declare(NoArguments, do, label="Do", risks=("network",), category="tools")
    return replace(made, spec=replace(made.spec, name=name, description=description, source="office 1.0"))


def many(number: int) -> list[CommandSpec]:
    return [tool(f"office.archive_{each:03}", "Put a paper into the archive. " * 8) for each in range(number)]


MOVE = tool("office.move_meeting", "Move a meeting to another time.")


@pytest.mark.proves("plugin:room")
def test_few_tools_are_all_listed_and_nothing_is_said() -> None:
    choice = choose_tools(AGENT, [*OWN, *many(5), MOVE], WINDOW)
    assert (choice.listed, choice.left_out, choice.guidance) == ((*OWN, *many(5), MOVE), (), ())


@pytest.mark.slow
@pytest.mark.proves("plugin:room")
def test_of_five_hundred_those_that_fit_the_goals_are_listed_within_their_share_and_the_others_are_named() -> None:
    choice = choose_tools(AGENT, [*OWN, *many(500), MOVE], WINDOW)
    assert MOVE in choice.listed
    assert choice.listed[: len(OWN)] == OWN
    assert tool_tokens(spec for spec in choice.listed if spec.source) <= MAX_TOOL_TOKENS
    (line,) = choice.guidance
    assert line.startswith(f"There are {len(choice.left_out)} more commands, which you can use by their names: office.")
    assert len(line) < 1_400
    assert choice == choose_tools(AGENT, [*OWN, *many(500), MOVE], WINDOW)  # the prompt's prefix stays the same


def test_a_small_window_gives_tools_an_eighth_of_it() -> None:
    choice = choose_tools(AGENT, [*OWN, *many(100), MOVE], 8_000)
    assert tool_room(8_000) == 1_000
    assert tool_tokens(spec for spec in choice.listed if spec.source) <= 1_000
    assert MOVE in choice.listed


@pytest.mark.slow
@given(st.integers(0, 60), st.integers(0, 40_000))
def test_nothing_is_lost_doubled_or_moved(number: int, window: int) -> None:
    every = [*OWN[:3], *many(number), MOVE, *OWN[3:]]
    choice = choose_tools(AGENT, every, window)
    order = {spec.name: at for at, spec in enumerate(every)}
    assert sorted(order[spec.name] for spec in (*choice.listed, *choice.left_out)) == list(range(len(every)))
    assert [order[spec.name] for spec in choice.listed] == sorted(order[spec.name] for spec in choice.listed)
    assert not any(not spec.source for spec in choice.left_out)


@pytest.mark.slow
@pytest.mark.proves("plugin:room")
async def test_a_tool_that_is_not_listed_is_proposed_by_its_name_and_the_prompt_names_it() -> None:
    rare = a_command("office.zebra", "Paint stripes. " * 20)
    others = [a_command(spec.name, spec.description) for spec in many(200)]
    stage = Stage(model=ScriptedModel(reply_text("office.zebra")), commands=Commands.of(*FILE_COMMANDS, rare, *others))
    agent = await stage.create("Put every paper into the archive")
    prompt = stage.script.prompts[0][0].content
    assert "- office.zebra(" not in prompt
    assert "which you can use by their names: office.zebra" in prompt
    assert (await stage.turn(agent)).call.name == "office.zebra"
