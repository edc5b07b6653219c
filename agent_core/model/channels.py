"""Surfaces, channels and threads. The channel is the isolation boundary of an agent."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Self, cast, get_args
from urllib.parse import quote, unquote

SurfaceName = Literal["slack", "discord", "web", "terminal"]
CHAT_PLATFORMS: frozenset[SurfaceName] = frozenset({"slack", "discord"})


@dataclass(frozen=True, slots=True)
class ChannelScope:
    """A channel of a workspace on a surface. `parse` turns `key` back into the channel."""

    surface: SurfaceName
    workspace: str
    channel: str

    @property
    def key(self) -> str:
        """`slack/T123/C456`, percent-encoded: the channel's name in database keys."""
        return _key(self.surface, self.workspace, self.channel)

    @property
    def has_notifications(self) -> bool:
        """Whether people of the channel can be reminded, and get direct messages, while they look elsewhere."""
        return self.surface in CHAT_PLATFORMS

    @classmethod
    def parse(cls, key: str) -> Self:
        """Parse a `key`; raise ValueError for any other text."""
        surface, workspace, channel = (unquote(part) for part in key.split("/"))
        if surface not in get_args(SurfaceName):
            raise ValueError(f"{surface!r} is not a surface")
        return cls(cast("SurfaceName", surface), workspace, channel)


@lru_cache(maxsize=4096)
def _key(*parts: str) -> str:
    # Cached: used in every query, a dozen times per turn.
    return "/".join(quote(part, safe="") for part in parts)


@dataclass(frozen=True, slots=True)
class ThreadRef:
    """A thread in a channel, by the platform's id."""

    channel: ChannelScope
    thread: str

    def __str__(self) -> str:
        return f"{self.channel.key}/{quote(self.thread, safe='')}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a text that `str` made from a thread."""
        channel, _, thread = text.rpartition("/")
        return cls(ChannelScope.parse(channel), unquote(thread))


def whole_workspace(surface: SurfaceName, workspace: str) -> ChannelScope:
    """The scope of what is set for all channels of a workspace."""
    return ChannelScope(surface, workspace, "*")
