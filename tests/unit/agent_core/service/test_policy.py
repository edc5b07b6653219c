"""A policy changes while the agent lives: what it tightens holds at once, what it loosens approves no open card."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import pytest

from agent_core.capabilities.agents.commands import AgentCommands
from agent_core.errors import InvalidInput, NotAllowed, NotPossible
from agent_core.model.agent import Agent
from agent_core.model.decision import Approve, Policy, PolicyChange
from agent_core.model.draft import AgentDraft
from agent_core.model.turn import Turn
from agent_core.service.agents import AgentService
from agent_core.service.creating.creation import CreationLimits
from agent_core.service.reading.decision_log import LogFilter
from agent_core.testing.examples import ANA, BEN, CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingSurface
from tests.wiring import with_limits

GUEST = replace(BEN, kind="guest")
START = reply_text("start_agent", {"name": "Scout", "task": "Find strings", "prompt": "Only gut."})
OWNER, ANYONE = PolicyChange(approvers="owner"), PolicyChange(approvers="anyone")
FREE_WRITE, ASK_WRITE = PolicyChange(free=("write",)), PolicyChange(asked=("write",))


def writing(number: int) -> str:
    return reply_text("write_to_file", {"filename": f"{number}.txt", "text": "one"})


def stage_of(*replies: str) -> Stage:
    return Stage(model=ScriptedModel(*(replies or map(writing, range(9)))))


async def set_policy(stage: Stage, agent: Agent, change: PolicyChange, by: object = ANA) -> Agent:
    return await stage.agent_settings.set_policy(agent.id, change, stage.origin(by))  # type: ignore[arg-type]


async def notices(stage: Stage, agent: Agent) -> list[str]:
    async with stage.database.begin() as work:
        return [notice.text for notice in await work.notes.notices(agent)]


@pytest.mark.slow
@pytest.mark.proves("policy:open-card")
async def test_a_class_set_free_approves_no_card_that_is_open_and_runs_the_next_one() -> None:
    stage = stage_of()
    agent = await stage.create()
    await set_policy(stage, agent, FREE_WRITE)
    agent = await stage.wait_until_settled(agent)
    assert (agent.status.kind, (await stage.turn(agent)).state) == ("awaiting", "proposed")
    await stage.service.lifecycle.stop(agent.id, stage.origin())
    await stage.service.lifecycle.resume(agent.id, stage.origin())
    agent = await stage.wait_until_settled(agent)
    first = await stage.turn(agent)
    assert (first.number, first.approvals[-1].decision) == (
        9,
        Approve(under="policy", granted_at=stage.clock.now()),
    )


@pytest.mark.proves("policy:tighter")
async def test_only_the_owner_decides_an_open_card_from_the_moment_it_is_set() -> None:
    stage = stage_of()
    agent = await stage.create()
    await set_policy(stage, agent, OWNER, BEN)
    with pytest.raises(NotAllowed, match="only @ana decides"):
        await stage.decide(agent, Approve(), BEN)
    with pytest.raises(NotAllowed, match="set the policy here"):
        await set_policy(stage, agent, ANYONE, BEN)
    await set_policy(stage, agent, ANYONE)
    assert (await stage.decide(agent, Approve(), BEN)).state == "approved"


@pytest.mark.proves("policy:tighter")
async def test_the_lease_of_somebody_who_may_no_longer_decide_ends_at_once() -> None:
    stage = stage_of()
    agent = await stage.create()
    await stage.service.decisions.grant_lease(agent.id, 5, stage.origin(BEN))
    agent = await set_policy(stage, agent, OWNER)
    assert agent.lease is None
    assert (await notices(stage, agent))[-1] == ("@ana set the policy: who may approve: only @ana; @ben’s ×5 ended.")


@pytest.mark.proves("policy:tighter")
async def test_a_class_that_asks_again_leaves_the_lease_too() -> None:
    stage = stage_of()
    agent = await stage.create()
    await stage.decide(agent, Approve(times=3))
    agent = await set_policy(stage, agent, ASK_WRITE)
    assert agent.lease
    assert "write" not in agent.lease.classes
    agent = await stage.wait_until_settled(agent)
    assert (agent.status.kind, agent.lease, agent.turns) == ("awaiting", None, 2)


@dataclass(slots=True)
class Clicking(RecordingSurface):
    """Somebody acts the moment the card of an approved turn appears, before it starts."""

    act: Callable[[Agent], Awaitable[object]] | None = None

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        address = await RecordingSurface.show(self, agent, turn, may_exist=may_exist)
        if turn.state == "approved" and self.act:
            act, self.act = self.act, None
            await act(agent)
        return address


@pytest.mark.proves("policy:tighter")
async def test_a_command_that_the_policy_let_through_asks_if_its_class_asks_before_it_starts() -> None:
    surface = Clicking()
    stage = Stage(model=ScriptedModel(writing(1)), surface=surface)
    surface.act = lambda agent: set_policy(stage, agent, ASK_WRITE, BEN)
    agent = await stage.create(policy=Policy(free=("write",)))
    assert (agent.status.kind, (await stage.turn(agent)).state) == ("awaiting", "proposed")


@pytest.mark.proves("policy:chooser")
async def test_a_class_asks_again_when_who_chose_it_is_no_member_any_more() -> None:
    surface = RecordingSurface()
    stage = Stage(model=ScriptedModel(writing(1), writing(2)), surface=surface)
    agent = await set_policy(stage, await stage.create(), FREE_WRITE, BEN)
    surface.people[BEN.id] = GUEST
    await stage.decide(agent, Approve())
    agent = await stage.wait_until_settled(agent)
    assert (agent.status.kind, agent.turns) == ("awaiting", 2)


@pytest.mark.slow
@pytest.mark.proves("policy:chooser")
async def test_who_changed_the_classes_is_who_chose_them_on_the_agent_and_in_the_log() -> None:
    stage = stage_of()
    agent = await stage.create()
    agent = await set_policy(stage, agent, FREE_WRITE, BEN)
    assert agent.free_chooser == BEN
    await stage.decide(agent, Approve())
    agent = await stage.wait_until_settled(agent)
    rows = [row async for row in stage.views.log.rows(stage.origin(), LogFilter())]
    assert {row.by.display for row in rows if row.grant == "policy"} == {"ben"}
    assert ("set the policy", "runs without asking: write", "ben") in [
        (row.act, row.detail, row.by.display) for row in rows
    ]


@pytest.mark.proves("policy:chooser")
async def test_classes_chosen_by_somebody_who_may_no_longer_decide_ask_again() -> None:
    stage = stage_of()
    agent = await set_policy(stage, await stage.create(), FREE_WRITE, BEN)
    agent = await set_policy(stage, agent, OWNER, BEN)
    assert agent.policy == Policy(approvers="owner")
    assert (await notices(stage, agent))[-1] == ("@ben set the policy: who may approve: only @ana; asks again: write.")


@pytest.mark.proves("policy:together")
async def test_two_people_who_change_it_from_one_form_keep_what_the_other_changed() -> None:
    stage = stage_of()
    agent = await stage.create(policy=Policy(free=("read", "network")))
    shown = agent.policy
    await set_policy(stage, agent, PolicyChange.between(shown, Policy(free=("read",))), BEN)
    changed = replace(shown, verbosity="full", free=("read", "write", "network"))
    agent = await set_policy(stage, agent, PolicyChange.between(shown, changed))
    assert agent.policy == Policy(verbosity="full", free=("read", "write"))
    assert (await notices(stage, agent))[-2:] == [
        "@ben set the policy: asks again: network.",
        "@ana set the policy: runs without asking: write; cards show all thoughts.",
    ]


async def test_what_changes_nothing_is_neither_said_nor_logged() -> None:
    stage = stage_of()
    agent = await stage.create()
    await set_policy(stage, agent, PolicyChange())
    await set_policy(stage, agent, ASK_WRITE)
    assert await notices(stage, agent) == []
    assert [row.act for row in await stage.views.audit(CHANNEL, agent.id)] == ["created"]


async def test_a_repeated_delivery_changes_the_policy_once() -> None:
    stage = stage_of()
    agent = await stage.create()
    await stage.agent_settings.set_policy(agent.id, FREE_WRITE, stage.origin(delivery="d-1"))
    await set_policy(stage, agent, ASK_WRITE)
    await stage.agent_settings.set_policy(agent.id, FREE_WRITE, stage.origin(delivery="d-1"))
    assert (await stage.views.agent(CHANNEL, agent.id)).policy.free == ()


async def test_helpers_follow_their_agent_and_have_no_policy_of_their_own() -> None:
    stage = stage_of(START, writing(1), writing(2))
    for command in AgentCommands(stage.helpers).commands:
        stage.commands.register(command)
    root = await stage.create()
    await stage.decide(root, Approve())
    await stage.wait_until_settled(root)
    (helper,) = await stage.views.family(CHANNEL, root.id)
    with pytest.raises(NotPossible, match="is a helper"):
        await set_policy(stage, helper, OWNER)
    await set_policy(stage, root, PolicyChange(approvers="owner", free=("write",)))
    assert (await stage.views.agent(CHANNEL, helper.id)).policy == Policy(approvers="owner")


async def test_guests_change_nothing_and_cannot_become_the_only_approver() -> None:
    stage = stage_of()
    service: AgentService = with_limits(stage, CreationLimits(guests_may_create=True))
    agent = await service.lifecycle.create(AgentDraft(name="Guest's", goals=("Write",)), stage.origin(GUEST))
    with pytest.raises(NotAllowed, match="set the policy here"):
        await set_policy(stage, agent, FREE_WRITE, GUEST)
    with pytest.raises(InvalidInput, match="is a guest and may not"):
        await set_policy(stage, agent, OWNER)
