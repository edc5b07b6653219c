"""The typed line that shows and sets a policy."""

from dataclasses import replace

import pytest

from adapters.typed.policies import (
    change_of_form,
    channel_change,
    fields_of_channel,
    packed_fields,
    parse_policy_change,
)
from agent_core.errors import InvalidInput, NotAllowed
from agent_core.model.channel_policy import Approver, ChannelPolicy
from agent_core.model.command import RISK_CLASSES
from agent_core.model.decision import PolicyChange
from tests.unit.adapters.test_management_commands import GUEST, a_stage, granted


@pytest.mark.parametrize(
    ("said", "change"),
    [
        ("approvers owner", PolicyChange(approvers="owner")),
        ("Approvers  ANYONE", PolicyChange(approvers="anyone")),
        ("free write, read", PolicyChange(free=("read", "write"))),
        ("ask network execute", PolicyChange(asked=("network", "execute"))),
        ("ask all", PolicyChange(asked=RISK_CLASSES)),
        ("cards brief", PolicyChange(verbosity="brief")),
    ],
)
def test_a_line_says_what_changes(said: str, change: PolicyChange) -> None:
    assert parse_policy_change(said) == change


@pytest.mark.parametrize(
    "said",
    [
        "approvers",
        "approvers me",
        "free",
        "free all",
        "free root",
        "ask",
        "ask nobody",
        "cards",
        "do it",
        "free read rm",
    ],
)
def test_any_other_line_is_answered_with_how_to_write_it(said: str) -> None:
    with pytest.raises(InvalidInput, match=r"Policy: write approvers owner.* Classes: read, write, delete, network"):
        parse_policy_change(said)


async def test_a_policy_is_shown_and_set() -> None:
    stage, agent = await a_stage()
    assert (await granted(stage, "policy", "")).text.splitlines() == [
        "Policy of Clerk:",
        "Who may approve: anyone here",
        "Every command asks",
        "Cards show all thoughts",
    ]
    await granted(stage, "policy", "free read")
    assert (await granted(stage, "policy", "approvers owner")).text.splitlines() == [
        "Policy of Clerk:",
        "Who may approve: only @ana",
        "Runs without asking: read (chosen by @ana)",
        "Cards show all thoughts",
    ]
    assert (await stage.views.agent(agent.channel, agent.id)).policy.free == ("read",)


async def test_a_guest_sets_no_policy() -> None:
    stage, _ = await a_stage()
    with pytest.raises(NotAllowed):
        await granted(stage, "policy", "ask all", GUEST)


@pytest.mark.proves("channel-policy:form")
def test_a_form_changes_what_its_person_changed_and_nothing_that_others_changed_meanwhile() -> None:
    shown = ChannelPolicy(needs={"read": "free", "write": "two"})
    sent = {"free.read": "on", "never.spend": "on", "makers": "off"}
    meanwhile = ChannelPolicy(needs={"read": "never", "write": "two"}, approvers=(Approver("U1", "@ben"),))
    changed = change_of_form(packed_fields(fields_of_channel(shown)), sent)(meanwhile)
    assert changed == ChannelPolicy(
        needs={"read": "never", "spend": "never"}, approvers=meanwhile.approvers, makers_approve=False
    )
    for packed, wrong in (("x", {}), (packed_fields(fields_of_channel(shown)), {"free.read": "on", "two.read": "on"})):
        with pytest.raises(InvalidInput):
            change_of_form(packed, wrong)


@pytest.mark.proves("evidence:posted")
async def test_a_line_and_a_form_switch_the_posting_of_heads() -> None:
    stage, agent = await a_stage()
    told = "Once a day the head of the decision log is posted in a thread"
    assert told not in (await granted(stage, "policy", "channel")).text
    assert told in (await granted(stage, "policy", "channel heads on")).text
    assert fields_of_channel(policy := await stage.agent_settings.channel_policy(agent.channel))["heads"] == "on"
    assert channel_change({"heads": "off"})(policy) == replace(policy, posts_heads=False)
    assert told not in (await granted(stage, "policy", "channel heads off")).text
    with pytest.raises(InvalidInput):
        await granted(stage, "policy", "channel heads daily")
