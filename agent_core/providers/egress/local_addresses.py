"""Reads this machine's own addresses and the networks it is attached to, from the system and /proc/net.

psutil reads the interfaces (getifaddrs). On Linux, /proc/net adds routes to networks in which this machine has no
address, and local address ranges. Both sources describe the network namespace of this process.
"""

import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import TypeAlias

Network: TypeAlias = IPv4Network | IPv6Network
PROC_NET = Path("/proc/net")
# A VPN default route (0.0.0.0/0, or its halves) has no gateway either; wider networks than these are ignored.
MIN_PREFIX_V4, MIN_PREFIX_V6 = 8, 16
# linux/route.h and linux/ipv6_route.h
ROUTE_UP, ROUTE_GATEWAY, ROUTE_REJECT, ROUTE_CACHE, ROUTE_LOCAL = 0x1, 0x2, 0x200, 0x0100_0000, 0x8000_0000


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalAddresses:
    """The networks that are this machine or are directly attached to it.

    `own`: networks whose addresses are routed to this machine itself.
    `attached`: networks that this machine reaches without a router.
    """

    own: frozenset[Network] = frozenset()
    attached: frozenset[Network] = frozenset()

    def describe(self, address: IPv4Address | IPv6Address) -> str:
        """Why an address is local, to follow the address: "is an address of this machine".

        Return "" if it is not local.
        """
        if any(address in network for network in self.own):
            return "is an address of this machine"
        if any(address in network for network in self.attached):
            return "lies in a network that this machine is attached to"
        return ""


ReadLocalAddresses: TypeAlias = Callable[[], LocalAddresses]


def read_local_addresses() -> LocalAddresses:
    """Read the present addresses; raise OSError, ValueError or LookupError if the system does not give them."""
    interfaces, routes = read_interfaces(), read_proc_net(PROC_NET)
    return LocalAddresses(own=interfaces.own | routes.own, attached=interfaces.attached | routes.attached)


def read_interfaces() -> LocalAddresses:
    import psutil  # imported late

    own, attached = set[Network](), set[Network]()
    for addresses in psutil.net_if_addrs().values():
        for each in addresses:
            if each.family in (socket.AF_INET, socket.AF_INET6):
                address = ip_address(each.address.partition("%")[0])
                own.add(ip_network(address))
                attached.add(ip_network((address, _prefix(each.netmask, address.max_prefixlen)), strict=False))
    return _without_default_routes(own, attached)


def read_proc_net(folder: Path) -> LocalAddresses:
    """Read the routes in Linux's /proc/net files; a missing file counts as empty."""
    trie, routes = (
        _routes_of_trie(_read_or_empty(folder / "fib_trie")),
        tuple(_routes_v6(_read_or_empty(folder / "ipv6_route"))),
    )
    attached = {*_attached_v4(_read_or_empty(folder / "route")), *_attached_v6(routes)}
    own = {network for network, flags in routes if flags & ROUTE_LOCAL}
    return _without_default_routes(
        own | {each for each, is_own in trie if is_own}, attached | {each for each, _ in trie}
    )


def _without_default_routes(own: Iterable[Network], attached: Iterable[Network]) -> LocalAddresses:
    min_prefix = {4: MIN_PREFIX_V4, 6: MIN_PREFIX_V6}
    kept = frozenset(network for network in attached if network.prefixlen >= min_prefix[network.version])
    return LocalAddresses(own=frozenset(own), attached=kept)


def _prefix(netmask: str | None, longest: int) -> int:
    """The prefix length of a netmask; `longest` without one."""
    return int(ip_address(netmask)).bit_count() if netmask else longest


def _routes_of_trie(text: str) -> set[tuple[Network, bool]]:
    """Every IPv4 route without a gateway in /proc/net/fib_trie, and whether it leads to this machine.

    A line `|-- 192.0.2.0` is followed by its routes: `/24 link UNICAST` (attached), `/32 host LOCAL` (own), and
    `/0 universe UNICAST` (by a gateway).
    """
    address, found = "", set[tuple[Network, bool]]()
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["|--"] and len(words) == 2:
            address = words[1]
        elif len(words) >= 3 and (words[2] == "LOCAL" or words[1:3] == ["link", "UNICAST"]):
            found.add((IPv4Network(f"{address}{words[0]}", strict=False), words[2] == "LOCAL"))
    return found


def _attached_v4(text: str) -> Iterator[Network]:
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) >= 8 and int(fields[3], 16) & (ROUTE_UP | ROUTE_GATEWAY | ROUTE_REJECT) == ROUTE_UP:
            yield IPv4Network(f"{_address_of_hex(fields[1])}/{_address_of_hex(fields[7])}", strict=False)


def _address_of_hex(number: str) -> IPv4Address:
    """Parse an address of /proc/net/route: hexadecimal in native byte order."""
    return IPv4Address(int(number, 16).to_bytes(4, sys.byteorder))


def _attached_v6(routes: Iterable[tuple[Network, int]]) -> Iterator[Network]:
    ignored = ROUTE_GATEWAY | ROUTE_REJECT | ROUTE_CACHE | ROUTE_LOCAL
    return (network for network, flags in routes if flags & (ROUTE_UP | ignored) == ROUTE_UP)


def _routes_v6(text: str) -> Iterator[tuple[IPv6Network, int]]:
    for line in text.splitlines():
        fields = line.split()
        yield IPv6Network((int(fields[0], 16), int(fields[1], 16))), int(fields[8], 16)


def _read_or_empty(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""
