"""A message to send to Discord."""

import hashlib
import json
from dataclasses import dataclass

from discord.ui import Item, LayoutView

from adapters.answers import Attachment


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
