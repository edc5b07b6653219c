"""The egress gateway: SSRF protection. Every request to an address that a model chose goes through here.

A URL becomes an `AdmittedTarget`: a target and the addresses that its name has, all of them checked. Only these are
connected to. The name is not looked up again, so a DNS answer that changes later has no effect (DNS rebinding).
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import TypeAlias
from urllib.parse import urljoin

from agent_core.errors import CommandError
from agent_core.model.sites import Sites
from agent_core.ports.web import Fetched
from agent_core.providers.egress.address_policy import InternalHosts, Ip, inside, meant
from agent_core.providers.egress.local_addresses import LocalAddresses, ReadLocalAddresses, read_local_addresses
from agent_core.providers.egress.urls import Target, refused, target_of
from agent_core.providers.egress.values import AdmittedTarget, FetchLimits, Timeouts

MOST_REDIRECTS = 5
MOST_ADDRESSES = 8
OPEN_ONLY = "Agents reach the open internet only, and hosts that the operator names in ALLOW_INTERNAL_HOSTS"
UNREADABLE = "The operator should look why the system does not tell Signoff its network interfaces"

Resolve: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]


async def resolve_by_system(host: str) -> Sequence[str]:
    """The addresses that this machine finds for a name."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressGateway:
    """Lets out what may go out. `agent` is how requests say who sends them.

    `local_addresses` reads this machine's addresses: before each check, because they change while it runs.
    """

    internal: InternalHosts = field(default_factory=InternalHosts)
    resolve: Resolve = resolve_by_system
    patience: Timeouts = field(default_factory=Timeouts)
    agent: str = "Signoff"
    local_addresses: ReadLocalAddresses = read_local_addresses

    def check_target(self, target: Target, sites: Sites) -> None:
        """Raise CommandError for what is refused as it is written. Asks nobody, so it may stand before a decision."""
        if why := sites.refusal(target.host):
            raise refused(target.url, why.rstrip("."))
        if target.is_inner and target.host not in self.internal.names:
            raise refused(target.url, f"{target.host} is the name of something inside. {OPEN_ONLY}")
        if target.address:
            self._check_addresses(target, (target.address,))

    async def admit(self, url: str, sites: Sites) -> AdmittedTarget:
        """The way to a URL; raise CommandError where agents of this channel may not go there."""
        return await self.admit_target(target_of(url), sites)

    async def admit_target(self, target: Target, sites: Sites) -> AdmittedTarget:
        """The way to a target. Resolves its name: only after people decided."""
        self.check_target(target, sites)
        if target.address:
            return AdmittedTarget(target, (target.address,))
        addresses = await self._addresses(target)
        self._check_addresses(target, addresses)
        return AdmittedTarget(target, addresses[:MOST_ADDRESSES])

    def _check_addresses(self, target: Target, addresses: Sequence[Ip]) -> None:
        """One address inside is enough to refuse the whole name: the next try could take it."""
        local = self._local_addresses(target)
        for address in addresses:
            what = inside(address) or local.description(meant(address))
            if what and not self.internal.allow(target.host, address):
                shown = address if target.address else f"{target.host} has an address inside: {address}"
                raise refused(target.url, f"{shown} {what}. {OPEN_ONLY}")

    def _local_addresses(self, target: Target) -> LocalAddresses:
        try:
            return self.local_addresses()
        except (OSError, ValueError, LookupError) as fault:
            why = f"this machine's own addresses cannot be read ({type(fault).__name__}), so none can be told from it"
            raise refused(target.url, f"{why}. {UNREADABLE}") from None

    async def fetch(self, url: str, sites: Sites, wanted: FetchLimits) -> Fetched:
        """Get what is there, following redirects, each admitted like the first; raise CommandError."""
        from agent_core.providers.egress.http_fetch import Redirect, get  # loads the HTTP client

        way = await self.admit(url, sites)
        hosts = [way.first]
        try:
            async with asyncio.timeout(self.patience.whole):
                for _ in range(1 + MOST_REDIRECTS):
                    match await get(way, wanted, self.patience, self.agent):
                        case Redirect(location):
                            way = await self._follow_redirects(way, location, sites)
                            hosts.append(way.first)
                        case Fetched() as fetched:
                            return replace(fetched, hosts=tuple(dict.fromkeys(hosts)))
        except TimeoutError:
            raise CommandError(
                f"{way.target.host} did not send it whole within {self.patience.whole:g} seconds."
            ) from None
        raise CommandError(
            f"{target_of(url).host} led on more than {MOST_REDIRECTS} times; it was followed no further."
        )

    async def connect(self, way: AdmittedTarget) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A plain connection to one of the checked addresses; raise CommandError."""
        for address in way.addresses:
            try:
                async with asyncio.timeout(self.patience.connect):
                    return await asyncio.open_connection(str(address), way.target.port)
            except OSError:  # and TimeoutError, which is one
                continue
        raise CommandError(f"{way.target.host} cannot be reached.")

    async def _follow_redirects(self, way: AdmittedTarget, location: str, sites: Sites) -> AdmittedTarget:
        target = target_of(urljoin(way.target.url, location))
        if way.target.scheme == "https" and target.scheme == "http":
            # People were shown https: what anybody on the way may read and change is theirs to ask for.
            raise refused(
                way.target.url, f"it leads from https to plain http. Ask for {target.url} itself if it will do"
            )
        return await self.admit_target(target, sites)

    async def _addresses(self, target: Target) -> tuple[Ip, ...]:
        try:
            async with asyncio.timeout(self.patience.name):
                found = await self.resolve(target.host)
        except TimeoutError:
            raise CommandError(f"The address of {target.host} could not be found in time. Try again later.") from None
        except (OSError, UnicodeError):
            found = ()
        if not found:
            raise CommandError(f"There is no host {target.host}. Check how it is written.")
        return tuple(dict.fromkeys(map(ip_address, found)))
