"""The terminal as a ChatSurface: whatever is to be shown waits in one queue, in order, for the console to write it."""

import asyncio
import getpass
from dataclasses import dataclass, field
from typing import TypeAlias

from adapters.ui_text import counted
from agent_core.model.actors import Actor
from agent_core.model.agent import Agent
from agent_core.model.channels import ChannelScope, SurfaceName, ThreadRef
from agent_core.model.note import Notice
from agent_core.model.turn import Turn

CHANNEL = ChannelScope("terminal", "local", "solo")


@dataclass(frozen=True, slots=True)
class CardEvent:
    """A card in its present state."""

    agent: Agent
    turn: Turn


@dataclass(frozen=True, slots=True)
class NoticeEvent:
    """Something said to the thread.

    `reply` is what a model said where it could not be used; `is_answer`: to a question that somebody asked.
    """

    text: str
    reply: str = ""
    is_answer: bool = False


@dataclass(frozen=True, slots=True)
class StatusEvent:
    """What the agent is doing; every card and notice before it was shown."""

    agent: Agent


@dataclass(frozen=True, slots=True)
class AdvancedEvent:
    """The agent was carried on as far as it goes: it asks, waits or rests, and all of that is saved."""


@dataclass(frozen=True, slots=True)
class HaltedEvent:
    """The person wants out."""


Event: TypeAlias = CardEvent | NoticeEvent | StatusEvent | AdvancedEvent | HaltedEvent


@dataclass(frozen=True, slots=True)
class TerminalSurface:
    """Keeps events for the console. A card's address is its turn's id; nothing can be missed between two lines."""

    events: asyncio.Queue[Event] = field(default_factory=asyncio.Queue)
    name: SurfaceName = "terminal"

    async def open_thread(self, agent: Agent) -> ThreadRef:
        """The thread is the terminal that is there already."""
        return ThreadRef(agent.channel, agent.id)

    async def show(self, agent: Agent, turn: Turn, *, may_stand: bool) -> str:
        """Have the card written; what a command gives while it runs would only scroll by."""
        if not (turn.state == "running" and turn.live):
            self.events.put_nowait(CardEvent(agent, turn))
        return turn.id

    async def notice(self, agent: Agent, notice: Notice, *, may_stand: bool) -> None:
        """Have the notice written."""
        self.events.put_nowait(NoticeEvent(notice.text, notice.reply, is_answer=notice.kind == "answer"))

    async def status(self, agent: Agent) -> None:
        """Have it written that the agent thinks or waits."""
        self.events.put_nowait(StatusEvent(agent))

    async def announce_lost_thread(self, agent: Agent, reason: str) -> None:
        """Nothing: a terminal cannot lose its thread."""

    async def upload(self, agent: Agent, filename: str, data: bytes) -> None:
        """Say that the file is there."""
        self.events.put_nowait(
            NoticeEvent(f"{agent.name} shared {filename} ({counted(len(data), 'byte')}), a file in its workspace.")
        )

    async def actor(self, channel: ChannelScope, person: Actor) -> Actor:
        """The person as recorded: here people only have names."""
        return person


def person() -> Actor:
    """Who sits at the terminal, as the operating system says."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = "you"
    return Actor(id=name, display=name, workspace=CHANNEL.workspace)
