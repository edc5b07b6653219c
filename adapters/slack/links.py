"""Where in Slack a message is."""

from agent_core.model.agent import Agent


def link_to(agent: Agent) -> str:
    """The address of an agent's root message, which Slack opens in whatever workspace the reader is in; "" for none."""
    if agent.thread is None:
        return ""
    return f"https://slack.com/archives/{agent.channel.channel}/p{agent.thread.thread.replace('.', '')}"
