"""The terminal as a ChatSurface: puts events into one queue, from which the console writes them in order."""

import asyncio
import getpass
import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from agent_core.model.agent import Agent
from agent_core.model.note import Notice
from agent_core.model.origin import Actor, ChannelScope, SurfaceName
from agent_core.model.turn import Turn
from agent_core.ports.surface import ChatSurface
from agent_core.text.lines import counted

CHANNEL = ChannelScope("terminal", "local", "solo")
BUTTON_ADVICE = re.compile(r" Resume (?:to continue|tries again)\.\Z")


@dataclass(frozen=True, slots=True)
class CardEvent:
    """A card to write: the turn and its agent."""

    agent: Agent
    turn: Turn


@dataclass(frozen=True, slots=True)
class NoticeEvent:
    """A notice to write. `reply`: an unusable reply of the model, or ""; `is_answer`: it answers a question."""

    text: str
    reply: str = ""
    is_answer: bool = False


@dataclass(frozen=True, slots=True)
class StatusEvent:
    """The agent's status changed; all earlier cards and notices are in the queue before it."""

    agent: Agent


# advanced: the agent can do nothing more without a person, and its state is saved. halted: the person pressed Ctrl-C.
# typed: a line is there that no prompt waited for.
Event: TypeAlias = CardEvent | NoticeEvent | StatusEvent | Literal["advanced", "halted", "typed"]


@dataclass(frozen=True, slots=True)
class TerminalSurface(ChatSurface):
    """Puts events into the console's queue. A card's address is its turn's id."""

    events: asyncio.Queue[Event] = field(default_factory=asyncio.Queue)
    name: SurfaceName = "terminal"
    shows_what_is_saved: bool = False

    async def show(self, agent: Agent, turn: Turn, *, may_exist: bool) -> str:
        """Queue the card, unless only the live output of its command changed; what a tool server asks counts."""
        if not is_only_live(turn) or turn.asked:
            self.events.put_nowait(CardEvent(agent, turn))
        return turn.id

    async def notice(self, agent: Agent, notice: Notice, *, may_exist: bool) -> None:
        text = BUTTON_ADVICE.sub("", notice.text)  # the session ends, and the console names the command instead
        self.events.put_nowait(NoticeEvent(text, notice.reply, is_answer=notice.kind == "answer"))

    async def status(self, agent: Agent) -> None:
        self.events.put_nowait(StatusEvent(agent))

    def forget_shown(self, agent: Agent) -> None:
        """Do nothing: this surface remembers nothing that it has shown."""

    async def announce_lost_thread(self, agent: Agent, reason: str) -> None:
        """Do nothing: a terminal cannot lose its thread."""

    async def upload(self, agent: Agent, filename: str, data: bytes) -> None:
        self.events.put_nowait(
            NoticeEvent(f"{agent.name} shared {filename} ({counted(len(data), 'byte')}), a file in its workspace.")
        )


def is_only_live(turn: Turn) -> bool:
    """Whether the card shows the live output of a running command, beside what was shown before."""
    return turn.state == "running" and bool(turn.live)


def person() -> Actor:
    """The person at the terminal, named as the user of the operating system."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = "you"
    return Actor(id=name, display=name, workspace=CHANNEL.workspace)
