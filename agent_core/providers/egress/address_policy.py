"""Classifies IP addresses as public or internal (SSRF protection), and applies the operator's exceptions. No I/O."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Self, TypeAlias

Ip: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

PRIVATE, LINK_LOCAL_TEXT, DOCS = "lies in a private network", "is link-local", "is kept for documentation"
# The special-purpose registries of IANA: iana.org/assignments/iana-ipv4-special-registry and …-ipv6-…
SPECIAL_NETWORKS: tuple[tuple[Network, str], ...] = tuple(
    (ip_network(network), what)
    for network, what in (
        ("127.0.0.0/8", "is this machine"),
        ("0.0.0.0/8", "stands for this machine"),
        ("10.0.0.0/8", PRIVATE),
        ("172.16.0.0/12", PRIVATE),
        ("192.168.0.0/16", PRIVATE),
        ("169.254.0.0/16", LINK_LOCAL_TEXT),
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
        ("fe80::/10", LINK_LOCAL_TEXT),
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
GLOBAL_UNICAST_V6 = IPv6Network("2000::/3")  # the only global unicast range that IANA allocated so far
NAT64, IPV4_COMPATIBLE = IPv6Network("64:ff9b::/96"), IPv6Network("::/96")
LINK_LOCAL = (IPv4Network("169.254.0.0/16"), IPv6Network("fe80::/10"))
# Instance metadata services of clouds, which hand out credentials. Azure's is not in a special-purpose range.
CLOUD_METADATA = frozenset(
    map(
        ip_address,
        ("169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"),
    )
)


def unwrap_ipv4(address: Ip) -> Ip:
    """The IPv4 address embedded in an IPv6 address (mapped, 6to4, Teredo, NAT64), else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if unwrapped := address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]:
        return unwrapped
    if address in NAT64 or (address in IPV4_COMPATIBLE and int(address) > 1):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def describe_internal(address: Ip) -> str:
    """Why an address is internal, or "" if it is public.

    Written to follow the address: "is a cloud's metadata service".
    """
    unwrapped = unwrap_ipv4(address)
    if unwrapped in CLOUD_METADATA:
        return "is a cloud's metadata service"
    if what := _describe_special(unwrapped):
        return what
    if isinstance(address, IPv4Address) or unwrapped == address:
        return ""
    return "" if address in NAT64 or address.ipv4_mapped else _describe_special(address)


def _describe_special(address: Ip) -> str:
    what = next((what for network, what in SPECIAL_NETWORKS if address in network), "")
    is_open = isinstance(address, IPv4Address) or address in GLOBAL_UNICAST_V6
    return what or ("" if is_open else "is not on the open internet")


ALLOW_LIST = "the settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalHosts:
    """The operator's allow list of internal hosts: names, addresses and networks. `setting`: its name, for errors.

    `page_port`: the port of Signoff's own page, which is never allowed on this machine; 0 for none.
    """

    names: frozenset[str] = frozenset()
    addresses: frozenset[Ip] = frozenset()
    networks: tuple[Network, ...] = ()
    setting: str = ALLOW_LIST
    page_port: int = 0

    @classmethod
    def of(cls, entries: Iterable[str], setting: str = ALLOW_LIST, page_port: int = 0) -> Self:
        """Parse host names, addresses and networks (10.1.0.0/16); raise ValueError for anything else."""
        names, addresses, networks = set[str](), set[Ip](), list[Network]()
        for entry in map(str.strip, entries):
            try:
                if "/" in entry:
                    networks.append(ip_network(entry))
                else:
                    addresses.add(ip_address(entry.strip("[]")))
            except ValueError:
                names.add(_name(entry))
        return cls(
            names=frozenset(names),
            addresses=frozenset(addresses),
            networks=tuple(networks),
            setting=setting,
            page_port=page_port,
        )

    def allow(self, host: str, address: Ip) -> bool:
        """Whether the list allows the host at this address. Link-local and metadata addresses must be listed singly."""
        unwrapped = unwrap_ipv4(address)
        if address in self.addresses or unwrapped in self.addresses:
            return True
        if unwrapped in CLOUD_METADATA or any(unwrapped in network for network in LINK_LOCAL):
            return False
        return host in self.names or any(unwrapped in network for network in self.networks)


def _name(entry: str) -> str:
    name = entry.rstrip(".").casefold()
    if not name or not all(letter.isalnum() or letter in "-._" for letter in name):
        raise ValueError(f"{entry!r} is no host name, address or network (as 10.1.0.0/16, without bits of a host).")
    return name
