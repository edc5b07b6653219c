"""A message to send to Discord, and links to what was posted."""

import hashlib
import json
from dataclasses import dataclass

from discord.ui import Item, LayoutView

from adapters.typed.answers import Attachment
from agent_core.model.agent import Agent
from agent_core.model.origin import ChannelScope


@dataclass(frozen=True, slots=True)
class DiscordMessage:
    """The components of a message and its files."""

    view: LayoutView
    files: tuple[Attachment, ...] = ()

    @property
    def digest(self) -> bytes:
        """A hash of the content, to detect changes."""
        components = self.view.to_components()  # type: ignore[no-untyped-call]  # discord.py leaves it without types
        told = hashlib.sha256(json.dumps(components, sort_keys=True).encode())
        for file in self.files:
            told.update(file.name.encode() + b"\0" + file.data)
        return told.digest()


def compose(*items: Item[LayoutView], files: tuple[Attachment, ...] = ()) -> DiscordMessage:
    view = LayoutView(timeout=None)
    for item in items:
        view.add_item(item)
    return DiscordMessage(view, files)


def link_to(agent: Agent) -> str:
    return f"https://discord.com/channels/{agent.channel.workspace}/{agent.thread.thread}" if agent.thread else ""


def card_link(channel: ChannelScope, address: str) -> str:
    """The address of a card in its thread, or "" if the card is not posted."""
    return f"https://discord.com/channels/{channel.workspace}/{address}" if "/" in address else ""
