"""What channels may spend and have spent, on every database."""

import asyncio
from decimal import Decimal

import pytest

from agent_core.model.model_calls import Budget
from agent_core.model.origin import ChannelScope
from agent_core.ports.database import Database
from agent_core.testing.examples import CHANNEL

ELSEWHERE = ChannelScope("web", "local", "random/%")
ANOTHER = ChannelScope("web", "other", "general")


async def limit(database: Database, amount: str | None, channel: ChannelScope = CHANNEL) -> None:
    async with database.begin() as work:
        work.budgets.set_limit(channel, None if amount is None else Decimal(amount))
        await work.commit()


async def spend(database: Database, *costs: str, channel: ChannelScope = CHANNEL) -> None:
    async with database.begin() as work:
        for cost in costs:
            work.budgets.add_spending(channel, Decimal(cost))
        await work.commit()


async def budget(database: Database, channel: ChannelScope = CHANNEL) -> Budget:
    async with database.begin() as work:
        return await work.budgets.of(channel)


def a_budget(allowed: str | None, spent: str) -> Budget:
    return Budget(limit=None if allowed is None else Decimal(allowed), spent=Decimal(spent))


async def test_a_channel_has_no_limit_at_first_and_has_spent_nothing(database: Database) -> None:
    assert await budget(database) == Budget()


async def test_what_is_spent_adds_up_exactly(database: Database) -> None:
    await spend(database, "0.1", "0.2", "0.000000001", "1E-7")
    await spend(database, "12345.678901234")
    assert await budget(database) == a_budget(None, "12345.978901335")


async def test_less_than_can_be_kept_is_rounded_up(database: Database) -> None:
    await spend(database, "0.0000000011", "1E-20")
    assert await budget(database) == a_budget(None, "0.000000003")


async def test_a_limit_is_set_changed_and_lifted_whatever_was_spent(database: Database) -> None:
    await limit(database, "2.50")
    assert await budget(database) == a_budget("2.50", "0")
    await spend(database, "1")
    await limit(database, "0")
    assert await budget(database) == a_budget("0", "1")
    await limit(database, None)
    await spend(database, "1")
    assert await budget(database) == a_budget(None, "2")


async def test_a_limit_and_what_is_spent_in_one_unit_are_both_kept(database: Database) -> None:
    async with database.begin() as work:
        work.budgets.set_limit(CHANNEL, Decimal(9))
        work.budgets.add_spending(CHANNEL, Decimal(1))
        work.budgets.set_limit(CHANNEL, Decimal(5))
        work.budgets.add_spending(CHANNEL, Decimal(2))
        assert await work.budgets.of(CHANNEL) == Budget()
        await work.commit()
    assert await budget(database) == a_budget("5", "3")


async def test_the_estimated_part_of_what_is_spent_adds_up_and_stays_when_the_limit_changes(database: Database) -> None:
    async with database.begin() as work:
        work.budgets.add_spending(CHANNEL, Decimal("0.5"), Decimal("0.2"))
        work.budgets.add_spending(CHANNEL, Decimal("0.3"), Decimal("0.0000000001"))
        await work.commit()
    await limit(database, "5")
    await spend(database, "1")
    assert await budget(database) == Budget(limit=Decimal(5), spent=Decimal("1.8"), estimated=Decimal("0.200000001"))


async def test_what_many_spend_at_once_is_not_lost(database: Database) -> None:
    async with asyncio.TaskGroup() as tasks:
        for number in range(20):
            tasks.create_task(spend(database, "0.01", "0.02"))
            if number % 5 == 0:
                tasks.create_task(limit(database, "7"))
    assert await budget(database) == a_budget("7", "0.6")


async def test_units_that_overlap_both_count(database: Database) -> None:
    async with database.begin() as first, database.begin() as second:
        assert await first.budgets.of(CHANNEL) == await second.budgets.of(CHANNEL) == Budget()
        first.budgets.add_spending(CHANNEL, Decimal(1))
        second.budgets.add_spending(CHANNEL, Decimal(2))
        await first.commit()
        await second.commit()
    assert await budget(database) == a_budget(None, "3")


async def test_a_channel_spends_its_own(database: Database) -> None:
    await limit(database, "5")
    await spend(database, "1")
    await limit(database, "7", ELSEWHERE)
    await spend(database, "2", channel=ANOTHER)
    assert await budget(database) == a_budget("5", "1")
    assert await budget(database, ELSEWHERE) == a_budget("7", "0")
    assert await budget(database, ANOTHER) == a_budget(None, "2")


async def test_the_largest_amount_comes_back(database: Database) -> None:
    await limit(database, "9223372036.854775807")
    assert await budget(database) == a_budget("9223372036.854775807", "0")


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "1E+30", "9223372036.854775808"])
async def test_what_is_no_amount_is_refused_before_the_commit(database: Database, amount: str) -> None:
    async with database.begin() as work:
        with pytest.raises(ValueError, match="cannot be stored"):
            work.budgets.set_limit(CHANNEL, Decimal(amount))
        with pytest.raises(ValueError, match="cannot be stored"):
            work.budgets.add_spending(CHANNEL, Decimal(amount))
