"""An Approve ×N with more than a number: until a time, for an amount, only for some classes."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from adapters.typed.form_values import parse_limits
from adapters.typed.standing_rules import parse_rule
from agent_core.errors import InvalidInput
from agent_core.model.agent import Agent
from agent_core.model.decision import NO_LIMITS, Approve, LeaseLimits, Policy, Reject
from agent_core.model.model_calls import Budget, Message, Reply
from agent_core.model.origin import Actor
from agent_core.oversight.evaluation import Allowed, Asks, Granters, evaluate
from agent_core.oversight.lease import grant
from agent_core.ports.models import CallOptions
from agent_core.testing.examples import ANA, BEN, NOON, a_turn, an_agent
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from tests.unit.agent_core.service.test_channel_policy import Team

TURN = a_turn(an_agent(), risks=("network",))


def test_limits_are_typed_behind_the_number() -> None:
    assert parse_limits("until 18:00 $2.50 only read network", NOON) == LeaseLimits(
        until=NOON + timedelta(hours=6), dollars=Decimal("2.50"), only=("read", "network")
    )
    assert parse_limits("until 9:30", NOON).until == NOON + timedelta(hours=21, minutes=30)  # tomorrow
    for wrong in ("until", "until noon", "until 11:59", "until 18:00+02:00", "$", "only", "only everything", "quickly"):
        with pytest.raises(InvalidInput):
            parse_limits(wrong, NOON)


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (LeaseLimits(until=NOON + timedelta(hours=1)), "its time ended at 13:00 UTC"),
        (LeaseLimits(dollars=Decimal(2)), "$2.00 are spent under it"),
        (LeaseLimits(only=("network",)), "it does not include reads (write_file)"),
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


class Draining(ScriptedModel):
    """The process is asked to end during the second reply, so that its command is allowed, and does not start."""

    stage: Stage

    async def complete(self, messages: Sequence[Message], options: CallOptions) -> Reply:
        reply = await super().complete(messages, options)
        self.stage.loop.draining.is_requested = len(self.prompts) == 2
        return reply


async def left_unstarted(limits: LeaseLimits = NO_LIMITS, rule: str = "") -> tuple[Stage, Agent]:
    """An agent whose second command was allowed, by a lease or by a rule of Ben's, and has not started."""
    model = Draining(*(writing(number) for number in range(4)))
    model.stage = stage = Stage(model=model)
    agent = await stage.create()
    if rule:
        await stage.rules.make(agent.id, parse_rule(rule), stage.origin(BEN))
    await stage.decide(agent, Approve() if rule else Approve(times=20, limits=limits))
    agent = await stage.wait_until_settled(agent)
    assert (await stage.turn(agent)).state == "approved"
    stage.loop.draining.is_requested = False
    return stage, agent


def writing(number: int) -> str:
    return reply_text("write_to_file", {"filename": f"{number}.txt", "text": f"{number}"})


async def files_after(stage: Stage, agent: Agent) -> list[str]:
    await stage.wait_until_settled(agent)
    return [each.path for each in await stage.workspaces.of(agent).list_files()]


@pytest.mark.proves("lease:start")
async def test_a_limit_holds_at_the_start_too() -> None:
    stage, agent = await left_unstarted(LeaseLimits(until=Stage().clock.now() + timedelta(hours=1)))
    stage.fake_clock.advance(12 * 3600)
    assert await files_after(stage, agent) == ["0.txt"]


@pytest.mark.proves("lease:granter")
@pytest.mark.parametrize(("rule", "who"), [("", ANA), ("allow write_to_file filename in *.txt", BEN)])
async def test_who_allowed_it_is_asked_of_the_platform_again_before_the_start(rule: str, who: Actor) -> None:
    stage, agent = await left_unstarted(rule=rule)
    stage.shown.people[who.id] = replace(who, kind="guest")
    assert await files_after(stage, agent) == ["0.txt"]


@pytest.mark.proves("lease:limits")
async def test_the_call_that_reaches_the_amount_counts() -> None:
    stage = Stage(model=ScriptedModel(*map(writing, range(6)), cost=Decimal(1)))
    agent = await stage.create()
    await stage.decide(agent, Approve(times=20, limits=LeaseLimits(dollars=Decimal("1.50"))))
    assert await files_after(stage, agent) == ["0.txt", "1.txt"]


async def sentences(stage: Stage, agent: Agent) -> list[str]:
    async with stage.database.begin() as work:
        return [each.text for each in await work.notes.notices(agent) if each.kind == "lease ended"]


@pytest.mark.proves("lease:limits")
async def test_what_runs_unasked_does_not_use_it_up_and_its_last_command_has_a_sentence() -> None:
    read = reply_text("read_file", {"filename": "0.txt"})
    stage = Stage(model=ScriptedModel(writing(0), read, writing(1), writing(2)))
    agent = await stage.create(policy=Policy(free=("read",)))
    await stage.decide(agent, Approve(times=2))
    assert await files_after(stage, agent) == ["0.txt", "1.txt"]
    assert await sentences(stage, agent) == ["@ana’s ×2 is used up: 2 of 2 commands ran."]


async def test_a_rejection_ends_it_with_its_sentence() -> None:
    stage = Stage(model=ScriptedModel(*map(writing, range(4))))
    agent = await stage.create()
    await stage.decide(agent, Approve(times=5))
    await stage.service.decisions.reply(agent.id, "Wait.", stage.origin(BEN), meaning="talk")
    await stage.wait_until_settled(agent)
    if (await stage.turn(agent)).state == "proposed":
        await stage.decide(agent, Reject("No."))
    assert len(await sentences(stage, agent)) == 1
