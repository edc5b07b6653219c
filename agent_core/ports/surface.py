"""Where people are: chat surfaces, and who is who on them."""

from datetime import datetime
from typing import Protocol

from agent_core.model.agent import Agent
from agent_core.model.note import Note, Notice
from agent_core.model.people import Actor
from agent_core.model.places import ChannelScope, SurfaceName, ThreadRef
from agent_core.model.turn import Turn


class ChatSurface(Protocol):
    """Where an agent's thread is. Showing again replaces: a turn never has two cards, a notice is told once.

    Every method may be called again after a crash and then looks before it sends. Raise SurfaceBusy when it should
    be tried again, ThreadGone when the thread cannot be written to any more.
    """

    @property
    def name(self) -> SurfaceName:
        """Which surface this is."""
        ...

    async def open_thread(self, agent: Agent) -> ThreadRef:
        """Post the agent's root message, unless it stands there, and return its thread."""
        ...

    async def show(self, agent: Agent, turn: Turn) -> str:
        """Show the turn's card in its present state, in place of `turn.shown_as` if set; return its address."""
        ...

    async def notice(self, agent: Agent, notice: Notice) -> None:
        """Tell the thread something."""
        ...

    async def acknowledge(self, agent: Agent, note: Note) -> None:
        """Let the writer see that the note was kept."""
        ...

    async def status(self, agent: Agent) -> None:
        """Let people see what the agent is doing, by the platform's own indicator where it has one."""
        ...

    async def upload(self, agent: Agent, filename: str, data: bytes) -> None:
        """Offer a file in the thread."""
        ...

    async def missed_replies(self, since: datetime) -> tuple[Note, ...]:
        """Replies written while nobody listened, oldest first; empty where the surface cannot miss any."""
        ...


class Directory(Protocol):
    """Who people are, as their platform says. Answers may be cached for minutes."""

    async def actor(self, channel: ChannelScope, person: str) -> Actor:
        """The person, with what kind of member they are; raise NotFound."""
        ...

    async def groups(self, actor: Actor) -> frozenset[str]:
        """The groups and roles the person is in."""
        ...
