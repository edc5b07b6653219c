"""A commit that was given up for lost may take effect later: it ends no newer claim, and leaves no money reserved."""

from dataclasses import replace

import pytest

from agent_core.errors import Conflict, Superseded
from agent_core.model.ids import WorkerId
from agent_core.model.reservation import Account
from agent_core.model.usage import FREE, Budget
from agent_core.ports.database import Database, queue_in_one_unit
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.testing.clock import FakeClock
from agent_core.testing.examples import CHANNEL, keep
from tests.contract.test_reservations import CENT, a_reservation, funds, take
from tests.contract.test_workers import ADA, BEE, Team


@pytest.fixture
async def team(database: Database) -> Team:
    await keep(database, ADA)
    await keep(database, BEE)
    return Team(database)


async def end_claim(team: Team, worker: WorkerId | None, fence: int) -> None:
    assert worker
    await queue_in_one_unit(team.database, lambda work: work.workers.unclaim(ADA.id, worker, fence))


@pytest.mark.proves("workers:late")
async def test_the_late_end_of_a_claim_ends_no_later_claim(team: Team) -> None:
    worker, other = team.worker(), team.worker()
    before = await worker.take(ADA.id)
    await team.give_up(worker, ADA)
    after = await worker.take(ADA.id)
    await end_claim(team, worker.worker_id, before.fence)
    with pytest.raises(Superseded):
        await other.take(ADA.id)
    await end_claim(team, worker.worker_id, after.fence)
    assert (await other.take(ADA.id)).fence == after.fence + 1


@pytest.mark.proves("workers:late")
async def test_a_claim_whose_answer_was_lost_is_taken_anew_and_can_be_given_up(team: Team) -> None:
    worker, other = team.worker(), team.worker()
    await worker.take(ADA.id)
    worker.forget(ADA.id)
    taken = await worker.take(ADA.id)
    await end_claim(team, worker.worker_id, taken.fence - 1)
    with pytest.raises(Superseded):
        await other.take(ADA.id)
    await team.give_up(worker, ADA)
    assert (await other.take(ADA.id)).fence == taken.fence + 1


async def test_a_claim_of_another_worker_is_not_renewed(team: Team) -> None:
    first, second = team.worker(), team.worker()
    await first.take(ADA.id)
    await second.take(BEE.id)
    mine = second.worker_id
    assert mine
    with pytest.raises(Conflict):
        await queue_in_one_unit(team.database, lambda work: work.workers.renew_claim(ADA.id, mine, 7))


async def test_strays_are_given_up_with_the_fence_of_their_claim(team: Team) -> None:
    worker, other = team.worker(), team.worker()
    taken = await worker.take(ADA.id)
    async with team.database.begin() as work:
        assert worker.worker_id
        assert await work.workers.list_claimed(worker.worker_id) == {ADA.id: taken.fence}
    worker.forget(ADA.id)
    await team.pass_time(20, worker)
    assert (await other.take(ADA.id)).fence == taken.fence + 1


@pytest.mark.proves("budget:late")
async def test_money_that_a_late_commit_reserves_again_is_set_free_and_charged_once(team: Team) -> None:
    database = team.database
    ledger = BudgetLedger(database, FakeClock(), worker="one")
    account = Account.of(ADA)
    await queue_in_one_unit(database, lambda work: work.budgets.set_limit(CHANNEL, CENT))
    tracker = ledger.tracker(account, Budget(), Budget(limit=CENT))
    async with tracker.reserve(CENT / 2, "m", "chat"):
        pass
    reservation = tracker.reservation
    assert reservation
    settled = reservation.id
    assert settled
    await ledger.save_spending(account, tracker)
    late, open_call = a_reservation(account=account, held=1), a_reservation(number=2, account=account, held=0)
    for each in (replace(late, id=settled), open_call):
        await take(database, each, 1)
    await ledger.check_left({"one"})
    async with database.begin() as work:
        assert [each.id for each in await work.reservations.of("one")] == [open_call.id]
        assert (await work.budgets.of(CHANNEL)).spent == FREE
    assert (await funds(database, account)).reserved_of_channel == FREE
