"""People and bots as actors, and the origin of a request."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from agent_core.model.channels import ChannelScope

ActorKind = Literal["member", "guest", "external", "bot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """A person or bot, as their platform identified them. `id` is the platform's id; `display` is the name to show."""

    id: str
    display: str
    kind: ActorKind = "member"
    workspace: str = ""

    def __str__(self) -> str:
        return f"@{self.display}"


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
    """Whether a line to one of these people, or to all of them, may begin with this name, in any case and form."""
    words = _words(name)
    if not words or words[0] in EVERYBODY:
        return bool(words)
    return any(words[0] in _words(each) for each in people)


def _words(name: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKC", name).casefold().replace("ı", "i"))
