"""A person minds an agent: its plan is reviewed, its goals, budget and memory are changed. On every surface."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

import pytest

from adapters.terminal.surface import TerminalSurface
from agent_core.testing.model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from tests.scenario.chat import Chat, writing
from tests.scenario.core import CoreChat
from tests.scenario.desk import DeskChat
from tests.scenario.office import Office, Transport, at_work
from tests.scenario.page import PageChat
from tests.scenario.served import served
from tests.scenario.team import SlackChat

REPLIES = (
    writing("notes.md", "one\n"),
    "Nobody asked for notes, and the report is what counts.",
    reply_text("task_complete", {"reason": "All is served."}),
)


class Minding(Chat, Protocol):
    """A chat in which a person is answered alone."""

    async def told(self, text: str) -> bool:
        """Wait until the person is told this."""
        ...


@pytest.fixture(params=["core", "web", "terminal", "slack-http", "slack-socket"])
async def ana(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Minding]:
    """Ana at each of the surfaces."""
    model = ScriptedModel(*REPLIES)
    if request.param == "core":
        stage = Stage(model=model)
        async with stage.run():
            yield CoreChat(stage)
    elif request.param == "terminal":
        async with DeskChat.opened(Stage(model=model, surface=TerminalSurface())) as chat:
            yield chat
    elif request.param == "web":
        async with served(model, tmp_path) as address, PageChat.opened(address, "ana") as chat:
            yield chat
    else:
        transport: Transport = "http" if request.param == "slack-http" else "socket"
        async with Office.opened() as office, at_work(office, model, tmp_path, transport=transport) as running:
            yield SlackChat(office, running, office.ana)


async def test_a_person_has_a_step_reviewed_changes_goals_and_budget_and_searches_memory(ana: Minding) -> None:
    await ana.new_agent("Clerk", "keeps notes", "Write a report")
    card = await ana.asks("write_to_file")
    await card.press("Self-review")
    assert await ana.sees("Nobody asked for notes")
    await ana.says("!goals Write the report; Serve tea")
    assert await ana.told("2. Serve tea")
    await ana.says("!budget 5")
    assert await ana.told("of $5.00")
    await ana.says("!memory add Tea is served at four")
    assert await ana.told("Clerk remembers this.")
    await ana.says("!memory search when is tea served")
    assert await ana.told("• Tea is served at four ·")
    await card.press("Approve")
    await (await ana.asks("task_complete")).press("Approve")
    assert await ana.sees("Clerk is done: All is served.")
    assert await ana.file("notes.md") == "one\n"
