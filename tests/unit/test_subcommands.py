"""What people type behind `/agent`."""

from typing import Any

import pytest

from adapters.subcommands import (
    Helping,
    Listing,
    NewForm,
    NewFrom,
    NewSentence,
    OnAgent,
    Subcommand,
    agent_called,
    subcommand_of,
)
from agent_core.errors import InvalidInput
from agent_core.model.draft import AgentDraft
from agent_core.testing.examples import CHANNEL
from agent_core.testing.model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", Helping()),
        (" HELP me", Helping()),
        ("new", NewForm()),
        ("New  ", NewForm()),
        ("new find strings", NewSentence("find strings")),
        ("new Al | a clerk | one; two ;", NewFrom(AgentDraft(name="Al", role="a clerk", goals=("one", "two")))),
        ("new | | one | two", NewFrom(AgentDraft(goals=("one | two",)))),
        ("list", Listing()),
        ("stop Al the clerk", OnAgent("stop", "Al the clerk")),
        ("files", OnAgent("files", "")),
        ("lst", Helping("“lst” is none of my words; did you mean /agent list?")),
        ("sing", Helping("“sing” is none of my words.")),
    ],
)
def test_a_line_is_read(text: str, wanted: Subcommand) -> None:
    assert subcommand_of(text) == wanted


@pytest.mark.parametrize("text", ["new a | b", "new a | b |", "new a|b|;;"])
def test_a_one_line_form_without_goals_is_answered_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput, match="as in: /agent new Clerk"):
        subcommand_of(text)


async def stage_with(*names: str) -> Stage:
    stage = Stage(model=ScriptedModel(*([reply_text("do_nothing")] * len(names))))
    for name in names:
        await stage.service.create(AgentDraft(name=name, goals=("wait",)), stage.origin())
    return stage


@pytest.mark.parametrize(("name", "found"), [("", "Ada"), ("ADA", "Ada")])
async def test_an_agent_is_found_by_its_name_or_as_the_only_one(name: str, found: str) -> None:
    stage = await stage_with("Ada")
    assert (await agent_called(stage.views, CHANNEL, name)).name == found


@pytest.mark.parametrize(
    ("names", "name", "said"),
    [
        ((), "", "There is no agent in this channel yet"),
        (("Ada", "Bob"), "", "Which agent.* There are: Ada, Bob"),
        (("Ada", "Clerk"), "Clark", "No agent here is called Clark. Did you mean Clerk?"),
        (("Ada",), "Zoe", "No agent here is called Zoe. There are: Ada"),
    ],
)
async def test_an_agent_that_is_not_found_is_answered_with_those_there_are(names: Any, name: str, said: str) -> None:
    stage = await stage_with(*names)
    with pytest.raises(InvalidInput, match=said):
        await agent_called(stage.views, CHANNEL, name)
