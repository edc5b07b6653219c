"""The settings that a channel used last, offered again."""

from dataclasses import replace
from decimal import Decimal

import pytest

from agent_core.errors import InvalidInput
from agent_core.model.actors import Origin
from agent_core.model.agent_policy import Policy
from agent_core.model.draft import AgentDraft
from agent_core.testing.examples import ANA, CHANNEL, NOON

ORIGIN = Origin(by=ANA, channel=CHANNEL)

LAST = AgentDraft(
    name="Ada",
    budget=Decimal(5),
    model="small",
    effort="high",
    policy=Policy(approvers="owner", free=("write",), verbosity="brief"),
)


def test_a_draft_takes_the_settings_it_leaves_open_but_no_class_that_runs_unasked() -> None:
    offered = AgentDraft(name="Ben", goals=("Go",)).like(LAST)
    policy = Policy(approvers="owner", verbosity="brief")
    assert offered == AgentDraft(
        name="Ben", goals=("Go",), budget=Decimal(5), model="small", effort="high", policy=policy
    )


def test_a_draft_keeps_its_own_settings() -> None:
    own = AgentDraft(name="Ben", budget=Decimal(1), model="large", effort="none", policy=Policy(free=("read",)))
    assert own.like(LAST) == own


def test_a_draft_in_a_new_channel_stays_as_it_is() -> None:
    assert AgentDraft(name="Ben").like(None) == AgentDraft(name="Ben")


def test_an_agent_is_made_with_its_effort_and_an_unknown_effort_is_refused() -> None:
    draft = AgentDraft(goals=("Go",), effort="high").tidied()
    assert draft.made(ORIGIN, NOON).choice.effort == "high"
    with pytest.raises(InvalidInput) as refused:
        replace(draft, effort="hard").tidied()
    assert refused.value.problems["effort"].startswith("Reasoning effort: one of none, minimal, low")
