"""Which turns share a card, which card is folded, and what a card shows that was drawn anew."""

from dataclasses import replace
from typing import Any

from adapters.chat.joined_cards import MAX_JOINED, CardPlace, JoinedCards
from adapters.screens.turn_lines import line_of, permission_of
from agent_core.model.command import Failed, Interrupted, Succeeded
from agent_core.model.decision import Approval, Approve, Reject
from agent_core.model.turn import Turn
from agent_core.service.reading.thread_turns import ThreadTurns
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import ANA, NOON, a_turn, an_agent, keep

AGENT = an_agent()
GRANT = Approval(ANA, NOON, Approve(times=50))
COVERED = Approval(ANA, NOON, Approve(under="lease", granted_at=NOON))
BY_POLICY = Approval(ANA, NOON, Approve(under="policy", granted_at=NOON))


def ended(number: int, approval: Approval = COVERED, address: str = "", **changes: Any) -> Turn:
    turn = a_turn(AGENT, number=number, state="done", result=Succeeded("ok"), approvals=(approval,), shown_as=address)
    return replace(turn, **changes)


def asked(number: int, **changes: Any) -> Turn:
    return a_turn(AGENT, number=number, **changes)


async def thread_of(*turns: Turn, folds: bool = True) -> JoinedCards:
    database = TemporaryDatabase()
    await keep(database, AGENT, *turns)
    return JoinedCards(turns=ThreadTurns(database), folds=folds)


def above(place: CardPlace) -> list[int]:
    return [line.number for line in place.earlier]


def folded(place: CardPlace) -> list[int]:
    return [line.number for line in place.to_fold]


async def test_a_covered_command_is_shown_on_the_card_of_the_one_that_was_approved() -> None:
    cards = await thread_of(ended(1, GRANT, "t/1"), ended(2, COVERED, "t/1"))
    place = await cards.place(AGENT, ended(3))
    assert (above(place), place.address, place.marked.number) == ([1, 2], "t/1", 1)


async def test_commands_that_run_by_policy_share_a_card_and_not_that_of_a_lease() -> None:
    cards = await thread_of(ended(1, GRANT, "t/1"), ended(2, BY_POLICY, "t/2"))
    place = await cards.place(AGENT, ended(3, BY_POLICY))
    assert (above(place), place.address, folded(place)) == ([2], "t/2", [])
    assert folded(await cards.place(AGENT, ended(2, BY_POLICY, "t/2"))) == [1]


async def test_an_interrupted_command_leaves_the_shared_card_and_asks_on_one_of_its_own() -> None:
    cards = await thread_of(ended(1, GRANT, "t/1"), ended(2, COVERED, "t/1"))
    broken = ended(3, COVERED, "t/1", state="interrupted", result=Interrupted())
    place = await cards.place(AGENT, broken)
    assert (place.address, above(place), place.marked.number) == ("", [], 3)
    assert [line.number for line in place.left] == [1, 2]  # so that it does not say there that it runs
    settled = ended(3, COVERED, "t/9")
    cards.remember(AGENT, broken, place, "t/9")
    place = await cards.place(AGENT, settled)
    assert (place.address, above(place)) == ("t/9", [])
    cards.remember(AGENT, settled, place, "t/9")
    assert above(await cards.place(AGENT, ended(4))) == [3]


async def test_a_card_takes_no_more_turns_than_a_lease_has_and_the_next_begins_another() -> None:
    full = [ended(number, BY_POLICY, "t/1") for number in range(1, MAX_JOINED + 1)]
    cards = await thread_of(*full)
    place = await cards.place(AGENT, ended(MAX_JOINED + 1, BY_POLICY))
    assert (place.address, above(place)) == ("", [])
    cards.remember(AGENT, ended(MAX_JOINED + 1, BY_POLICY), place, "t/2")
    place = await cards.place(AGENT, ended(MAX_JOINED + 2, BY_POLICY))
    assert (place.address, above(place)) == ("t/2", [MAX_JOINED + 1])


async def test_a_proposal_folds_nothing_and_its_decision_folds_the_card_before_it() -> None:
    cards = await thread_of(ended(1, GRANT, "t/1"), ended(2, COVERED, "t/1"), asked(3))
    assert folded(await cards.place(AGENT, asked(3))) == []
    rejected = replace(asked(3, shown_as="t/3"), state="rejected", approvals=(Approval(ANA, NOON, Reject("no")),))
    assert folded(await cards.place(AGENT, rejected)) == [1, 2]


async def test_with_folding_off_cards_stay_as_they_are() -> None:
    cards = await thread_of(ended(1, Approval(ANA, NOON, Approve()), "t/1"), folds=False)
    decided = ended(2, Approval(ANA, NOON, Approve()), "t/2")
    assert folded(await cards.place(AGENT, decided)) == []


async def test_a_card_drawn_anew_shows_the_newest_turn_on_it_and_all_others() -> None:
    cards = await thread_of(ended(1, GRANT, "t/1"), ended(2, COVERED, "t/1"), ended(3, COVERED, "t/1"))
    card = await cards.read_card(AGENT, ended(1, GRANT, "t/1"))
    assert (card.newest.number, above(card.place), card.is_folded) == (3, [1, 2], False)


async def test_a_folded_card_stays_folded_when_it_is_drawn_anew() -> None:
    once = Approval(ANA, NOON, Approve())
    cards = await thread_of(ended(1, once, "t/1"), ended(2, once, "t/2"), asked(3, shown_as="t/3"))
    first = await cards.read_card(AGENT, ended(1, once, "t/1"))
    assert (first.is_folded, [line.number for line in first.lines]) == (True, [1])
    assert not (await cards.read_card(AGENT, ended(2, once, "t/2"))).is_folded


async def test_what_another_process_has_shown_is_read_again() -> None:
    database = TemporaryDatabase()
    await keep(database, AGENT, ended(1, GRANT, "t/1"))
    cards = JoinedCards(turns=ThreadTurns(database))
    assert above(await cards.place(AGENT, ended(2))) == [1]
    await keep(database, ended(2, COVERED, "t/1"), ended(3, COVERED, "t/1"))
    cards.forget(AGENT)
    assert above(await cards.place(AGENT, ended(4))) == [1, 2, 3]


def test_a_single_approval_lets_nothing_else_run() -> None:
    assert permission_of(ended(1, Approval(ANA, NOON, Approve()))) == ""
    assert permission_of(asked(1)) == ""
    assert permission_of(ended(1, GRANT)) == permission_of(ended(2, COVERED)) != ""


def test_a_line_names_what_failed_and_shows_no_invisible_character() -> None:
    line = line_of(ended(7, result=Failed("no such file: a\u202eb.md\nsecond line")))
    assert line.signed_text.startswith("✗ 7 write_file poem.txt · Error: no such file: a⟨U+202E⟩b.md")
    assert "\n" not in line.text


async def test_a_turn_that_is_shown_late_takes_nothing_off_its_card_and_unfolds_none() -> None:
    cards = await thread_of(ended(1, GRANT, "t/1"), ended(2, COVERED, "t/1"), asked(3, shown_as="t/3"))
    assert above((await cards.card(AGENT, ended(2, COVERED, "t/1"))).place) == [1]
    runs = ended(3, COVERED, state="running", result=None)
    cards = await thread_of(ended(1, GRANT, "t/1"), ended(2, COVERED, "t/1"), runs)
    cards.remember(AGENT, runs, await cards.place(AGENT, runs), "t/1")
    late = await cards.card(AGENT, ended(2, COVERED, "t/1"))
    assert (late.newest, above(late.place), late.place.address) == (runs, [1, 2], "t/1")
    once = Approval(ANA, NOON, Approve())
    cards = await thread_of(ended(1, GRANT, "t/1"), ended(2, once, "t/2"), ended(3, once, "t/3"))
    assert (await cards.card(AGENT, ended(1, GRANT, "t/1"))).is_folded


async def test_the_next_turn_stands_below_how_the_one_before_it_ended_although_that_was_not_shown_in_time() -> None:
    running = ended(2, COVERED, "t/1", state="running", result=None)
    cards = await thread_of(ended(1, GRANT, "t/1"), running)
    assert (await cards.place(AGENT, ended(3))).earlier[1] == line_of(running)
    await cards.card(AGENT, ended(2, COVERED, "t/1"))  # which the platform is too busy for
    assert (await cards.place(AGENT, ended(3))).earlier[1] == line_of(ended(2, COVERED, "t/1"))


async def test_a_turn_that_is_shown_late_leaves_a_newer_one_out_about_which_people_are_asked() -> None:
    broken = ended(3, COVERED, "t/1", state="interrupted", result=Interrupted())
    cards = await thread_of(ended(1, GRANT, "t/1"), ended(2, COVERED, "t/1"), broken)
    late = await cards.card(AGENT, ended(2, COVERED, "t/1"))
    assert (late.newest.number, late.place.address) == (2, "t/1")


async def test_a_turn_that_was_not_recorded_as_shown_is_on_the_card_of_those_around_it() -> None:
    cards = await thread_of(ended(1, GRANT, "t/1"), ended(2), ended(3), ended(4, COVERED, "t/1"), ended(5))
    card = await cards.card(AGENT, ended(2))
    assert (card.newest.number, above(card.place), card.place.address) == (5, [1, 2, 3, 4], "t/1")
