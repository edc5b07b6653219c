"""The settings that a channel used last, offered again."""

from decimal import Decimal

from agent_core.model.agent_policy import Policy
from agent_core.model.draft import AgentDraft

LAST = AgentDraft(
    name="Ada", budget=Decimal(5), model="small", policy=Policy(approvers="owner", free=("write",), verbosity="brief")
)


def test_a_draft_takes_the_settings_it_leaves_open_but_no_class_that_runs_unasked() -> None:
    offered = AgentDraft(name="Ben", goals=("Go",)).like(LAST)
    policy = Policy(approvers="owner", verbosity="brief")
    assert offered == AgentDraft(name="Ben", goals=("Go",), budget=Decimal(5), model="small", policy=policy)


def test_a_draft_keeps_its_own_settings() -> None:
    own = AgentDraft(name="Ben", budget=Decimal(1), model="large", policy=Policy(free=("read",)))
    assert own.like(LAST) == own


def test_a_draft_in_a_new_channel_stays_as_it_is() -> None:
    assert AgentDraft(name="Ben").like(None) == AgentDraft(name="Ben")
