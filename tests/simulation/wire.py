"""The messages between processes, and how often what fails."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from agent_core.ports.engine import Topic
from tests.simulation.scheduler import Chance, Process

MESSAGE_SECONDS = 0.1


@dataclass(slots=True)
class Faults:
    """How often what fails. All 0 is a calm world."""

    away: float = 0.0  # of the commits: the database goes away before it
    lost: float = 0.0  # of the commits: it takes effect, and the answer is lost
    late: float = 0.0  # of the commits: the answer is lost, and it takes effect later, unless it conflicts then
    busy: float = 0.0  # of what is shown: the platform is busy
    unreachable: float = 0.0  # of the calls of models
    deaf: float = 0.0  # of the messages between processes: they are lost

    def calm_down(self) -> None:
        self.away = self.lost = self.late = self.busy = self.unreachable = self.deaf = 0.0


@dataclass(slots=True)
class Wire:
    """Carries messages between processes; each takes up to MESSAGE_SECONDS, and some are lost.

    `lost`: when a message was lost last, by its receiver, topic and key.
    """

    chance: Chance
    faults: Faults
    ends: "list[WireEnd]" = field(default_factory=list)
    lost: "dict[tuple[WireEnd, Topic, str], float]" = field(default_factory=dict)

    def join(self, process: Process) -> "WireEnd":
        self.ends.append(WireEnd(self, process))
        return self.ends[-1]

    def carry(self, end: "WireEnd", topic: Topic, key: str) -> None:
        loop = asyncio.get_running_loop()
        if self.chance.happens(self.faults.deaf):
            self.lost[end, topic, key] = loop.time()
            return
        seconds = self.chance.random.random() * MESSAGE_SECONDS
        loop.call_later(seconds, end.receive, topic, key, context=end.process.context)


@dataclass(eq=False, slots=True)
class WireEnd:
    """Implements `Broadcast` for one process."""

    wire: Wire
    process: Process
    receivers: dict[Topic, list[Callable[[str], None]]] = field(default_factory=dict)

    def publish(self, topic: Topic, key: str) -> None:
        for end in self.wire.ends:
            if end is not self and topic in end.receivers and not end.process.is_dead:
                self.wire.carry(end, topic, key)

    def subscribe(self, topic: Topic, receive: Callable[[str], None]) -> None:
        self.receivers.setdefault(topic, []).append(receive)

    def receive(self, topic: Topic, key: str) -> None:
        for receive in self.receivers[topic]:
            receive(key)

    async def run(self) -> None:
        """Return: `publish` starts what has to be done."""
