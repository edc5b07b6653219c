"""What people type behind `/agent`."""

from decimal import Decimal
from typing import Any

import pytest

from adapters.typed.command_lines import ThreadVerb
from adapters.typed.subcommands import (
    Helping,
    Listing,
    NewCopy,
    NewForm,
    NewFrom,
    NewSentence,
    NewTemplate,
    OnAgent,
    Subcommand,
    ThreadSubcommand,
    agent_called,
    agent_of_thread_command,
    subcommand_of,
)
from agent_core.errors import InvalidInput
from agent_core.model.draft import AgentDraft
from agent_core.testing.examples import CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
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
        ("new\nai_name: Al\nai_goals: [a | b]", NewForm(AgentDraft(name="Al", goals=("a | b",)))),
        ("new ```ai_goals:\n- one\napi_budget: 2.5```", NewForm(AgentDraft(goals=("one",), budget=Decimal("2.5")))),
        ("goals", ThreadSubcommand("goals", "")),
        ("Budget Al 5", ThreadSubcommand("budget", "Al 5")),
        ("memory\nsearch  a  b", ThreadSubcommand("memory", "search  a  b")),
        ("export Al", ThreadSubcommand("export", "Al")),
        ("list", Listing()),
        ("list Archived", Listing(is_archived=True)),
        ("archive Al", OnAgent("archive", "Al")),
        ("duplicate Al", NewCopy("Al")),
        ("new template", NewTemplate("")),
        ("new Template 1-write", NewTemplate("1-write")),
        ("new template for our invoices", NewSentence("template for our invoices")),
        ("stop Al the clerk", OnAgent("stop", "Al the clerk")),
        ("files", OnAgent("files", "")),
        ("lst", Helping("There is no /agent lst. Did you mean /agent list?")),
        ("sing", Helping("There is no /agent sing.")),
    ],
)
def test_a_line_is_read(text: str, wanted: Subcommand) -> None:
    assert subcommand_of(text) == wanted


@pytest.mark.parametrize("text", ["new a | b", "new a | b |", "new a|b|;;"])
def test_a_one_line_form_without_goals_is_answered_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput, match="as in: /agent new Clerk"):
        subcommand_of(text)


def test_a_list_of_something_else_is_answered_with_what_there_is() -> None:
    with pytest.raises(InvalidInput, match="list archived for those that are archived"):
        subcommand_of("list everything")


async def stage_with(*names: str) -> Stage:
    stage = Stage(model=ScriptedModel(*([reply_text("do_nothing")] * len(names))))
    for name in names:
        await stage.service.lifecycle.create(AgentDraft(name=name, goals=("wait",)), stage.origin())
    return stage


@pytest.mark.parametrize(("name", "found"), [("", "Ada"), ("ADA", "Ada")])
async def test_an_agent_is_found_by_its_name_or_as_the_only_one(name: str, found: str) -> None:
    stage = await stage_with("Ada")
    assert (await agent_called(stage.views, CHANNEL, name)).name == found


@pytest.mark.parametrize(
    ("names", "name", "said"),
    [
        ((), "", "There is no agent in this channel yet"),
        (("Ada", "Bob"), "", "Which agent.* Agents here: Ada, Bob"),
        (("Ada", "Clerk"), "Clark", "No agent here is called Clark. Did you mean Clerk?"),
        (("Ada",), "Zoe", "No agent here is called Zoe. Agents here: Ada"),
    ],
)
async def test_an_agent_that_is_not_found_is_answered_with_those_there_are(names: Any, name: str, said: str) -> None:
    stage = await stage_with(*names)
    with pytest.raises(InvalidInput, match=said):
        await agent_called(stage.views, CHANNEL, name)


@pytest.mark.parametrize(
    ("names", "verb", "text", "found"),
    [
        (("Ada",), "goals", "", ("Ada", "")),
        (("Ada",), "goals", "set a; b", ("Ada", "set a; b")),
        (("Ada",), "goals", "ada  rest", ("Ada", "rest")),
        (("Ada",), "budget", "$5", ("Ada", "$5")),
        (("Ada",), "memory", "search Ada", ("Ada", "search Ada")),
        (("Ada", "Ada the Great", "Bob"), "memory", "ada THE  great search x", ("Ada the Great", "search x")),
        (("Ada", "Ada the Great", "Bob"), "memory", "Ada the end", ("Ada", "the end")),
        (("Set", "Bob"), "goals", "set set a", ("Set", "set a")),
        (("A.c", "Bob"), "goals", "A.c\nset x\ny", ("A.c", "set x\ny")),
    ],
)
async def test_a_wish_belongs_to_the_longest_name_it_begins_with(
    names: Any, verb: ThreadVerb, text: str, found: tuple[str, str]
) -> None:
    stage = await stage_with(*names)
    agent, said = await agent_of_thread_command(stage.views, CHANNEL, ThreadSubcommand(verb, text))
    assert (agent.name, said) == found


@pytest.mark.parametrize(
    ("names", "verb", "text", "said"),
    [
        ((), "goals", "", "There is no agent in this channel yet"),
        (("Ada", "Bob"), "budget", "5", "No agent here is called 5. Agents here: Ada, Bob"),
        (("Ada", "Bob"), "goals", "", "Which agent.* Agents here: Ada, Bob"),
        (("Ada",), "goals", "Adam rest", "No agent here is called Adam rest. "),
        (("Ada",), "goals", "are unclear", "No agent here is called are unclear. "),
        (("Ada",), "export", "Zoe", "No agent here is called Zoe"),
        (("A.c",), "export", "Abc", "No agent here is called Abc. Did you mean A.c?"),
    ],
)
async def test_a_wish_that_names_nobody_changes_nobody(names: Any, verb: ThreadVerb, text: str, said: str) -> None:
    stage = await stage_with(*names)
    with pytest.raises(InvalidInput, match=said):
        await agent_of_thread_command(stage.views, CHANNEL, ThreadSubcommand(verb, text))
