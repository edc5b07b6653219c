"""A URL as it is meant: whatever way it is written, one scheme, one host and one port come out of it. Pure.

The rules are those of url.spec.whatwg.org, which browsers go by, but what they mend in silence is refused here: what
two readers may take for two things is nothing that people can approve.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Literal, TypeAlias, cast
from urllib.parse import quote, unquote_to_bytes

from agent_core.errors import CommandError
from agent_core.providers.egress.address_policy import Ip

Scheme: TypeAlias = Literal["http", "https"]
DEFAULT_PORTS: dict[Scheme, int] = {"http": 80, "https": 443}
LONGEST = 2_000
SHOWN = 120
WHOLE = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<place>[^/?#]*)(?P<rest>[^#]*)(?:#.*)?", re.DOTALL)
TO_QUERY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?# ]*(?P<path>/[^?#]*)")
PLACE = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{0,5}))?")
LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
WRITTEN = "-._~:/?#[]@!$&'()*+,;=%"  # RFC 3986 reserved and unreserved, and escapes that are there already
# Below 1024 only the web's own ports. Above, whatever is known to speak something else than HTTP and could take a
# request for orders of its own: the list of fetch.spec.whatwg.org/#port-blocking, and stores and consoles of machines.
NO_WEB = frozenset(
    {1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}
    | {1433, 1521, 2375, 2376, 2379, 2380, 3306, 3389, 5432, 5672, 5900, 5984, 6379, 6443, 9042, 9092, 9200, 9300}
    | {10250, 10255, 11211, 27017, 27018, 27019}
)
INNER_NAMES = ("localhost", "local", "internal", "home.arpa", "onion", "invalid")  # RFC 6761, 6762, 7686, 8375; ICANN


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a URL leads. `rest` is path and query; `address` is there where the host is one and not a name."""

    scheme: Scheme
    host: str
    port: int
    rest: str = "/"
    address: Ip | None = None

    @property
    def place(self) -> str:
        """Host and port as they stand in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL in its one spelling."""
        return f"{self.scheme}://{self.place}{self.rest}"

    @property
    def is_inner(self) -> bool:
        """Whether the name can only be one of a local network, whatever its address is."""
        is_short = "." not in self.host and self.address is None
        return is_short or any(f".{self.host}".endswith(f".{name}") for name in INNER_NAMES)


def target_of(url: str) -> Target:
    """Read a URL; raise CommandError where it is none, is no http or https, or can be read in two ways.

    Blanks in its path are escaped, as browsers do. Elsewhere, or before a second URL, they are refused.
    """
    text = _with_escaped_path(url.strip(" "))
    if len(text) > LONGEST:
        raise refused(text, f"it is longer than {LONGEST:,} characters")
    if any(letter <= " " or letter in "\\\x7f" for letter in text):
        raise refused(text, "it holds a blank, a backslash or a control character; write them as %20, %5C and so on")
    whole = WHOLE.fullmatch(text)
    if whole is None:
        raise refused(text, "it is no full address; begin with https://")
    scheme = whole["scheme"].lower()
    if scheme not in DEFAULT_PORTS:
        raise refused(text, f"{scheme} is not the web; use http or https")
    return _target(cast("Scheme", scheme), whole["place"], whole["rest"], text)


def shown_host(url: str) -> str:
    """The host as it is written, with the host that is meant beside it where that is spelled differently."""
    host = target_of(url).host
    whole = WHOLE.fullmatch(url.strip(" "))
    parts = PLACE.fullmatch(whole["place"]) if whole else None
    written = parts["host"] if parts else host
    if written.lower() in (host, f"{host}.", f"[{host}]"):
        return host
    return f"{written if len(written) <= SHOWN else f'{written[:SHOWN]}…'} ({host})"


def refused(url: str, why: str) -> CommandError:
    """The sentence for a URL that is not used."""
    shown = url if len(url) <= SHOWN else f"{url[:SHOWN]}…"
    return CommandError(f"{shown!r} is refused: {why}.")


def _with_escaped_path(url: str) -> str:
    found = TO_QUERY.match(url)
    if found is None or "://" in found["path"]:
        return url
    return url[: found.start("path")] + found["path"].replace(" ", "%20") + url[found.end() :]


def _target(scheme: Scheme, place: str, rest: str, url: str) -> Target:
    if "@" in place:
        raise refused(place.rpartition("@")[2], "there must be no name or password in it")
    parts = PLACE.fullmatch(place)
    if parts is None:
        raise refused(url, "its host cannot be read")
    port = int(parts["port"] or DEFAULT_PORTS[scheme])
    if port not in (80, 443) and (not 1024 <= port <= 65535 or port in NO_WEB):
        raise refused(url, f"port {port} is not one of the web")
    address, host = _host(parts["host"], url)
    path = quote(rest if rest.startswith("/") else f"/{rest}", safe=WRITTEN)
    return Target(scheme=scheme, host=host, port=port, rest=path, address=address)


def _host(written: str, url: str) -> tuple[Ip | None, str]:
    address = _in_brackets(written[1:-1], url) if written.startswith("[") else None
    if address is None:
        name = _name(written, url)
        address = _ipv4(name, url)
        if address is None:
            return None, name
    return address, str(address)


def _in_brackets(written: str, url: str) -> Ip:
    if "%" in written:
        raise refused(url, "an address with a zone lies in a local network")
    try:
        address = IPv6Address(written)
    except ValueError:
        raise refused(url, "its host cannot be read") from None
    return address.ipv4_mapped or address


def _name(written: str, url: str) -> str:
    import idna  # its tables are loaded when a page is first asked for

    try:
        plain = idna.uts46_remap(unquote_to_bytes(written).decode(), std3_rules=False, transitional=False)
        labels = [label if label.isascii() else idna.alabel(label).decode() for label in plain.lower().split(".")]
    except (UnicodeError, idna.IDNAError):
        raise refused(url, "its host cannot be read") from None
    if labels[-1] == "":
        labels.pop()
    name = ".".join(labels)
    if not labels or len(name) > 253 or not all(LABEL.fullmatch(label) for label in labels):
        raise refused(url, "its host cannot be read")
    return name


def _ipv4(name: str, url: str) -> IPv4Address | None:
    """The address that numbers mean, with parts left out and in bases of eight or sixteen; None for a name."""
    parts = name.split(".")
    if not NUMBER.fullmatch(parts[-1]):
        return None
    numbers = [_number(part) for part in parts]
    *first, last = numbers
    if len(parts) > 4 or min(numbers) < 0 or any(number > 255 for number in first) or last >= 256 ** (5 - len(parts)):
        raise refused(url, "its host is a number that is no address")
    value = last + sum(number * 256 ** (3 - place) for place, number in enumerate(first))
    return cast("IPv4Address", ip_address(value))


def _number(part: str) -> int:
    """The value of one part; -1 where it is none."""
    if not NUMBER.fullmatch(part):
        return -1
    try:
        if part.startswith("0x"):
            return int(part[2:] or "0", 16)
        return int(part, 8) if part.startswith("0") else int(part)
    except ValueError:
        return -1
