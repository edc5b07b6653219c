"""What one fetch from the web is given: the target with its checked addresses, what is taken, and how long it waits."""

from collections.abc import Callable
from dataclasses import dataclass

from agent_core.ports.web import Address
from agent_core.providers.egress.address_policy import Ip
from agent_core.providers.egress.urls import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds that are waited: for a name, for a connection, for the next bytes, and for everything together."""

    name: float = 5.0
    connect: float = 8.0
    idle: float = 15.0
    whole: float = 40.0


@dataclass(frozen=True, slots=True)
class AdmittedTarget:
    """Where a request goes, with the addresses that were checked."""

    target: Target
    addresses: tuple[Ip, ...]

    @property
    def first(self) -> Address:
        """The host with the first of its addresses, as the result names it."""
        return Address(self.target.host, str(self.addresses[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """What is taken: at most so many bytes when unpacked, of a type that `kinds` matches (all where there is none)."""

    most: int
    kinds: Callable[[str], bool] = bool
