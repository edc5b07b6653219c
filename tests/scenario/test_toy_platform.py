"""A platform is a small folder: the toy platform plays the story of a working day as Slack and Discord do."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from adapters.chat.joined_cards import JoinedCards
from adapters.chat.services import ChatServices
from adapters.chat.standing import StandingLines
from adapters.screens.buttons import Button
from agent_core.model.agent import Agent
from agent_core.providers.clock import SystemClock
from agent_core.service.housekeeping.inbound_log import InboundLog
from agent_core.service.reading.thread_turns import ThreadTurns
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import CHANNEL
from agent_core.testing.files import InMemoryWorkspaces
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from tests.architecture.size import code_lines
from tests.scenario.chat import Story
from tests.toy_platform.draw import ToyForm, ToyMessage
from tests.toy_platform.receive import ToyListener
from tests.toy_platform.surface import Board, ToySurface
from tests.wiring import actions_of

TOY = Path(__file__).parents[1] / "toy_platform"


@dataclass(frozen=True, slots=True)
class ToyCard:
    """A card on the board."""

    chat: "ToyChat"
    message: ToyMessage

    @property
    def text(self) -> str:
        return self.message.text

    async def press(self, label: str, **filled: str) -> None:
        form = await self.chat.listener.on_press(self.message.buttons[label], self.chat.stage.origin())
        if form:
            sent = dict(zip(form.fields, filled.values(), strict=True))
            await self.chat.listener.on_form(form, sent, self.chat.stage.origin())


@dataclass(slots=True)
class ToyChat:
    """Ana at the board."""

    stage: Stage
    board: Board
    listener: ToyListener
    seen: set[str] = field(default_factory=set)

    async def new_agent(self, name: str, role: str, /, *goals: str) -> None:
        form = await self.listener.on_slash("new", self.stage.origin())
        assert isinstance(form, ToyForm)
        filled = {"name": name, "role": role, "goals": "\n".join(goals), "free": ""}
        await self.listener.on_form(form, filled, self.stage.origin())

    async def asks(self, command: str, /) -> ToyCard:
        await self.board.until(lambda: bool(self._open(command)))
        message = self._open(command)[0]
        self.seen.add(message.buttons["Approve"])
        return ToyCard(self, message)

    async def says(self, text: str) -> None:
        cards = [Button.parse(each.buttons["Approve"]) for each in self._posts() if "Approve" in each.buttons]
        shown = [card.shown for card in cards]
        await self.listener.on_line(await self._agent(), text, self.stage.origin(), shown)

    async def resume(self) -> None:
        button = next(each.buttons["Resume"] for each in reversed(self._posts()) if "Resume" in each.buttons)
        await self.listener.on_press(button, self.stage.origin())

    async def sees(self, text: str) -> bool:
        await self.board.until(lambda: any(text in each.text for each in self._posts()))
        return True

    async def file(self, path: str) -> str:
        return (await self.stage.views.file(CHANNEL, (await self._agent()).id, path)).decode()

    async def _agent(self) -> Agent:
        agent = await self.stage.views.find_by_name(CHANNEL, "Clerk")
        assert agent
        return agent

    def _posts(self) -> list[ToyMessage]:
        return [message for posts in self.board.threads.values() for message in posts]

    def _open(self, command: str) -> list[ToyMessage]:
        open_cards = [each for each in self._posts() if each.buttons.get("Approve", "") not in ("", *self.seen)]
        return [each for each in open_cards if f"· {command}" in each.text]


@pytest.mark.slow
async def test_the_story_of_a_working_day_on_a_platform_of_one_folder() -> None:
    clock, database, model = SystemClock(), TemporaryDatabase(), ScriptedModel(*Story().replies)
    workspaces = InMemoryWorkspaces(clock=clock)
    board = Board()
    surface = ToySurface(
        board=board,
        clock=clock,
        model=model,
        cards=JoinedCards(turns=ThreadTurns(database)),
        standing=StandingLines(workspaces),
    )
    stage = Stage(model=model, database=database, surface=surface, workspaces=workspaces, clock=clock)
    services = ChatServices(
        actions=actions_of(stage),
        service=stage.service,
        views=stage.views,
        drafting=stage.drafting,
        uploads=stage.uploads,
        tour=stage.tour,
        inbound_log=InboundLog(database, clock),
        soon=surface.soon,
        clock=clock,
    )
    listener = ToyListener(services)
    async with stage.run():
        await Story().play(ToyChat(stage, board, listener))
        shown = await listener.on_slash("show Clerk", stage.origin())
        assert isinstance(shown, ToyMessage)
        assert shown.text.startswith("Clerk\nkeeps notes\n- Write a report")
    await surface.soon.close()


def test_the_folder_of_a_platform_is_small() -> None:
    assert sum(code_lines(path.read_text(encoding="utf-8")) for path in TOY.glob("*.py")) <= 400
