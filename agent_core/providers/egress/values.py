"""Values that describe one fetch: the admitted target with its addresses, limits, and timeouts."""

from collections.abc import Callable
from dataclasses import dataclass

from agent_core.ports.web import ContactedHost
from agent_core.providers.egress.address_policy import Ip
from agent_core.providers.egress.urls import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Timeouts in seconds: DNS lookup, connecting, waiting for the next bytes, and the whole request."""

    dns: float = 5.0
    connect: float = 8.0
    idle: float = 15.0
    total: float = 40.0


@dataclass(frozen=True, slots=True)
class AdmittedTarget:
    """A target with its checked addresses."""

    target: Target
    addresses: tuple[Ip, ...]

    @property
    def address(self) -> ContactedHost:
        """The host's name with the first of its checked addresses."""
        return ContactedHost(self.target.host, str(self.addresses[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """What a fetch accepts: at most `max_bytes` after decompression, and media types for which `accepts` is true."""

    max_bytes: int
    accepts: Callable[[str], bool] = bool
