"""A message to send to Discord, links to what was posted, and texts measured, truncated and escaped.

Discord interprets markdown in every text of a message. So an untrusted text is either put into a code block, which
must not contain three backticks, or gets a backslash before each special character.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from discord.ui import Item, LayoutView

from adapters.screens.text_fit import units
from adapters.screens.visible_text import readable
from adapters.typed.answers import Attachment
from agent_core.model.agent import Agent
from agent_core.model.origin import ChannelScope

NOTHING = "–"  # Discord rejects empty texts
FENCE = "```"
# https://discord.com/developers/docs/reference#message-formatting-timestamp-styles
TimestampStyle: TypeAlias = Literal["f", "R"]
# Characters special anywhere, special before certain words, and special at the start of a line.
SPECIAL = re.compile(
    r"[\\*_~`|<\[\]]|:(?=//|[\w+-]+:)|@(?=everyone|here)|(?m:^(?P<before>[^\S\n]*\d*))(?P<mark>[-+.#>])"
)


def clean(text: str) -> str:
    """The text with invisible, reordering and unsendable characters made visible, and with plain line ends."""
    return readable(text).replace("\r\n", "\n")


def escaped(text: str) -> str:
    return SPECIAL.sub(_escape, text)


def escaped_size(text: str) -> int:
    return units(escaped(text))


def timestamp(at: datetime, style: TimestampStyle = "f") -> str:
    """A time that Discord shows in the reader's time zone and language: "f" as date and time, "R" as "2 hours ago"."""
    return f"<t:{int(at.timestamp())}:{style}>"


def quoted(text: str) -> str:
    """The text as a quotation, so that none of its lines looks like Signoff's own."""
    return "\n".join(f"> {line}" for line in escaped(text).split("\n"))


def quoted_size(text: str) -> int:
    return units(quoted(text))


def can_be_boxed(text: str) -> bool:
    """Whether a code block shows the text unchanged: no fence, and no line breaks at its ends (Discord drops them)."""
    return FENCE not in text and text.strip("\n") == text and bool(text)


def boxed(text: str, language: str = "") -> str:
    """The text in a code block; requires `can_be_boxed`."""
    return f"{FENCE}{language}\n{text}\n{FENCE}"


def listed(lines: Sequence[str], what: str, room: int) -> str:
    """As many lines as fit, and the number of those left out; `what` names them, such as "agents"."""
    shown: list[str] = []
    for line in lines:
        room -= units(line) + 1
        if room < 0:
            break
        shown.append(line)
    left = len(lines) - len(shown)
    return "\n".join([*shown, *([f"-# and {left:,} more {what}"] if left else [])])


def _escape(special: re.Match[str]) -> str:
    if special["mark"]:
        return f"{special['before']}\\{special['mark']}"
    return f"\\{special[0]}"


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
