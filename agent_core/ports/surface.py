"""Where people are: chat surfaces, and who is who on them."""

from typing import Protocol

from agent_core.model.actors import Actor
from agent_core.model.agent import Agent
from agent_core.model.channels import ChannelScope, SurfaceName, ThreadRef
from agent_core.model.note import Notice
from agent_core.model.turn import Turn


class ChatSurface(Protocol):
    """Where an agent's thread is. Showing again replaces: a turn never has two cards, a notice is told once.

    `may_stand` says that a process which died may have sent this very thing: then look before sending. Raise
    SurfaceBusy when it should be tried again, ThreadGone when the thread cannot be written to any more. What people
    write and press comes in through the surface's own listeners, what they wrote while it was away among it.
    """

    @property
    def name(self) -> SurfaceName:
        """Which surface this is."""
        ...

    async def open_thread(self, agent: Agent) -> ThreadRef:
        """Post the agent's root message, unless it stands there, and return its thread."""
        ...

    async def show(self, agent: Agent, turn: Turn, *, may_stand: bool) -> str:
        """Show the turn's card in its present state, in place of `turn.shown_as` if set; return its address."""
        ...

    async def notice(self, agent: Agent, notice: Notice, *, may_stand: bool) -> None:
        """Tell the thread something."""
        ...

    async def status(self, agent: Agent) -> None:
        """Let people see what the agent is doing, by the platform's own indicator where it has one. Never raises."""
        ...

    async def announce_lost_thread(self, agent: Agent, reason: str) -> None:
        """Tell the owner elsewhere that the agent's thread is gone and it paused, if that can be done. Never raises."""
        ...

    async def upload(self, agent: Agent, filename: str, data: bytes) -> None:
        """Offer a file in the thread."""
        ...

    async def actor(self, channel: ChannelScope, person: Actor) -> Actor:
        """The person as the platform knows them now, with what kind of member of the channel they are.

        The answer may be cached for minutes. Raise NotFound for somebody who is gone, NotAllowed or SurfaceError while
        the platform does not say. A surface where people only have names gives the person back.
        """
        ...
