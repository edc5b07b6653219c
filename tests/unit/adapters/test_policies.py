"""The typed line that shows and sets a policy."""

from dataclasses import replace

import pytest

from adapters.screens.cards import turn_card
from adapters.typed.policies import (
    change_of_form,
    channel_change,
    fields_of_channel,
    packed_fields,
    parse_policy_change,
)
from agent_core.errors import InvalidInput, NotAllowed
from agent_core.model.channel_policy import (
    Approver,
    ChannelPolicy,
    parse_channel_policy,
    serialise_channel_policy,
)
from agent_core.model.command import RISK_CLASSES
from agent_core.model.decision import PolicyChange
from agent_core.testing.examples import a_turn, an_agent
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
        "Cards show the text, the rest behind Thoughts",
    ]
    await granted(stage, "policy", "free read")
    assert (await granted(stage, "policy", "approvers owner")).text.splitlines() == [
        "Policy of Clerk:",
        "Who may approve: only @ana",
        "Runs without asking: read (chosen by @ana)",
        "Cards show the text, the rest behind Thoughts",
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


async def test_the_channel_says_how_much_cards_show_and_which_number_they_offer_first() -> None:
    stage, agent = await a_stage()
    await granted(stage, "policy", "channel cards brief")
    said = (await granted(stage, "policy", "channel times 20")).text
    assert "Cards show the text, the rest behind Thoughts\nCards offer Approve ×20 first" in said
    card = turn_card(await stage.views.agent(agent.channel, agent.id), a_turn(agent))
    times = [button.times for button in card.buttons if button.verb == "approve"]
    assert (card.is_brief, times) == (True, [1, 20, 3, 5])
    shown = fields_of_channel(policy := await stage.agent_settings.channel_policy(agent.channel))
    assert (shown["cards"], shown["times"]) == ("brief", "20")
    assert channel_change({"cards": "agents", "times": ""})(policy) == replace(policy, verbosity=None, times=0)
    for wrong in ("times 1", "times 51", "times many", "cards none"):
        with pytest.raises(InvalidInput):
            await granted(stage, "policy", f"channel {wrong}")
    said = (await granted(stage, "policy", "channel times off")).text
    assert "Approve ×" not in said


def test_the_operators_limit_holds_for_the_number_that_cards_offer_first() -> None:
    agent = replace(an_agent(), read_policy=ChannelPolicy(times=20))
    assert [button.times for button in turn_card(agent, a_turn(agent), 10).buttons if button.verb == "approve"] == [
        1,
        3,
        5,
        10,
    ]


def test_what_a_newer_release_stored_for_cards_leaves_them_to_the_agents() -> None:
    stored = serialise_channel_policy(ChannelPolicy(verbosity="brief")).replace('"brief"', '"terse"')
    assert parse_channel_policy(stored) == ChannelPolicy()


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
