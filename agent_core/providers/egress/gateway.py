"""The egress gateway (SSRF protection): resolves and checks every URL and redirect that a model chose, and fetches it.

The gateway turns a URL into an `AdmittedTarget`: the parsed URL with its resolved addresses, all of them checked. It
connects to these addresses only and does not resolve the name again, so a DNS answer that changes later has no effect
(DNS rebinding).
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import TypeAlias
from urllib.parse import urljoin

from agent_core.errors import CommandError, NothingReceived
from agent_core.model.channel_settings import Sites
from agent_core.ports.web import FetchedContent
from agent_core.providers.egress.address_policy import InternalHosts, Ip, describe_internal, unwrap_ipv4
from agent_core.providers.egress.local_addresses import LocalAddresses, ReadLocalAddresses, read_local_addresses
from agent_core.providers.egress.urls import Target, parse_url, url_error
from agent_core.providers.egress.values import AdmittedTarget, FetchLimits, Timeouts

MAX_REDIRECTS = 5
MAX_ADDRESSES = 8
UNREADABLE = "The operator should look why the system does not tell Signoff its network interfaces"

Resolve: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]


async def resolve_by_system(host: str) -> Sequence[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressGateway:
    """Checks URLs, sends GET requests, opens TCP connections. `internal` is the operator's allow list.

    `local_addresses` reads this machine's addresses before each check, because they change at run time.
    """

    internal: InternalHosts = field(default_factory=InternalHosts)
    resolve: Resolve = resolve_by_system
    timeouts: Timeouts = field(default_factory=Timeouts)
    user_agent: str = "Signoff"
    local_addresses: ReadLocalAddresses = read_local_addresses

    def check_target(self, target: Target, sites: Sites) -> None:
        """Raise CommandError if the URL can be refused without a DNS lookup. Sends nothing: safe before approval."""
        if why := sites.refusal(target.host):
            raise url_error(target.url, why.rstrip("."))
        if target.is_internal_name and target.host not in self.internal.names:
            raise self._internal_error(target, f"{target.host} is the name of something inside")
        if target.address:
            self._check_addresses(target, (target.address,))

    async def admit(self, url: str, sites: Sites) -> AdmittedTarget:
        """Parse, resolve and check a URL; raise CommandError if it is refused."""
        return await self.admit_target(parse_url(url), sites)

    async def admit_target(self, target: Target, sites: Sites) -> AdmittedTarget:
        """Resolve and check a target; raise CommandError. Sends a DNS query, so call it only after approval."""
        self.check_target(target, sites)
        if target.address:
            return AdmittedTarget(target, (target.address,))
        addresses = await self._resolve_target(target)
        self._check_addresses(target, addresses)
        return AdmittedTarget(target, addresses[:MAX_ADDRESSES])

    def _check_addresses(self, target: Target, addresses: Sequence[Ip]) -> None:
        """Raise CommandError if even one of the host's addresses is internal, because a retry could connect to it."""
        local = self._local_addresses(target)
        for address in addresses:
            what, here = describe_internal(address), local.describe(unwrap_ipv4(address))
            is_here = what.endswith("this machine") or here.endswith("this machine")
            what = what or here
            if is_here and target.port == self.internal.page_port:
                raise url_error(target.url, "it is Signoff's own page, which agents and plugins do not reach")
            if what and not self.internal.allow(target.host, address):
                shown = address if target.address else f"{target.host} has an address inside: {address}"
                raise self._internal_error(target, f"{shown} {what}")

    def _internal_error(self, target: Target, why: str) -> CommandError:
        public_only = "Agents reach the open internet only, and hosts that the operator names in"
        return url_error(target.url, f"{why}. {public_only} {self.internal.setting}")

    def _local_addresses(self, target: Target) -> LocalAddresses:
        try:
            return self.local_addresses()
        except (OSError, ValueError, LookupError) as fault:
            why = f"this machine's own addresses cannot be read ({type(fault).__name__}), so none can be told from it"
            raise url_error(target.url, f"{why}. {UNREADABLE}") from None

    async def fetch(self, url: str, sites: Sites, limits: FetchLimits) -> FetchedContent:
        """Send a GET request; follow up to 5 redirects, each checked, none from https to http. Raise CommandError."""
        from agent_core.providers.egress.http_fetch import Redirect, get, no_cookies  # loads the HTTP client

        admitted = await self.admit(url, sites)
        hosts, cookies, is_led = [admitted.address], no_cookies(), False
        try:
            async with asyncio.timeout(self.timeouts.total):
                for _ in range(1 + MAX_REDIRECTS):
                    match await get(admitted, limits, self.timeouts, self.user_agent, cookies):
                        case Redirect(location):
                            is_led = True
                            admitted = await self._admit_redirect(admitted, location, sites)
                            hosts.append(admitted.address)
                        case FetchedContent() as fetched:
                            return replace(fetched, hosts=tuple(dict.fromkeys(hosts)))
        except NothingReceived as fault:
            if is_led:
                raise CommandError(str(fault)) from None  # it names a host that an answer from outside chose
            raise
        except TimeoutError:
            raise CommandError(
                f"{admitted.target.host} did not send it whole within {self.timeouts.total:g} seconds."
            ) from None
        raise CommandError(f"{parse_url(url).host} led on more than {MAX_REDIRECTS} times; it was followed no further.")

    async def connect(self, admitted: AdmittedTarget) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A TCP connection to one of the checked addresses; raise CommandError."""
        for address in admitted.addresses:
            try:
                async with asyncio.timeout(self.timeouts.connect):
                    return await asyncio.open_connection(str(address), admitted.target.port)
            except OSError:  # TimeoutError is an OSError
                continue
        raise CommandError(f"{admitted.target.host} cannot be reached.")

    async def _admit_redirect(self, admitted: AdmittedTarget, location: str, sites: Sites) -> AdmittedTarget:
        target = parse_url(urljoin(admitted.target.url, location))
        check_redirect(admitted.target, target)
        return await self.admit_target(target, sites)

    async def _resolve_target(self, target: Target) -> tuple[Ip, ...]:
        try:
            async with asyncio.timeout(self.timeouts.dns):
                found = await self.resolve(target.host)
        except TimeoutError:
            raise NothingReceived(
                f"The address of {target.host} could not be found in time. Try again later."
            ) from None
        except (OSError, UnicodeError):
            found = ()
        if not found:
            raise NothingReceived(f"There is no host {target.host}. Check how it is written.")
        return tuple(dict.fromkeys(map(ip_address, found)))


def check_redirect(start: Target, target: Target) -> None:
    """Raise CommandError from https to http: people approved https; plain http can be read and changed in transit."""
    if start.scheme == "https" and target.scheme == "http":
        raise url_error(start.url, f"it leads from https to plain http. Ask for {target.url} itself if it will do")
