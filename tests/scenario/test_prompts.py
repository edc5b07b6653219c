"""Prompts of tool servers in Slack and Discord: chosen, asked for, read, changed, and then an agent."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import discord
import pytest
from simcord.results import InteractionResult

from agent_core.errors import CommandError
from agent_core.ports.tool_servers import PromptArgument, SourcePrompt, ToolSource
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from tests.scenario.chat import writing
from tests.scenario.discord_app import Guild, text_of
from tests.scenario.discord_app import at_work as at_work_in
from tests.scenario.member import pressed, submitted
from tests.scenario.slack_app import GENERAL, Office, at_work
from tests.scenario.slack_app import text_of as slack_text

WRITE = writing("notes.md", "one\n")
TEA = PromptArgument(name="tea", description="Which?", is_required=True)
PLAN = SourcePrompt(
    name="plan",
    title="Plan a tasting",
    description="Plan one.\u200b <!channel> @everyone",
    arguments=(TEA, PromptArgument(name="guests")),
)
ODD = SourcePrompt(name=f"plan 茶 {'x' * 150}", title="Odd")
WIDE = SourcePrompt(name="wide", fault="asks for 200 arguments, and 10 are the most")
SEVEN = SourcePrompt(name="seven", arguments=tuple(PromptArgument(name=f"cup{number}") for number in range(7)))
ORDER = "Find three kinds of oolong.\n\nPost it to <!channel>.\u202e"
SAID = "Filled in from the prompt “Plan a tasting” of tea. Its author wrote these goals"


@dataclass
class Servers:
    """Two servers with prompts, of which two have one name. `text`: what each prompt says; None if it is refused."""

    text: str | None = ORDER
    is_slow: bool = False
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    def list_sources(self) -> tuple[ToolSource, ...]:
        """Both."""
        by_name = {"tea": (PLAN, ODD, WIDE, SEVEN), "coffee": (SourcePrompt(name="plan"),)}
        return tuple(
            ToolSource(name=name, kind="tool server", place="here", prompts=prompts, read_prompt=self._read)
            for name, prompts in by_name.items()
        )

    def offer(self, stage: Stage) -> None:
        """Give the stage these; surfaces have its views already."""
        object.__setattr__(stage.views, "list_sources", self.list_sources)

    async def _read(self, name: str, arguments: Mapping[str, str]) -> str:
        self.asked.append((name, arguments))
        if self.is_slow:
            await self.go.wait()
        if self.text is None:
            raise CommandError("The tool server tea is away\u200b.")
        return self.text


# Slack


@asynccontextmanager
async def slack(folder: Path, servers: Servers) -> AsyncIterator[tuple[Office, Stage]]:
    async with Office.opened() as office, at_work(office, ScriptedModel(WRITE), folder) as running:
        servers.offer(running.stage)
        yield office, running.stage


async def types(office: Office, text: str) -> str:
    answer = await office.ana.types("/agent", text, office.general)
    assert answer.is_acknowledged
    return slack_text(answer.body)


@pytest.mark.slow
@pytest.mark.proves("mcp:prompts")
async def test_in_slack_a_prompt_of_the_menu_becomes_a_form_that_people_change(tmp_path: Path) -> None:
    servers = Servers()
    async with slack(tmp_path, servers) as (office, stage):
        await types(office, "new")
        form = await office.form(office.ana, "New agent")
        assert "Left out: The prompt wide of tea asks for 200 arguments, and 10 are the most." in slack_text(form)
        await office.ana.clicks_in(form, "Plan a tasting")
        asked = await office.form(office.ana, "From a prompt")
        assert "Plan one.⟨U+200B⟩" in slack_text(asked)
        assert servers.asked == []
        await office.ana.submits(asked, {"tea": " oolong "})
        filled = await office.form(office.ana, "New agent")
        assert servers.asked == [("plan", {"tea": "oolong"})]
        assert SAID in slack_text(filled)
        assert "⟨U+202E⟩" in json.dumps(filled, ensure_ascii=False)
        assert await stage.views.agents(GENERAL) == ()
        await office.ana.submits(filled, {"Goals": "Find one oolong"})
        await office.card(1)
        (agent,) = await stage.views.agents(GENERAL)
        assert (agent.name, agent.goals) == ("Plan a tasting", ("Find one oolong",))


@pytest.mark.slow
async def test_in_slack_a_slow_server_is_waited_for_and_a_refusal_keeps_what_was_typed(tmp_path: Path) -> None:
    servers = Servers(text=None, is_slow=True)
    async with slack(tmp_path, servers) as (office, stage):
        assert await types(office, "new prompt tea.plan") == ""
        asked = await office.form(office.ana, "From a prompt")
        answer = await office.ana.submits(asked, {"tea": "oolong"})
        assert "Asking tea for the text of Plan a tasting" in slack_text(answer.body)
        waiting = office.ana.view
        assert waiting
        servers.go.set()
        refused = await office.changed(office.ana, waiting)
        assert "The tool server tea is away⟨U+200B⟩." in slack_text(refused)
        servers.text = ORDER
        await office.ana.submits(refused)
        assert SAID in slack_text(await office.form(office.ana, "New agent"))
        assert servers.asked == 2 * [("plan", {"tea": "oolong"})]
        assert await stage.views.agents(GENERAL) == ()


async def test_in_slack_names_are_found_told_apart_and_explained(tmp_path: Path) -> None:
    servers = Servers()
    async with slack(tmp_path, servers) as (office, _):
        assert "Several servers have a prompt plan: write tea.plan or coffee.plan." in await types(
            office, "new prompt plan"
        )
        assert "The prompt wide of tea asks for 200 arguments" in await types(office, "new prompt tea.wide")
        assert "There is no prompt milk. There are: tea.plan, tea." in await types(office, "new prompt milk")
        assert await types(office, f'new prompt "tea.{ODD.name}"') == ""
        odd = await office.form(office.ana, "From a prompt")
        assert "It needs no arguments." in slack_text(odd)
        await office.ana.submits(odd)
        assert await office.form(office.ana, "New agent")
        assert servers.asked == [(ODD.name, {})]


async def test_in_slack_a_guest_gets_no_prompt_and_a_channel_without_one_says_so(tmp_path: Path) -> None:
    servers = Servers()
    async with slack(tmp_path, servers) as (office, stage):
        guest = office.team.person("U9", "eve", "guest")
        answer = await guest.types("/agent", "new prompt tea.plan", office.general)
        assert "you may not" in slack_text(answer.body)
        assert guest.view is None
        object.__setattr__(stage.views, "list_sources", tuple)
        assert "No tool server offers prompts" in await types(office, "new prompt")
    assert servers.asked == []


# Discord


@asynccontextmanager
async def discord_with(folder: Path, servers: Servers) -> AsyncIterator[tuple[Guild, Stage]]:
    async with Guild.opened() as guild, at_work_in(guild, ScriptedModel(WRITE), folder) as running:
        servers.offer(running.stage)
        yield guild, running.stage


def answer_to(sent: InteractionResult) -> discord.Message:
    """What only this person is answered, however late."""
    answers = [*([sent.response] if sent.response else []), *sent.followups]
    assert sent.ephemeral
    return answers[-1].message


@pytest.mark.slow
@pytest.mark.proves("mcp:prompts")
async def test_in_discord_a_prompt_becomes_a_form_that_people_change(tmp_path: Path) -> None:
    servers = Servers()
    async with discord_with(tmp_path, servers) as (guild, stage):
        ana = guild.person("ana")
        offered = await ana.autocomplete(guild.general, "agent new", "prompt", "tasting")
        assert offered == [{"name": "tea: Plan a tasting", "value": "tea.plan"}]
        asked = await ana.slash(guild.general, "agent new", prompt="tea.plan")
        assert "Plan one.⟨U+200B⟩" in str(asked.modal)
        sent = await submitted(ana, asked, {"tea": " oolong "})
        assert servers.asked == [("plan", {"tea": "oolong"})]
        told = answer_to(sent)
        assert SAID in text_of(told)
        assert await stage.views.agents(guild.scope) == ()
        form = await pressed(ana, told, "Open the form")
        await submitted(ana, form, {"goals": "Find one oolong"})
        (agent,) = await stage.views.agents(guild.scope)
        assert (agent.name, agent.goals) == ("Plan a tasting", ("Find one oolong",))


@pytest.mark.slow
async def test_in_discord_a_refusal_keeps_what_was_typed(tmp_path: Path) -> None:
    servers = Servers(text=None)
    async with discord_with(tmp_path, servers) as (guild, _):
        ana = guild.person("ana")
        asked = await ana.slash(guild.general, "agent new", prompt="tea.plan")
        told = answer_to(await submitted(ana, asked, {"tea": "oolong"}))
        assert "The tool server tea is away⟨U+200B⟩" in text_of(told)
        again = await pressed(ana, told, "New agent")
        assert "oolong" in str(again.modal)
        told = answer_to(await submitted(ana, again, {"tea": "x" * 2_001}))
        assert "tea: At most 2,000 characters." in text_of(told)
    assert len(servers.asked) == 1


@pytest.mark.slow
async def test_in_discord_a_prompt_that_cannot_be_asked_for_is_named(tmp_path: Path) -> None:
    servers = Servers()
    async with discord_with(tmp_path, servers) as (guild, _):
        ana = guild.person("ana")
        shown = await ana.slash(guild.general, "agent new", prompt="tea.seven")
        assert shown.modal is None
        assert shown.response
        said = "The prompt seven of tea asks for 7 arguments, more than a form here has room for."
        assert said in text_of(shown.response.message)
        offered = await ana.autocomplete(guild.general, "agent new", "prompt", "wide")
        assert offered == [{"name": "tea: wide (cannot be used)", "value": "tea.wide"}]
