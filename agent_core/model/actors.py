"""Who does something, and where the request to do it came from."""

from dataclasses import dataclass
from typing import Literal

from agent_core.model.channels import ChannelScope

ActorKind = Literal["member", "guest", "external", "bot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Somebody on a surface, as the surface vouches for them. `id` is the platform's, `display` is shown."""

    id: str
    display: str
    kind: ActorKind = "member"
    workspace: str = ""

    def __str__(self) -> str:
        return f"@{self.display}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Who asks, in which channel, and the platform's own id of the event: taken from the platform, never from a button.

    The same `delivery` takes effect once; without one, every call counts.
    """

    by: Actor
    channel: ChannelScope
    delivery: str | None = None
