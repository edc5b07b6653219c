"""Which addresses lie on the open internet, and which are something inside, whatever form they come in. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Self, TypeAlias

Ip: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

PRIVATE, LINK, DOCS = "lies in a private network", "is link-local", "is kept for documentation"
# The special-purpose registries of IANA: iana.org/assignments/iana-ipv4-special-registry and …-ipv6-…
INSIDE: tuple[tuple[Network, str], ...] = tuple(
    (ip_network(network), what)
    for network, what in (
        ("127.0.0.0/8", "is this machine"),
        ("0.0.0.0/8", "stands for this machine"),
        ("10.0.0.0/8", PRIVATE),
        ("172.16.0.0/12", PRIVATE),
        ("192.168.0.0/16", PRIVATE),
        ("169.254.0.0/16", LINK),
        ("100.64.0.0/10", "is shared by a provider's customers"),
        ("192.0.0.0/24", "is kept for protocols"),
        ("192.0.2.0/24", DOCS),
        ("198.51.100.0/24", DOCS),
        ("203.0.113.0/24", DOCS),
        ("192.88.99.0/24", "is a tunnel"),
        ("198.18.0.0/15", "is kept for measurements"),
        ("224.0.0.0/4", "is a multicast address"),
        ("240.0.0.0/4", "is reserved"),
        ("::1/128", "is this machine"),
        ("::/128", "stands for this machine"),
        ("fe80::/10", LINK),
        ("fec0::/10", PRIVATE),
        ("fc00::/7", PRIVATE),
        ("ff00::/8", "is a multicast address"),
        ("2001::/32", "is a tunnel"),
        ("2001::/23", "is kept for protocols"),
        ("2001:db8::/32", DOCS),
        ("2002::/16", "is a tunnel"),
        ("3fff::/20", DOCS),
    )
)
OPEN_V6 = IPv6Network("2000::/3")  # all that IANA has given out for use so far
NAT64, COMPATIBLE = IPv6Network("64:ff9b::/96"), IPv6Network("::/96")
LINK_LOCAL = (IPv4Network("169.254.0.0/16"), IPv6Network("fe80::/10"))
# Where clouds answer machines of theirs with what they know of them, keys among it; Azure's is no special address.
METADATA = frozenset(
    map(
        ip_address,
        ("169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"),
    )
)


def meant(address: Ip) -> Ip:
    """The IPv4 address that an IPv6 address only wraps, else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if wrapped := address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]:
        return wrapped
    if address in NAT64 or (address in COMPATIBLE and int(address) > 1):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def inside(address: Ip) -> str:
    """What the address is, completing "10.0.0.1 …", where it is not on the open internet; else ""."""
    wrapped = meant(address)
    if wrapped in METADATA:
        return "is a cloud's metadata service"
    if what := _special(wrapped):
        return what
    if isinstance(address, IPv4Address) or wrapped == address:
        return ""
    return "" if address in NAT64 or address.ipv4_mapped else _special(address)


def _special(address: Ip) -> str:
    what = next((what for network, what in INSIDE if address in network), "")
    is_open = isinstance(address, IPv4Address) or address in OPEN_V6
    return what or ("" if is_open else "is not on the open internet")


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalHosts:
    """What the operator lets agents reach although it is inside: names, addresses, networks."""

    names: frozenset[str] = frozenset()
    addresses: frozenset[Ip] = frozenset()
    networks: tuple[Network, ...] = ()

    @classmethod
    def of(cls, entries: Iterable[str]) -> Self:
        """Read host names, addresses and networks (10.1.0.0/16); raise ValueError with a sentence for another text."""
        names, addresses, networks = set[str](), set[Ip](), list[Network]()
        for entry in map(str.strip, entries):
            try:
                if "/" in entry:
                    networks.append(ip_network(entry))
                else:
                    addresses.add(ip_address(entry.strip("[]")))
            except ValueError:
                names.add(_name(entry))
        return cls(names=frozenset(names), addresses=frozenset(addresses), networks=tuple(networks))

    def allow(self, host: str, address: Ip) -> bool:
        """Whether this host may be reached at this address. What is link-local must be named by its very address."""
        wrapped = meant(address)
        if address in self.addresses or wrapped in self.addresses:
            return True
        if wrapped in METADATA or any(wrapped in network for network in LINK_LOCAL):
            return False
        return host in self.names or any(wrapped in network for network in self.networks)


def _name(entry: str) -> str:
    name = entry.rstrip(".").casefold()
    if not name or not all(letter.isalnum() or letter in "-._" for letter in name):
        raise ValueError(f"{entry!r} is no host name, address or network (as 10.1.0.0/16, without bits of a host).")
    return name
