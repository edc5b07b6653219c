"""Who decides away from the thread reads there what the card says of risk, remark, question and untrusted content."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeAlias

import pytest

from adapters.discord.outbound import notifications as discord_messages
from adapters.screens.cards import READ_UNTRUSTED, turn_card
from adapters.slack.outbound import notifications as slack_messages
from adapters.slack.outbound.blocks import MAX_VIEW_BLOCKS
from adapters.slack.outbound.views import home
from agent_core.model.agent import Agent, Awaiting
from agent_core.model.command import CommandCall, Proposal, Thoughts
from agent_core.model.decision import Approve
from agent_core.model.ids import AgentId
from agent_core.model.model_calls import Usage
from agent_core.model.origin import ChannelScope
from agent_core.model.turn import Turn
from agent_core.service.reading.approval_queue import WaitingAgent
from agent_core.testing.examples import ANA, NOON, a_turn, an_agent
from tests.scenario.slack_app import text_of

IN_SLACK = replace(an_agent(channel=ChannelScope("slack", "T1", "C1")), status=Awaiting())
IN_DISCORD = replace(an_agent(channel=ChannelScope("discord", "1", "2")), status=Awaiting())
REMARK = "notes.md was changed since this was shown."
Shown: TypeAlias = Callable[[Turn], str]


def link(agent: Agent) -> str:
    return f"https://slack.example/{agent.id}"


def on_home(turn: Turn) -> str:
    return text_of(home([], [WaitingAgent(IN_SLACK, turn)], link)["blocks"])


def in_slack(turn: Turn) -> str:
    return text_of(slack_messages.direct_message(IN_SLACK, turn).blocks)


def in_discord(turn: Turn) -> str:
    parts: Any = discord_messages.direct_message(IN_DISCORD, turn).view.walk_children()
    return "\n".join(str(getattr(part, "content", "")) for part in parts)


places = pytest.mark.parametrize("shown", [on_home, in_slack, in_discord])


@places
def test_the_mark_of_untrusted_content_is_shown_and_only_where_the_card_has_it(shown: Shown) -> None:
    turn = a_turn(IN_SLACK)
    assert READ_UNTRUSTED in shown(replace(turn, exposed=True))
    assert READ_UNTRUSTED not in shown(turn)


@places
def test_the_risk_and_the_cost_are_shown(shown: Shown) -> None:
    turn = replace(a_turn(IN_SLACK), risks=("read", "network"))
    assert turn_card(IN_SLACK, turn).risk in shown(turn)
    assert "spent" in shown(replace(turn, usage=Usage(prompt=9, completion=9, cost=Decimal("0.012"))))


@places
def test_the_remark_on_a_card_that_is_shown_again_is_shown(shown: Shown) -> None:
    assert REMARK in shown(replace(a_turn(IN_SLACK), remark=REMARK)).replace("\\", "")


@places
def test_an_interrupted_command_asks_whether_it_ran(shown: Shown) -> None:
    interrupted = a_turn(IN_SLACK).decide(Approve(), by=ANA, at=NOON).start(NOON).interrupt()
    assert "It may have run" in shown(interrupted)
    assert "It may have run" not in shown(a_turn(IN_SLACK))


def test_a_home_tab_full_of_remarks_fits() -> None:
    many = [replace(IN_SLACK, id=AgentId(f"agent-{number}")) for number in range(200)]
    call = CommandCall("write_to_file", {f"name{number}": "x" * 3000 for number in range(9)})
    long = replace(
        a_turn(IN_SLACK, proposal=Proposal(thoughts=Thoughts(), call=call)), remark="long " * 900, exposed=True
    )
    blocks = home(many, [WaitingAgent(agent, long) for agent in many], link, fault="why")["blocks"]
    assert len(blocks) <= MAX_VIEW_BLOCKS
    assert text_of(blocks).count(READ_UNTRUSTED) == 12
