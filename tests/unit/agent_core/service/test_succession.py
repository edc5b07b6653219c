"""Agents whose owner alone decided and has left: any full member decides, and only if the platform says so."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from agent_core.errors import NotAllowed, NotFound, SurfaceBusy
from agent_core.model.agent import Agent
from agent_core.model.decision import Approve, Policy, PolicyChange
from agent_core.model.origin import Actor, ActorKind, ChannelScope
from agent_core.testing.examples import BEN
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from agent_core.testing.surface import RecordingSurface

WRITE = reply_text("write_to_file", {"filename": "a.txt", "text": "one\n"})
ONLY_OWNER = Policy(approvers="owner")


@dataclass(slots=True)
class TellingSurface(RecordingSurface):
    """A surface whose directory answers as `tell` does."""

    tell: Callable[[Actor], Actor] = lambda person: person

    async def actor(self, channel: ChannelScope, person: Actor) -> Actor:
        return self.tell(person)


def has_become(kind: ActorKind) -> Callable[[Actor], Actor]:
    return lambda person: replace(person, kind=kind)


def gives(fault: Exception) -> Callable[[Actor], Actor]:
    def tell(_person: Actor) -> Actor:
        raise fault

    return tell


async def asked(tell: Callable[[Actor], Actor]) -> tuple[Stage, Agent]:
    stage = Stage(model=ScriptedModel(WRITE, WRITE), surface=TellingSurface(tell=tell))
    return stage, await stage.create(policy=ONLY_OWNER)


@pytest.mark.proves("rights:succession")
@pytest.mark.parametrize(
    "tell",
    [has_become("external"), has_become("guest"), gives(NotFound("person", "ana"))],
    ids=["left", "guest", "gone"],
)
async def test_after_the_owner_left_a_full_member_decides_and_thread_and_log_say_so(
    tell: Callable[[Actor], Actor],
) -> None:
    stage, agent = await asked(tell)
    turn = await stage.decide(agent, Approve(), BEN)
    agent = await stage.wait_until_settled(agent)
    assert (turn.state, agent.policy.approvers) == ("approved", "anyone")
    said = "@ana is no longer a full member here; who may approve: anyone here"
    assert f"@ben took over: {said}." in [notice.text for notice in stage.shown.notices]
    assert ("took over", said) in [
        (entry.act, entry.detail) for entry in await stage.views.audit(agent.channel, agent.id)
    ]


@pytest.mark.proves("rights:succession")
@pytest.mark.parametrize(
    "tell",
    [
        lambda person: person,
        gives(NotAllowed("do this yet: Slack did not confirm who you are.")),
        gives(SurfaceBusy("Discord is busy")),
        gives(NotFound("channel", "C1")),
    ],
    ids=["still there", "not confirmed", "busy", "channel unknown"],
)
async def test_without_a_positive_answer_the_owner_alone_decides(tell: Callable[[Actor], Actor]) -> None:
    stage, agent = await asked(tell)
    with pytest.raises(NotAllowed, match="only @ana decides for Clerk"):
        await stage.decide(agent, Approve(), BEN)
    assert (await stage.views.agent(agent.channel, agent.id)).policy == ONLY_OWNER


@pytest.mark.parametrize("kind", ["guest", "external", "bot"])
async def test_nobody_but_a_full_member_takes_over(kind: ActorKind) -> None:
    stage, agent = await asked(has_become("external"))
    with pytest.raises(NotAllowed):
        await stage.decide(agent, Approve(), replace(BEN, kind=kind))
    assert (await stage.views.agent(agent.channel, agent.id)).policy == ONLY_OWNER


async def test_a_full_member_sets_the_policy_or_deletes_after_the_owner_left() -> None:
    stage, agent = await asked(has_become("external"))
    await stage.core.agent_settings.set_policy(agent.id, PolicyChange(approvers="anyone"), stage.origin(BEN))
    assert (await stage.views.agent(agent.channel, agent.id)).policy == Policy()
    stage, agent = await asked(has_become("external"))
    await stage.service.lifecycle.delete(agent.id, stage.origin(BEN))
    assert await stage.views.find_by_name(agent.channel, "Clerk") is None
