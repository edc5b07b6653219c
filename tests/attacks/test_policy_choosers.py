"""Attacks on who answers for a class that runs without asking."""

from dataclasses import replace

import pytest

from agent_core.errors import InvalidInput
from agent_core.model.decision import Approve, Policy, PolicyChange
from agent_core.testing.examples import ANA, BEN
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingSurface


def writing(number: int) -> str:
    return reply_text("write_to_file", {"filename": f"{number}.txt", "text": "one"})


@pytest.mark.proves("policy:chooser")
@pytest.mark.parametrize(
    "change",
    [PolicyChange.between(Policy(), Policy(free=("network",))), PolicyChange(free=("network",))],
    ids=["form", "line"],
)
async def test_a_change_that_never_showed_a_class_does_not_take_over_who_chose_it(change: PolicyChange) -> None:
    """Ben frees write. Ana's form, opened before, or her line, frees network only. Ben leaves: write asks again."""
    surface = RecordingSurface()
    stage = Stage(model=ScriptedModel(writing(1), writing(2)), surface=surface)
    agent = await stage.create()
    await stage.agent_settings.set_policy(agent.id, PolicyChange(free=("write",)), stage.origin(BEN))
    with pytest.raises(InvalidInput, match="as @ben chose: write"):
        await stage.agent_settings.set_policy(agent.id, change, stage.origin())
    surface.people[BEN.id] = replace(BEN, kind="guest")
    await stage.decide(agent, Approve())
    agent = await stage.wait_until_settled(agent)
    second = await stage.turn(agent)
    assert (second.state, [approval.by.display for approval in second.approvals]) == ("proposed", [])


@pytest.mark.proves("policy:chooser")
async def test_who_only_tightens_a_policy_is_not_named_as_who_chose_the_rest() -> None:
    stage = Stage(model=ScriptedModel(writing(1)))
    agent = await stage.create()
    await stage.agent_settings.set_policy(agent.id, PolicyChange(free=("read", "write")), stage.origin(BEN))
    agent = await stage.agent_settings.set_policy(agent.id, PolicyChange(asked=("read",)), stage.origin())
    assert (agent.policy.free, agent.free_chooser) == (("write",), BEN)


@pytest.mark.proves("policy:chooser")
@pytest.mark.parametrize(
    "change",
    [PolicyChange(free=("network",), confirmed=("write",)), PolicyChange(free=("network", "write"))],
    ids=["form", "line"],
)
async def test_who_sets_a_class_free_and_was_shown_the_others_answers_for_all(change: PolicyChange) -> None:
    stage = Stage(model=ScriptedModel(writing(1)))
    agent = await stage.create()
    await stage.agent_settings.set_policy(agent.id, PolicyChange(free=("write",)), stage.origin(BEN))
    agent = await stage.agent_settings.set_policy(agent.id, change, stage.origin())
    assert (agent.policy.free, agent.free_chooser) == (("write", "network"), ANA)
