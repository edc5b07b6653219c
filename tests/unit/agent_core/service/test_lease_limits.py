"""An Approve ×N with more than a number: until a time, for an amount, only for some classes."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from adapters.typed.form_values import parse_limits
from agent_core.errors import InvalidInput
from agent_core.model.decision import Approve, LeaseLimits
from agent_core.model.model_calls import Budget
from agent_core.oversight.evaluation import Allowed, Asks, Granters, evaluate
from agent_core.oversight.lease import grant
from agent_core.testing.examples import ANA, BEN, NOON, a_turn, an_agent
from tests.unit.agent_core.service.test_channel_policy import Team

TURN = a_turn(an_agent(), risks=("network",))


def test_limits_are_typed_behind_the_number() -> None:
    assert parse_limits("until 18:00 $2.50 only read network", NOON) == LeaseLimits(
        until=NOON + timedelta(hours=6), dollars=Decimal("2.50"), only=("read", "network")
    )
    assert parse_limits("until 9:30", NOON).until == NOON + timedelta(hours=21, minutes=30)  # tomorrow
    for wrong in ("until", "until noon", "$", "only", "only everything", "quickly"):
        with pytest.raises(InvalidInput):
            parse_limits(wrong, NOON)


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (LeaseLimits(until=NOON + timedelta(hours=1)), "its time ended at 13:00 UTC"),
        (LeaseLimits(dollars=Decimal(2)), "$2.00 are spent under it"),
        (LeaseLimits(only=("network",)), "write_file is of class read, which was not granted"),
    ],
)
@pytest.mark.proves("lease:limits")
def test_each_limit_ends_it_with_its_sentence(limits: LeaseLimits, why: str) -> None:
    lease = grant(5, TURN, by=BEN, at=NOON, limits=limits, spent=Decimal(1))
    agent = an_agent(lease=lease, budget=Budget(limit=Decimal(90), spent=Decimal("2.90")))
    granters = Granters(granter=BEN, lease=lease)
    assert isinstance(evaluate(agent, TURN, NOON, granters), Allowed)
    later, turn = NOON + timedelta(hours=1), TURN
    if limits.dollars:
        agent = replace(agent, budget=replace(agent.budget, spent=Decimal(3)))
    if limits.only:
        turn = replace(TURN, risks=("read",))
    assert evaluate(agent, turn, later, granters) == Asks(ends_lease=why)


@pytest.mark.parametrize(
    "limits", [LeaseLimits(until=NOON), LeaseLimits(dollars=Decimal(0)), LeaseLimits(only=("read",))]
)
def test_a_lease_that_would_cover_nothing_is_refused(limits: LeaseLimits) -> None:
    with pytest.raises(InvalidInput, match="Approve ×N"):
        grant(5, TURN, by=BEN, at=NOON, limits=limits)


@pytest.mark.slow
@pytest.mark.proves("lease:limits")
async def test_who_approves_more_sees_the_limits_on_the_card_and_in_the_log() -> None:
    team = Team()
    agent, turn = await team.opened()
    limits = LeaseLimits(until=team.stage.clock.now() + timedelta(hours=1), only=("write",))
    await team.decide(turn, ANA, Approve(times=5, limits=limits))
    await team.settled(agent)
    page = await team.stage.views.log.page(team.stage.origin())
    assert "×5 until 05 Jan 10:00 UTC · only write" in [row.entry.given for row in page.rows]
