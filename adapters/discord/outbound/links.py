"""Links to Discord messages and threads."""

from agent_core.model.agent import Agent
from agent_core.model.channels import ChannelScope


def link_to(agent: Agent) -> str:
    return f"https://discord.com/channels/{agent.channel.workspace}/{agent.thread.thread}" if agent.thread else ""


def card_link(channel: ChannelScope, address: str) -> str:
    """The address of a card in its thread, or "" if the card is not posted."""
    return f"https://discord.com/channels/{channel.workspace}/{address}" if "/" in address else ""
