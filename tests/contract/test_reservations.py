"""Money that calls reserve, on every database."""

import asyncio
from dataclasses import replace
from decimal import Decimal
from functools import partial

import pytest

from agent_core.errors import Conflict, OverBudget
from agent_core.model.agent import Agent
from agent_core.model.ids import AgentId, ReservationId
from agent_core.model.model_calls import FREE, Budget, Usage
from agent_core.model.origin import ChannelScope
from agent_core.model.records.reservation import Account, Funds, Reservation
from agent_core.ports.database import Database, UnitOfWork, in_one_unit, queue_in_one_unit
from agent_core.spending.budget_ledger import LONGEST_STEP, BudgetLedger, charge_account
from agent_core.testing.clock import FakeClock
from agent_core.testing.examples import CHANNEL, NOON, an_agent, keep

ADA = an_agent()
HELPER = an_agent(id=AgentId("agent-helper"), name="Helper", head=ADA.id, parent=ADA.id)
BOB = an_agent(id=AgentId("agent-bob"), name="Bob")
ELSEWHERE = Account(channel=ChannelScope("web", "local", "random"))
CENT = Decimal("0.01")


def a_reservation(number: int = 1, held: int = 5, account: Account | None = None, spent: int = 0) -> Reservation:
    """A reservation of so many cents, by the process "one"."""
    return Reservation(
        id=ReservationId(f"reservation-{number}"),
        account=account or Account.of(ADA),
        worker="one",
        kind="chat",
        model="m \\ \x00",
        spent=spent * CENT,
        held=held * CENT,
        since=NOON,
    )


async def limit(database: Database, cents: int | None, channel: ChannelScope = CHANNEL) -> None:
    amount = None if cents is None else cents * CENT
    await queue_in_one_unit(database, lambda work: work.budgets.set_limit(channel, amount))


async def take(database: Database, reservation: Reservation, cents: int = 5) -> None:
    """Save a reservation whose newest call may cost so many cents."""
    await queue_in_one_unit(database, lambda work: work.reservations.take(reservation, cents * CENT))


async def remove(database: Database, number: int, *, must_exist: bool) -> None:
    wanted = ReservationId(f"reservation-{number}")
    await queue_in_one_unit(database, lambda work: work.reservations.remove(wanted, must_exist=must_exist))


async def funds(database: Database, account: Account, without: int = 0) -> Funds:
    async with database.begin() as work:
        return await work.reservations.funds(account, without=ReservationId(f"reservation-{without}"))


def with_limit(agent: Agent, cents: int) -> Agent:
    return replace(agent, budget=Budget(limit=cents * CENT))


async def test_a_reservation_is_found_as_it_was_saved_last(database: Database) -> None:
    await keep(database, ADA)
    first, other = a_reservation(), a_reservation(2, account=Account(channel=CHANNEL))
    await take(database, first)
    await take(database, replace(first, spent=2 * CENT, held=Decimal("0.0000000011"), kind="repair", model="n"))
    await take(database, other)
    last = replace(first, spent=2 * CENT, held=Decimal("0.000000002"), kind="repair", model="n")
    async with database.begin() as work:
        assert await work.reservations.find(first.id) == last
        assert await work.reservations.find(ReservationId("none")) is None
        assert await work.reservations.of("one") == (last, other)
        assert await work.reservations.of("two") == ()
        assert await work.reservations.workers() == ("one",)


async def test_a_reservation_that_must_exist_conflicts_when_it_is_gone(database: Database) -> None:
    await keep(database, ADA)
    await take(database, a_reservation())
    await remove(database, 1, must_exist=True)
    await remove(database, 1, must_exist=False)
    with pytest.raises(Conflict):
        await remove(database, 1, must_exist=True)


async def test_what_others_reserve_of_each_budget_is_told(database: Database) -> None:
    ada = with_limit(ADA, 90)
    await keep(database, ada, HELPER, BOB)
    await limit(database, 95)
    await queue_in_one_unit(database, lambda work: work.budgets.add_spending(CHANNEL, CENT))
    await take(database, a_reservation(1, 10, spent=1))
    await take(database, a_reservation(2, 20, Account.of(HELPER)))
    await take(database, a_reservation(3, 30, Account.of(BOB)))
    await take(database, a_reservation(4, 40, ELSEWHERE))
    channel = Budget(limit=95 * CENT, spent=CENT)
    assert await funds(database, Account.of(HELPER), without=2) == Funds(
        agent=ada.budget, channel=channel, reserved_of_agent=11 * CENT, reserved_of_channel=41 * CENT
    )
    assert await funds(database, Account(channel=CHANNEL)) == Funds(channel=channel, reserved_of_channel=61 * CENT)
    gone = await funds(database, replace(Account.of(ADA), channel=ELSEWHERE.channel))
    assert gone == Funds(agent=Budget(limit=Decimal(0)), reserved_of_channel=40 * CENT)


@pytest.mark.parametrize("whose", ["The", "The channel's"])
async def test_what_a_budget_does_not_afford_is_refused_and_changes_nothing(database: Database, whose: str) -> None:
    await keep(database, with_limit(ADA, 20) if whose == "The" else ADA, HELPER)
    await limit(database, 20 if whose == "The channel's" else None)
    await take(database, a_reservation(1, 12))
    await take(database, a_reservation(2, 5, Account.of(HELPER), spent=2))
    why = rf"{whose} budget is reached: \$0\.03 of \$0\.20 is spent and the next call may cost \$0\.050\. Raise"
    with pytest.raises(OverBudget, match=why):
        await take(database, a_reservation(2, 6, Account.of(HELPER), spent=3))
    async with database.begin() as work:
        assert await work.reservations.find(ReservationId("reservation-2")) == a_reservation(
            2, 5, Account.of(HELPER), spent=2
        )
    await take(database, a_reservation(2, 6, Account.of(HELPER), spent=2))


async def test_a_helper_whose_root_agent_was_deleted_reserves_nothing_and_what_it_held_stays(
    database: Database,
) -> None:
    await keep(database, ADA, HELPER)
    await take(database, a_reservation(1, 5, Account.of(HELPER)))
    async with database.begin() as work:
        work.agents.remove(await work.agents.get(CHANNEL, ADA.id))
        await work.commit()
    with pytest.raises(OverBudget):
        await take(database, a_reservation(2, 5, Account.of(HELPER)))
    async with database.begin() as work:
        assert await work.reservations.of("one") == (a_reservation(1, 5, Account.of(HELPER)),)


async def test_charging_is_all_or_nothing(database: Database) -> None:
    await keep(database, ADA)
    await take(database, a_reservation())

    async def settle() -> None:
        async with database.begin() as work:
            await charge_account(work, Account.of(ADA), {"chat": Usage(cost=5 * CENT)})
            work.reservations.remove(ReservationId("reservation-1"), must_exist=True)
            await work.commit()

    await settle()
    with pytest.raises(Conflict):
        await settle()
    assert await funds(database, Account.of(ADA)) == Funds(agent=Budget(spent=5 * CENT), channel=Budget(spent=5 * CENT))


@pytest.mark.slow
async def test_what_is_reserved_and_what_is_spent_is_the_same_money_at_every_moment(database: Database) -> None:
    await keep(database, ADA)
    for number in range(1, 21):
        await take(database, a_reservation(number, 1))

    async def settle(number: int, work: UnitOfWork) -> None:
        await charge_account(work, Account.of(ADA), {"chat": Usage(cost=CENT)})
        work.reservations.remove(ReservationId(f"reservation-{number}"), must_exist=True)

    async def settle_all() -> None:
        for number in range(1, 21):
            await in_one_unit(database, partial(settle, number))

    async def watch() -> None:
        for _ in range(60):
            found = await funds(database, Account.of(ADA))
            assert found.channel.spent + found.reserved_of_channel == 20 * CENT
            assert found.agent.spent + found.reserved_of_agent == 20 * CENT

    await asyncio.gather(settle_all(), watch())
    assert (await funds(database, Account.of(ADA))).channel.spent == 20 * CENT


@pytest.mark.proves("budget:late")
async def test_money_that_a_late_commit_reserves_again_is_set_free_and_charged_once(database: Database) -> None:
    ledger = BudgetLedger(database, FakeClock(NOON), worker="one")
    await keep(database, agent := an_agent())
    account = Account.of(agent)
    await queue_in_one_unit(database, lambda work: work.budgets.set_limit(CHANNEL, CENT))
    tracker = ledger.tracker(account, Budget(), Budget(limit=CENT))
    async with tracker.reserve(CENT / 2, "m", "chat"):
        pass
    assert tracker.reservation
    settled = tracker.reservation.id
    assert settled
    await ledger.save_spending(account, tracker)
    late, open_call = a_reservation(account=account, held=1), a_reservation(number=2, account=account, held=0)
    for each in (replace(late, id=settled), open_call):
        await take(database, each, 1)
    await ledger.check_left()
    async with database.begin() as work:
        assert [each.id for each in await work.reservations.of("one")] == [open_call.id]
        assert (await work.budgets.of(CHANNEL)).spent == FREE
    assert (await funds(database, account)).reserved_of_channel == FREE


@pytest.mark.slow
@pytest.mark.proves("budget:killed")
async def test_what_a_process_reserved_that_ended_is_charged_once_no_step_can_last_so_long(database: Database) -> None:
    clock = FakeClock(NOON)
    ledgers = [BudgetLedger(database, clock, worker=name) for name in ("one", "two")]
    await take(database, a_reservation(account=Account(channel=CHANNEL), held=1), 1)
    await ledgers[0].check_left()
    assert (await funds(database, Account(channel=CHANNEL))).reserved_of_channel > FREE
    clock.advance(2 * LONGEST_STEP.total_seconds())
    await asyncio.gather(*(each.check_left() for each in ledgers))
    async with database.begin() as work:
        assert (await work.budgets.of(CHANNEL)).spent == CENT
    assert (await funds(database, Account(channel=CHANNEL))).reserved_of_channel == FREE
