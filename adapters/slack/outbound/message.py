"""A message as Slack is sent it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self, TypeAlias

from adapters.slack.outbound.blocks import MAX_MESSAGE_TEXT, MAX_TEXT, Block, notification, section
from adapters.slack.outbound.texts import NOTHING, clean
from adapters.text_fit import cut, pieces

Metadata: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SlackMessage:
    """What chat.postMessage and chat.update take. `text` is the notification, and what a screen reader says."""

    text: str
    blocks: list[Block]
    metadata: Metadata | None = None

    @classmethod
    def plain(cls, text: str) -> Self:
        """A text that formats, links and notifies nothing."""
        most = MAX_MESSAGE_TEXT // 2
        return cls(
            notification(text), [section(piece) for piece in pieces(cut(clean(text), most) or NOTHING, MAX_TEXT)]
        )

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the method."""
        given: dict[str, Any] = {"text": self.text, "blocks": self.blocks}
        return given if self.metadata is None else given | {"metadata": self.metadata}

    @property
    def digest(self) -> bytes:
        """The same for messages that look the same."""
        return blake2b(json.dumps([self.text, self.blocks]).encode(), digest_size=16).digest()

    @property
    def written_by(self) -> Metadata:
        """The metadata by which the message is found again; raise ValueError where it has none."""
        if self.metadata is None:
            raise ValueError("This message carries no metadata.")
        return self.metadata


def metadata(kind: str, **payload: str) -> Metadata:
    """The mark by which a message of ours is found again."""
    return {"event_type": kind, "event_payload": payload}
