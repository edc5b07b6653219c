"""People and bots as actors, and the origin of a request."""

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


def is_name_of(people: Iterable[str], name: str) -> bool:
    """Whether one of these display names, or its first word, is this name, in any case."""
    wanted = name.casefold()
    return any(wanted in (each.casefold(), *each.casefold().split()[:1]) for each in people)
