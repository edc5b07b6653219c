"""Messages to the other processes of an installation."""

import asyncio
from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

# "changed": an agent changed, so open pages reload. "person", "installation": what is known of a person or of a
# workspace's installation is outdated.
Topic: TypeAlias = Literal["changed", "person", "installation"]


class Broadcast(Protocol):
    """Sends short messages to the other processes. A message may be lost, so nothing may depend on it but speed."""

    def publish(self, topic: Topic, key: str) -> None:
        """Send `key` (at most 200 characters) to the other processes soon. Never raises."""

    def subscribe(self, topic: Topic, receive: Callable[[str], None]) -> None:
        """Call `receive` with the key of each message of other processes."""

    async def run(self) -> None:
        """Send and receive until cancelled."""


class NoBroadcast:
    """Implements `Broadcast` where there is one process."""

    def publish(self, topic: Topic, key: str) -> None:
        """Do nothing."""

    def subscribe(self, topic: Topic, receive: Callable[[str], None]) -> None:
        """Do nothing: no message arrives."""

    async def run(self) -> None:
        """Wait until cancelled."""
        await asyncio.Event().wait()


NO_BROADCAST = NoBroadcast()
