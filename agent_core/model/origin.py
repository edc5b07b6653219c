"""Who acts and where, as values: people and bots, channels (an agent's isolation boundary), threads, installations."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Literal, Self, TypeAlias, cast, get_args
from urllib.parse import quote, unquote

from agent_core.text.lines import one_line, short_name, unseparated

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


ActorKind = Literal["member", "guest", "external", "bot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """A person or bot, as their platform identified them. `id` is the platform's id; `display` is the name to show.

    `groups`: ids of their groups (Slack, those that the channel's policy names), or after a `&` their roles (Discord)
    or the names of their groups at the provider where they sign in to the page.
    As text this is a name for prompts and notices, which holds no sentence: a person chose their name.
    """

    id: str
    display: str
    kind: ActorKind = "member"
    workspace: str = ""
    groups: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return self.in_full if self.kind == "bot" else f"@{short_name(self.display)}"

    @property
    def signed_in(self) -> bool:
        """Whether this is a person of the page who signed in with an account; any other person there is a browser."""
        return ACCOUNT in self.id

    @property
    def in_full(self) -> str:
        """The whole name, for cards and lists."""
        return f"@{unseparated(one_line(self.display))}"


ACCOUNT = "|"  # between the parts of an account's id, and in no other id of a person


def account_id(issuer: str, subject: str) -> str:
    """The id of a person by the provider where they sign in, and by its id of them; no two share one."""
    return f"{issuer}{ACCOUNT}{quote(subject, safe='')}"


SIGNOFF = Actor(id="signoff", display="Signoff", kind="bot")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Who asks, in which channel, and by which event. Taken from the platform, never from a button.

    `delivery`: the platform's id of the event. A repeated event has no effect; with None, every call takes effect.
    """

    by: Actor
    channel: ChannelScope
    delivery: str | None = None

    @property
    def has_account(self) -> bool:
        """Whether who asks is known by an account, which nobody else can have."""
        return self.channel.surface in CHAT_PLATFORMS or (self.channel.surface == "web" and self.by.signed_in)


EVERYBODY = frozenset({"here", "everyone", "everybody", "channel", "all", "team", "group"})


def is_name_of(people: Iterable[str], name: str) -> bool:
    """Whether a line to one of these people, or to all of them, may begin with this name.

    Case and accents are ignored, and the first letters of a name count as the name. In a script without spaces between
    words every part counts: the family name stands first there.
    """
    first = next(iter(_words(name)), "")
    if not first or first in EVERYBODY:
        return bool(first)
    words = (word for each in people for word in _words(each))
    return any(word.startswith(first) or (not first.isascii() and first in word) for word in words)


def _words(name: str) -> list[str]:
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold().replace("ı", "i"))
    return re.findall(r"[^\W_]+", "".join(each for each in letters if not unicodedata.combining(each)))


InstalledOn: TypeAlias = SurfaceName | Literal["mcp"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Signoff in one workspace. `sealed` holds the tokens, encrypted; only the surface can decrypt them.

    On "mcp" the workspace is the name of a tool server at which somebody signed in.
    """

    surface: InstalledOn
    workspace: str
    name: str
    sealed: str = field(repr=False)
    installed_at: datetime
