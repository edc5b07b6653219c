"""The form for a copy of an agent: its settings, a free name, and nothing created."""

from dataclasses import replace
from decimal import Decimal

import pytest

from agent_core.errors import NotAllowed, NotFound
from agent_core.model.decision import Policy
from agent_core.model.draft import AgentDraft
from agent_core.model.origin import ChannelScope
from agent_core.testing.examples import BEN, CHANNEL
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage

WRITE = reply_text("write_to_file", {"filename": "a.txt", "text": "one"})
POLICY = Policy(approvers="owner", free=("read",), verbosity="brief")
DRAFT = AgentDraft(
    name="Clerk", role="writes", goals=("Write", "Read"), budget=Decimal(2), model="m-1", effort="low", policy=POLICY
)


def stage_of() -> Stage:
    return Stage(model=ScriptedModel(*[WRITE] * 3))


@pytest.mark.proves("create:copy")
async def test_a_copy_has_every_setting_and_the_next_free_name() -> None:
    stage = stage_of()
    agent = await stage.service.lifecycle.create(DRAFT, stage.origin())
    await stage.service.lifecycle.create(replace(DRAFT, name="clerk 2"), stage.origin())
    assert await stage.service.lifecycle.draft_copy(agent.id, stage.origin()) == replace(DRAFT, name="Clerk 3")
    assert len(await stage.views.agents(CHANNEL)) == 2


@pytest.mark.proves("approval:free")
async def test_a_copy_made_by_another_person_asks_for_every_command() -> None:
    stage = stage_of()
    agent = await stage.service.lifecycle.create(DRAFT, stage.origin())
    copy = await stage.service.lifecycle.draft_copy(agent.id, stage.origin(BEN))
    assert copy.policy == Policy(approvers="owner", verbosity="brief")


async def test_who_may_create_no_agent_gets_no_copy_and_neither_does_another_channel() -> None:
    stage = stage_of()
    agent = await stage.service.lifecycle.create(DRAFT, stage.origin())
    with pytest.raises(NotAllowed, match="make agents here"):
        await stage.service.lifecycle.draft_copy(agent.id, stage.origin(replace(BEN, kind="guest")))
    elsewhere = replace(stage.origin(), channel=ChannelScope("web", "local", "other"))
    with pytest.raises(NotFound):
        await stage.service.lifecycle.draft_copy(agent.id, elsewhere)
