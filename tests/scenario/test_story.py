"""The story of a working day, played on every surface."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.terminal.surface import TerminalSurface
from agent_core.testing.model import ScriptedModel
from agent_core.testing.stage import Stage
from tests.scenario.chat import Chat, Story
from tests.scenario.core import CoreChat
from tests.scenario.desk import DeskChat
from tests.scenario.guild import Guild
from tests.scenario.guild import at_work as at_work_in
from tests.scenario.member import GuildChat
from tests.scenario.office import Office, Transport, at_work
from tests.scenario.page import PageChat
from tests.scenario.served import served
from tests.scenario.team import SlackChat


@pytest.fixture(params=["core", "web", "terminal", "slack-http", "slack-socket", "discord"])
async def ana(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Chat]:
    """Ana at each of the surfaces."""
    model = ScriptedModel(*Story().replies)
    if request.param == "core":
        stage = Stage(model=model)
        async with stage.run():
            yield CoreChat(stage)
    elif request.param == "terminal":
        async with DeskChat.opened(Stage(model=model, surface=TerminalSurface())) as chat:
            yield chat
    elif request.param.startswith("slack"):
        transport: Transport = "http" if request.param == "slack-http" else "socket"
        async with Office.opened() as office, at_work(office, model, tmp_path, transport=transport) as running:
            yield SlackChat(office, running, office.ana)
    elif request.param == "discord":
        async with Guild.opened() as guild, at_work_in(guild, model, tmp_path) as there:
            yield GuildChat(guild, there, guild.person("ana"))
    else:
        async with served(model, tmp_path) as address, PageChat.opened(address, "ana") as chat:
            yield chat


@pytest.mark.proves("story:surfaces")
async def test_an_agent_works_from_form_to_finished_goal(ana: Chat) -> None:
    await Story().play(ana)
