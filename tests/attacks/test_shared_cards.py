"""Attacks on cards that several turns share, and on cards that are folded."""

from dataclasses import replace
from typing import Any

import pytest

from adapters.chat.background import BackgroundTasks
from adapters.chat.joined_cards import MAX_JOINED, JoinedCards
from adapters.chat.refusals import redraw_if_outdated
from adapters.chat.services import ChatServices
from adapters.screens.buttons import Button
from agent_core.errors import NotPossible
from agent_core.model.agent import Acting, Agent
from agent_core.model.command import Succeeded
from agent_core.model.decision import Approval, Approve
from agent_core.model.turn import Turn
from agent_core.service.housekeeping.inbound_log import InboundLog
from agent_core.service.reading.thread_turns import ThreadTurns
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import ANA, NOON, a_turn, an_agent, keep
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from tests.slack_messages import folded_message
from tests.wiring import actions_of

AGENT = an_agent(turns=200)
GRANT = Approval(ANA, NOON, Approve(times=5))
COVERED = Approval(ANA, NOON, Approve(under="lease", granted_at=NOON))
BY_POLICY = Approval(ANA, NOON, Approve(under="policy", granted_at=NOON))


def ended(number: int, address: str = "", approval: Approval = BY_POLICY, **changes: Any) -> Turn:
    turn = a_turn(AGENT, number=number, state="done", result=Succeeded("ok"), approvals=(approval,), shown_as=address)
    return replace(turn, **changes)


async def shown_in_order(cards: JoinedCards, first: int, last: int) -> list[list[int]]:
    """Show turns one after the other as a surface does; for each, the numbers of the lines that are folded with it."""
    folded = []
    for number in range(first, last + 1):
        turn = ended(number)
        place = await cards.place(AGENT, turn)
        folded.append([line.number for line in place.to_fold])
        cards.remember(AGENT, turn, place, place.address or f"t/{number}")
    return folded


async def test_the_card_before_is_folded_with_all_its_commands_while_the_next_one_fills() -> None:
    cards = JoinedCards(turns=ThreadTurns(TemporaryDatabase()))
    await keep(cards.turns.database, AGENT, ended(1, "t/1"))
    folded = await shown_in_order(cards, 2, 2 * MAX_JOINED)
    told = {(numbers[0], numbers[-1]) for numbers in folded if numbers}
    assert told == {(1, MAX_JOINED)}  # "50 commands under one decision: turns 1 to 50", each time


async def test_a_card_of_fifty_commands_is_never_folded_to_the_line_of_one() -> None:
    cards = JoinedCards(turns=ThreadTurns(TemporaryDatabase()))
    full = [ended(number, "t/1") for number in range(1, MAX_JOINED + 1)]
    more = [ended(number, f"t/{MAX_JOINED + 1}") for number in range(MAX_JOINED + 1, 2 * MAX_JOINED + 1)]
    await keep(cards.turns.database, AGENT, *full, *more)
    place = await cards.place(AGENT, ended(2 * MAX_JOINED + 1, approval=Approval(ANA, NOON, Approve())))
    assert [line.number for line in place.to_fold] == list(range(MAX_JOINED + 1, 2 * MAX_JOINED + 1))
    before = await cards.place(AGENT, ended(MAX_JOINED + 1, f"t/{MAX_JOINED + 1}"))
    said = folded_message(AGENT, before.to_fold).arguments["text"]
    assert "50 commands" in said, said


async def test_a_click_on_an_old_shared_card_does_not_hide_the_commands_that_ran_under_it() -> None:
    cards = JoinedCards(turns=ThreadTurns(TemporaryDatabase()))
    shared = [ended(number, "t/1") for number in range(1, 21)]
    once = Approval(ANA, NOON, Approve())
    later = [ended(number, f"t/{number}", once) for number in range(21, 81)]
    await keep(cards.turns.database, AGENT, *shared, *later)
    card = await cards.read_card(AGENT, shared[-1])
    assert (card.is_folded, [line.number for line in card.lines]) == (True, list(range(1, 21)))


async def test_a_click_on_an_old_card_of_one_command_leaves_it_folded() -> None:
    cards = JoinedCards(turns=ThreadTurns(TemporaryDatabase()))
    once = Approval(ANA, NOON, Approve())
    await keep(cards.turns.database, AGENT, *[ended(number, f"t/{number}", once) for number in range(1, 81)])
    assert (await cards.read_card(AGENT, ended(3, "t/3", once))).is_folded


async def test_a_click_on_an_outdated_button_does_not_fold_the_card_on_which_a_command_begins() -> None:
    """From the save of a covered command to the save of its start, its card's address is not recorded yet."""
    cards = JoinedCards(turns=ThreadTurns(TemporaryDatabase()))
    first = ended(1, "t/1", GRANT)
    begins = ended(2, approval=COVERED, state="approved", result=None)
    await keep(cards.turns.database, AGENT, first, begins)
    place = await cards.place(AGENT, begins)
    assert (place.address, [line.number for line in place.earlier]) == ("t/1", [1])
    cards.remember(AGENT, begins, place, place.address)  # the card t/1 now shows that turn 2 runs, with Stop
    card = await cards.read_card(AGENT, first)  # a click on a button of turn 1 that was decided
    assert (card.is_folded, card.newest.number) == (False, 2)


async def test_a_shared_card_whose_newest_turn_ends_while_it_is_redrawn_is_drawn_as_it_is_then() -> None:
    """As `test_refusals` shows for the clicked turn; but a shared card shows another, which changes."""
    stage = Stage(model=ScriptedModel(waits=True))
    agent = an_agent(turns=2, status=Acting())
    runs = ended(2, "t/1", COVERED, state="running", result=None)
    await keep(stage.database, agent, ended(1, "t/1", GRANT), runs)
    context = ChatServices(
        actions=actions_of(stage),
        service=stage.service,
        views=stage.views,
        drafting=stage.drafting,
        uploads=stage.uploads,
        tour=stage.tour,
        inbound_log=InboundLog(stage.database, stage.clock),
        soon=BackgroundTasks(),
        clock=stage.clock,
    )
    cards, drawn = JoinedCards(turns=ThreadTurns(stage.database)), list[str]()

    async def draw(agent: Agent, turn: Turn) -> None:
        shown = (await cards.read_card(agent, turn)).newest
        if not drawn:  # the command ends, and the loop shows that, before this older state arrives
            async with stage.database.begin() as work:
                present = await work.turns.get(agent.channel, runs.id)
                work.turns.save(replace(present, state="done", result=Succeeded("ok")))
                await work.commit()
        drawn.append(shown.state)

    with pytest.raises(NotPossible):
        async with redraw_if_outdated(Button("approve", ended(1).id), stage.origin(), context, draw):
            raise NotPossible("already approved")
    await context.soon.close()
    assert drawn == ["running", "done"]
