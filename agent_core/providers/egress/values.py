"""Values of one fetch: admitted target, limits and timeouts."""

from collections.abc import Callable
from dataclasses import dataclass

from agent_core.ports.web import ContactedHost
from agent_core.providers.egress.address_policy import Ip
from agent_core.providers.egress.urls import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Timeouts in seconds: DNS, connection, next bytes, whole request."""

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
        """The host with the first checked address."""
        return ContactedHost(self.target.host, str(self.addresses[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """`max_bytes` after decompression; `accepts` decides by media type (all types by default)."""

    max_bytes: int
    accepts: Callable[[str], bool] = bool
