"""Edits of cards: those under one approval are joined, and one that the platform refuses is tried once."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from adapters.chat.background import BackgroundTasks
from adapters.chat.card_edits import CardEdits, JoinedEdit
from adapters.chat.joined_cards import CardContent, CardPlace
from adapters.screens.turn_lines import line_of
from agent_core.errors import SurfaceBusy, SurfaceError, ThreadGone
from agent_core.model.agent import Agent
from agent_core.model.note import Notice
from agent_core.testing.clock import FakeClock
from agent_core.testing.examples import a_turn, an_agent

AGENT = an_agent()
LINE = line_of(a_turn(AGENT, number=1))
SHARED = CardContent(
    lines=(),
    newest=a_turn(AGENT, number=2, state="running"),
    place=CardPlace(earlier=(LINE,), address="t/1", marked=LINE),
    is_folded=False,
)


@dataclass(slots=True)
class Desk:
    """Edits on a clock that the test moves; `faults` befall the next ones."""

    clock: FakeClock = field(default_factory=FakeClock)
    sent: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    faults: list[SurfaceError] = field(default_factory=list)
    edits: CardEdits = field(init=False)

    def __post_init__(self) -> None:
        self.edits = CardEdits(post=self._post, soon=BackgroundTasks(), clock=self.clock)

    async def _post(self, _agent: Agent, notice: Notice) -> None:
        self.told.append(notice.text)

    def edit(self, text: str) -> Callable[[], Awaitable[bool]]:
        async def edit() -> bool:
            if self.faults:
                raise self.faults.pop()
            self.sent.append(text)
            return True

        return edit

    async def show(self, text: str, key: str = "card", agent: Agent = AGENT) -> bool:
        return await self.edits.is_settled(key, SHARED, JoinedEdit(agent, self.edit(text), text.encode()))

    async def wait(self, text: str, key: str = "card", agent: Agent = AGENT) -> None:
        """Show it and find that it is joined with a later edit."""
        with pytest.raises(SurfaceBusy):
            await self.show(text, key, agent)

    async def pass_a_second(self) -> None:
        await self.clock.until_sleeping()
        self.clock.advance(1)
        await self.clock.until_sleeping()


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.mark.proves("chat:joined-edits")
async def test_of_many_changes_of_a_shared_card_within_a_second_the_first_and_the_last_are_sent(desk: Desk) -> None:
    await desk.show("1 of 9")
    for number in range(2, 10):
        await desk.wait(f"{number} of 9")
    await desk.pass_a_second()
    assert desk.sent == ["1 of 9", "9 of 9"]
    assert await desk.show("9 of 9")
    assert desk.sent == ["1 of 9", "9 of 9"]


async def test_cards_of_one_channel_take_turns_and_another_channel_waits_for_none(desk: Desk) -> None:
    await desk.show("a1", "a")
    await desk.wait("b1", "b")
    await desk.wait("c1", "c")
    await desk.wait("b2", "b")
    await desk.show("elsewhere", "d", an_agent(channel="C2"))
    assert desk.sent == ["a1", "elsewhere"]
    await desk.pass_a_second()
    assert desk.sent == ["a1", "elsewhere", "b2"]
    await desk.pass_a_second()
    assert desk.sent == ["a1", "elsewhere", "b2", "c1"]


async def test_an_edit_that_waits_never_overwrites_a_newer_one(desk: Desk) -> None:
    await desk.show("1")
    await desk.wait("2")
    await desk.edits.attempt(AGENT, "card", desk.edit("folded"))
    await desk.edits.soon.close()
    assert desk.sent == ["1", "folded"]


async def test_before_people_are_asked_the_card_above_is_brought_up_to_date(desk: Desk) -> None:
    await desk.show("1")
    await desk.wait("2")
    await desk.edits.send_waiting_of(AGENT)
    assert desk.sent == ["1", "2"]


async def test_what_waits_is_sent_when_the_process_closes(desk: Desk) -> None:
    await desk.show("1")
    await desk.wait("2")
    await desk.edits.soon.close()
    assert desk.sent == ["1", "2"]


@pytest.mark.proves("card:refused")
async def test_a_message_that_cannot_be_edited_is_tried_once_and_the_thread_is_told_once(desk: Desk) -> None:
    desk.faults.extend([SurfaceError("Slack refused: edit_window_closed."), SurfaceError("Slack refused: is_odd.")])
    outcomes = [await desk.edits.attempt(AGENT, key, desk.edit(key)) for key in ("root", "card", "root", "card")]
    await desk.edits.soon.close()
    assert (outcomes, desk.sent) == (["refused"] * 4, [])
    assert desk.told == [
        "Slack refused: is_odd: a message in this thread could not be changed and may be out of date. "
        "What was posted last holds."
    ]


@pytest.mark.parametrize("fault", [SurfaceBusy("busy"), ThreadGone("The thread was deleted.")])
async def test_a_busy_platform_and_a_lost_thread_are_no_refusals(desk: Desk, fault: SurfaceError) -> None:
    desk.faults.append(fault)
    with pytest.raises(type(fault)):
        await desk.edits.attempt(AGENT, "card", desk.edit("1"))
    assert await desk.edits.attempt(AGENT, "card", desk.edit("1")) == "shown"
