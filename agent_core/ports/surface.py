"""Chat surfaces (Slack, Discord, web, terminal), and the members of their channels."""

from typing import Protocol

from agent_core.model.actors import Actor
from agent_core.model.agent import Agent
from agent_core.model.channels import ChannelScope, SurfaceName, ThreadRef
from agent_core.model.note import Notice
from agent_core.model.turn import Turn


class ChatSurface(Protocol):
    """Shows an agent's cards and notices in its thread. Showing a turn again updates its card: it never has two.

    `may_exist`: a process that crashed may have sent the message already, so the surface looks for it before sending.
    Methods raise SurfaceBusy if a retry may help, and ThreadGone if the thread cannot be written to any more. Replies
    and clicks do not come through this port but through the surface's own listeners.
    """

    @property
    def name(self) -> SurfaceName:
        """The surface's name."""

    async def open_thread(self, agent: Agent) -> ThreadRef:
        """Post the agent's root message unless it exists, and return its thread."""

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        """Post the turn's card, or update the card at `turn.shown_as`; return its address."""

    async def notice(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        """Post a notice to the thread."""

    async def status(self, agent: Agent) -> None:
        """Show what the agent is doing, by the platform's typing or status indicator. Never raises."""

    async def announce_lost_thread(self, agent: Agent, reason: str) -> None:
        """Tell the owner, outside the thread, that the thread is gone and the agent paused. Never raises."""

    async def upload(self, agent: Agent, filename: str, data: bytes) -> None:
        """Post a file to the thread."""

    async def actor(self, channel: ChannelScope, person: Actor) -> Actor:
        """The person with the present name and kind of membership in the channel.

        The answer may be cached for minutes. Raise NotFound for a person who has left, NotAllowed or SurfaceError while
        the platform gives no answer. A surface without accounts returns `person`.
        """
