"""Prompts of tool servers over HTTP: how one becomes the form for a new agent, and what its server cannot do."""

import html
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import pytest

from agent_core.errors import CommandError
from agent_core.ports.tool_servers import PromptArgument, SourcePrompt, ToolSource
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from tests.scenario.page import PageChat, text_of
from tests.scenario.served import served

CHANNEL = "/c/web/local/general"
PLAN = SourcePrompt(
    name="plan <b>",
    title="Plan a tasting",
    description="Plan one.\u200b",
    arguments=(PromptArgument(name="tea", description="Which?", is_required=True), PromptArgument(name="guests")),
)


@dataclass
class TeaServer:
    """A source of prompts. `text`: what each prompt says; None if the server refuses."""

    text: str | None = "Find three kinds of oolong.\n\nWrite a plan."
    prompts: tuple[SourcePrompt, ...] = (PLAN,)
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)

    def list_sources(self) -> tuple[ToolSource, ...]:
        return (ToolSource(name="tea", kind="tool server", place="here", prompts=self.prompts, read_prompt=self._read),)

    async def _read(self, name: str, arguments: Mapping[str, str]) -> str:
        self.asked.append((name, arguments))
        if self.text is None:
            raise CommandError("The tool server tea is away\u200b.")
        return self.text


@pytest.fixture
def tea() -> TeaServer:
    return TeaServer()


@pytest.fixture
async def ana(tmp_path: Path, tea: TeaServer) -> AsyncIterator[PageChat]:
    def prepared(stage: Stage) -> None:
        object.__setattr__(stage.views, "list_sources", tea.list_sources)  # surfaces have these views already

    async with (
        served(ScriptedModel(waits=True), tmp_path, prepared=prepared) as base,
        PageChat.opened(base, "ana", CHANNEL) as chat,
    ):
        yield chat


def address(name: str = PLAN.name, source: str = "tea") -> str:
    return f"prompt?{urlencode({'source': source, 'name': name})}"


@pytest.mark.proves("mcp:prompts")
async def test_a_prompt_fills_the_form_in_and_creates_nothing(ana: PageChat, tea: TeaServer) -> None:
    assert "Start from a prompt of a tool server (1)" in text_of(await ana.page("/new"))
    shown = await ana.page(f"/{address()}")
    assert "plan <b>" not in shown
    assert "Plan one.⟨U+200B⟩" in text_of(shown)
    status, form = await ana.send(address(), {"argument.0": " oolong ", "argument.1": ""})
    assert (status, tea.asked) == (200, [("plan <b>", {"tea": "oolong"})])
    assert "Filled in from the prompt “Plan a tasting” of tea. Its author wrote these goals" in text_of(form)
    assert "Find three kinds of oolong.\nWrite a plan.</textarea>" in form
    assert 'value="Plan a tasting"' in form
    assert "Plan a tasting" not in text_of(await ana.page())


async def test_a_prompt_that_cannot_be_used_is_named_with_the_reason(ana: PageChat, tea: TeaServer) -> None:
    wide = [
        SourcePrompt(name=f"wide {number}", fault="asks for 12 arguments, and 10 are the most") for number in range(5)
    ]
    tea.prompts = (PLAN, *wide)
    shown = text_of(await ana.page("/new"))
    assert "Start from a prompt of a tool server (1)" in shown
    assert "Left out: The prompt wide 0 of tea asks for 12 arguments, and 10 are the most. The prompt wide 1" in shown
    assert "The prompt wide 2 of tea asks for 12 arguments, and 10 are the most. And 2 more." in shown
    status, page = await ana.send(address("wide 0"), {})
    assert (status, tea.asked) == (409, [])
    assert "asks for 12 arguments" in text_of(page)


@pytest.mark.parametrize("name", ["plan a party", "茶\u200b", 'a "b" & <c>', "x" * 200, "/etc?name=1#2"])
async def test_a_prompt_of_any_name_is_linked_and_asked_for_by_it(ana: PageChat, tea: TeaServer, name: str) -> None:
    tea.prompts = (SourcePrompt(name=name),)
    linked = re.search(r'href="(prompt\?[^"]+)"', await ana.page("/new"))
    assert linked
    link = html.unescape(linked[1])
    shown = text_of(await ana.page(f"/{link}"))
    assert "It needs no arguments. The server answers with a text" in " ".join(shown.split())
    status, form = await ana.send(link, {})
    assert (status, tea.asked) == (200, [(name, {})])
    assert "Its author wrote these goals" in text_of(form)


async def test_what_is_missing_or_too_long_is_told_beside_it_and_stays(ana: PageChat, tea: TeaServer) -> None:
    status, page = await ana.send(address(), {"argument.0": "  ", "argument.1": "x" * 2_001})
    assert (status, tea.asked) == (422, [])
    assert "This is needed." in text_of(page)
    assert "At most 2,000 characters." in text_of(page)
    assert "x" * 2_001 in page


async def test_a_server_that_refuses_is_quoted_and_the_arguments_stay(ana: PageChat, tea: TeaServer) -> None:
    tea.text = None
    status, page = await ana.send(address(), {"argument.0": "oolong"})
    assert status == 422
    assert "The tool server tea is away⟨" in text_of(page)
    assert "oolong</textarea>" in page


@pytest.mark.slow
async def test_a_prompt_of_a_source_that_is_off_or_gone_is_not_there(ana: PageChat, tea: TeaServer) -> None:
    for other in (address("another"), address(source="coffee")):
        status, _ = await ana.send(other, {"argument.0": "oolong"})
        assert status == 404
    await ana.send("tools", {"switch": "off tea"})
    assert "Start from a prompt" not in text_of(await ana.page("/new"))
    status, _ = await ana.send(address(), {"argument.0": "oolong"})
    assert (status, tea.asked) == (404, [])


async def test_the_page_of_another_platforms_channel_asks_no_server(ana: PageChat, tea: TeaServer) -> None:
    ana.path = "/c/slack/T1/C1"
    status, _ = await ana.send(address(), {"argument.0": "oolong"})
    assert (status, tea.asked) == (403, [])


async def test_a_long_text_becomes_five_goals_with_hidden_letters_spelled_out(ana: PageChat, tea: TeaServer) -> None:
    tea.text = "\n\n".join([*(f"Step {number}\nof it.\u202e" for number in range(7)), "y" * 3_000, "<script>"])
    _, form = await ana.send(address(), {"argument.0": "oolong"})
    goals = form.partition('<textarea id="goals"')[2].partition(">\n")[2].partition("</textarea>")[0].splitlines()
    assert len(goals) == 5
    assert goals[0].startswith("Step 0 of it.⟨")
    assert len(goals[-1]) <= 2_000
    assert "were too many for goals, and are left out." in text_of(form)
    assert "<script>" not in form.partition('<textarea id="goals"')[2].partition("</textarea>")[0]
