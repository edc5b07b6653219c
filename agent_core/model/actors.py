"""People and bots as actors, and the origin of a request."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from agent_core.model.channels import ChannelScope
from agent_core.model.lines import one_line, short_name, unseparated

ActorKind = Literal["member", "guest", "external", "bot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """A person or bot, as their platform identified them. `id` is the platform's id; `display` is the name to show.

    As text this is a name for prompts and notices, which holds no sentence: a person chose their name.
    """

    id: str
    display: str
    kind: ActorKind = "member"
    workspace: str = ""

    def __str__(self) -> str:
        return self.in_full if self.kind == "bot" else f"@{short_name(self.display)}"

    @property
    def in_full(self) -> str:
        """The whole name, for cards and lists."""
        return f"@{unseparated(one_line(self.display))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Who asks, in which channel, and by which event. Taken from the platform, never from a button.

    `delivery`: the platform's id of the event. A repeated event has no effect; with None, every call takes effect.
    """

    by: Actor
    channel: ChannelScope
    delivery: str | None = None


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
