"""A message to send to Slack with its metadata, and links to what was posted."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self, TypeAlias

from adapters.screens.text_fit import cut, pieces
from adapters.screens.visible_text import readable
from adapters.slack.outbound.blocks import MAX_MESSAGE_TEXT, MAX_TEXT, NOTHING, Block, notification, section
from agent_core.model.agent import Agent
from agent_core.model.origin import ChannelScope

Metadata: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SlackMessage:
    """A message for chat.postMessage or chat.update. Notifications and screen readers use `text`."""

    text: str
    blocks: list[Block]
    metadata: Metadata | None = None

    @classmethod
    def plain(cls, text: str) -> Self:
        """A message that shows a text without formatting, links and mentions; a long text is cut."""
        most = MAX_MESSAGE_TEXT // 2
        return cls(
            notification(text), [section(piece) for piece in pieces(cut(readable(text), most) or NOTHING, MAX_TEXT)]
        )

    @property
    def arguments(self) -> dict[str, Any]:
        """The keyword arguments for chat.postMessage or chat.update."""
        given: dict[str, Any] = {"text": self.text, "blocks": self.blocks}
        return given if self.metadata is None else given | {"metadata": self.metadata}

    @property
    def digest(self) -> bytes:
        """A hash of the content, to detect changes."""
        return blake2b(json.dumps([self.text, self.blocks]).encode(), digest_size=16).digest()

    @property
    def written_by(self) -> Metadata:
        """The metadata that identifies the message; raise ValueError if it has none."""
        if self.metadata is None:
            raise ValueError("This message carries no metadata.")
        return self.metadata


def metadata(kind: str, **payload: str) -> Metadata:
    """The metadata that identifies a message of Signoff."""
    return {"event_type": kind, "event_payload": payload}


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
