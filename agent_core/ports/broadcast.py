"""The other processes of an installation: messages to them, and whether they live."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

# "wake": an agent has work. "wake claimant": the same, for the worker that has claimed it. "interrupt": its step has to
# be cancelled. "changed": an agent changed, so open pages reload. "person", "installation": what is known of a person
# or of a workspace's installation is outdated.
Topic: TypeAlias = Literal["wake", "wake claimant", "interrupt", "changed", "person", "installation"]


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


def never_gone(_process: str) -> bool:
    """Whether a process has certainly ended: unknown."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Peers:
    """How a process knows the others that work on its database.

    `process`: identifies this process; "" if the system does not tell. `is_gone` tells of such a text whether that
    process has certainly ended.
    """

    broadcast: Broadcast = NO_BROADCAST
    process: str = ""
    is_gone: Callable[[str], bool] = never_gone

    @property
    def are_possible(self) -> bool:
        """Whether there may be others."""
        return self.broadcast is not NO_BROADCAST


ALONE = Peers()
