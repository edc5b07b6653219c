"""Where in Discord a message is."""

from agent_core.model.agent import Agent
from agent_core.model.channels import ChannelScope


def link_to(agent: Agent) -> str:
    """Where an agent's thread is."""
    return f"https://discord.com/channels/{agent.channel.workspace}/{agent.thread.thread}" if agent.thread else ""


def card_link(channel: ChannelScope, address: str) -> str:
    """The address of a card in its thread; "" for one that stands nowhere."""
    return f"https://discord.com/channels/{channel.workspace}/{address}" if "/" in address else ""
