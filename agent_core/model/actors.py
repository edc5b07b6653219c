"""People and agents as actors, and the origin of a request."""

from dataclasses import dataclass
from typing import Literal

from agent_core.model.channels import ChannelScope

ActorKind = Literal["member", "guest", "external", "bot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """A person or bot of a surface, as the platform identified them. `id` is the platform's id, `display` is shown."""

    id: str
    display: str
    kind: ActorKind = "member"
    workspace: str = ""

    def __str__(self) -> str:
        return f"@{self.display}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Who asks, in which channel, and the platform's id of the event. Taken from the platform, never from a button.

    A `delivery` takes effect once; without one, every call takes effect.
    """

    by: Actor
    channel: ChannelScope
    delivery: str | None = None
