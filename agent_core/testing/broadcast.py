"""A broadcast between the processes of one test, which arrives at once."""

from collections.abc import Callable
from dataclasses import dataclass, field

from agent_core.ports.engine import NoBroadcast, Topic


@dataclass(eq=False, slots=True)
class LinkedBroadcast(NoBroadcast):
    """Implements `Broadcast` for one process: the others receive a message at once. `is_deaf`: it receives none.

    `ends`: one list for all processes; each adds itself.
    """

    ends: "list[LinkedBroadcast]"
    is_deaf: bool = False
    receivers: list[tuple[Topic, Callable[[str], None]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ends.append(self)

    def publish(self, topic: Topic, key: str) -> None:
        for end in self.ends:
            if end is not self and not end.is_deaf:
                for subscribed, receive in end.receivers:
                    if subscribed == topic:
                        receive(key)

    def subscribe(self, topic: Topic, receive: Callable[[str], None]) -> None:
        self.receivers.append((topic, receive))
