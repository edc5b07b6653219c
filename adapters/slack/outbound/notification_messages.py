"""Builds Slack's reminders and direct messages. Pure functions.

A reminder is the one message besides the root message that mentions people, by ids that come from Slack and from the
channel's settings alone.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from adapters.chat.notification_texts import end_text, wait_text
from adapters.screens.buttons import Button
from adapters.screens.cards import Card, turn_card
from adapters.screens.text_fit import cut
from adapters.screens.ui_text import OPEN_CARD
from adapters.slack.outbound.blocks import (
    MAX_ID,
    MAX_NOTIFICATION,
    Block,
    actions,
    line,
    mention_run,
    mention_text,
    notification,
    rich,
    run,
    section,
)
from adapters.slack.outbound.card import card_blocks, footer_text
from adapters.slack.outbound.controls import element, link_button
from adapters.slack.outbound.message import SlackMessage, card_link, link_to, metadata
from agent_core.model.agent import Agent, Finished
from agent_core.model.origin import ChannelScope
from agent_core.model.turn import Turn

DIRECT_VERBS = ("approve", "reject", "run again", "it ran", "skip")
END = re.compile(r"signoff-direct (\S+) \d+")


def reminder_message(agent: Agent, turn: Turn | None, mentions: Sequence[str]) -> SlackMessage:
    """One short message for the thread: who is called, what waits, and a link to the card."""
    said = cut(wait_text(agent, turn), MAX_NOTIFICATION)
    mentions = [each for each in mentions if mention_text(each)]
    called = [part for each in mentions for part in (mention_run(each), run(" "))]
    url = card_link(agent.channel, turn.shown_as) if turn else ""
    text = " ".join((*map(mention_text, mentions), notification(said)))
    blocks = [rich(line(*called, run(said))), *([actions(_link(agent, url))] if url else [])]
    return SlackMessage(text, blocks, reminder_metadata(agent))


def reminder_metadata(agent: Agent) -> dict[str, object]:
    """Identifies one reminder of one wait."""
    return dict(metadata("signoff_reminder", agent=agent.id, wait=f"{agent.since:%Y%m%d%H%M%S} {agent.reminded}"))


def direct_metadata(agent: Agent) -> dict[str, object]:
    """Identifies the direct message of one wait, among those to one person."""
    return dict(metadata("signoff_direct", agent=agent.id, wait=f"{agent.since:%Y%m%d%H%M%S}"))


def direct_message(agent: Agent, turn: Turn | None, *, continuous_limit: int | None = None) -> SlackMessage:
    """What a person decides on without opening the thread: the command in full or cut as on its card, and buttons."""
    mark = direct_metadata(agent)
    said = wait_text(agent, turn)
    link = link_to(agent)
    if turn is None:
        resume = [] if isinstance(agent.status, Finished) else [element(Button("resume", agent.id))]
        controls = [*resume, *([_link(agent, link)] if link else [])]
        blocks = [section(said), *([actions(*controls)] if controls else [])]
        return SlackMessage(notification(said), _addressed(agent.channel, blocks), mark)
    card = _essentials(turn_card(agent, turn, continuous_limit))
    link = card_link(agent.channel, turn.shown_as) or link
    buttons = [
        element(each, style="primary" if each.verb == "approve" else "")
        for each in card.buttons
        if each.verb in DIRECT_VERBS and each.times == 1
    ]
    controls = [actions(*buttons, *([_link(agent, link)] if link else []))]
    blocks = card_blocks(card, controls, [footer_text(card)])
    return SlackMessage(notification(said), _addressed(agent.channel, blocks), mark)


def ended_message(agent: Agent, turn: Turn | None) -> SlackMessage:
    """What stands in place of a direct message when its wait is over."""
    said, link = end_text(agent, turn), link_to(agent)
    link = (card_link(agent.channel, turn.shown_as) if turn else "") or link
    blocks = [section(said), *([actions(_link(agent, link))] if link else [])]
    return SlackMessage(notification(said), _addressed(agent.channel, blocks))


def channel_of_block(block_id: str) -> ChannelScope | None:
    """The agent's channel, if the block is one of a direct message that this module built."""
    found = END.fullmatch(block_id)
    try:
        return ChannelScope.parse(found[1]) if found else None
    except ValueError:
        return None


def _essentials(card: Card) -> Card:
    return replace(card, plan=(), details=(), model_reasoning="", review="", is_brief=False)


def _link(agent: Agent, url: str) -> Block:
    return link_button(agent.id, url) | {"text": {"type": "plain_text", "text": OPEN_CARD, "emoji": False}}


def _addressed(channel: ChannelScope, blocks: Sequence[Block]) -> list[Block]:
    """The blocks with ids that name the agent's channel, by which a click in the direct message finds it."""
    ids = [f"signoff-direct {channel.key} {number}" for number in range(len(blocks))]
    return [
        block | {"block_id": name} if len(name) <= MAX_ID else block for block, name in zip(blocks, ids, strict=True)
    ]
