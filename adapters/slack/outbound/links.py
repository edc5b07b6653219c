"""Permalinks to Slack messages."""

from agent_core.model.agent import Agent
from agent_core.model.channels import ChannelScope


def link_to(agent: Agent) -> str:
    if agent.thread is None:
        return ""
    return f"https://slack.com/archives/{agent.channel.channel}/p{agent.thread.thread.replace('.', '')}"


def card_link(channel: ChannelScope, address: str) -> str:
    """The address of a card in its thread, or "" if the card is not posted."""
    thread, _, ts = address.partition("/")
    if not ts:
        return ""
    place = f"https://slack.com/archives/{channel.channel}/p{ts.replace('.', '')}"
    return f"{place}?thread_ts={thread}&cid={channel.channel}"
