"""Parses URLs to a canonical form; refuses what can be read in two ways, and blocked ports. No I/O.

The rules are those of the URL standard (url.spec.whatwg.org), except that most URLs which the standard repairs silently
are refused: two parsers may read them differently, so people would not know what they approve.
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
MAX_URL_CHARACTERS = 2_000
MAX_SHOWN_CHARACTERS = 120
URL_PATTERN = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<place>[^/?#]*)(?P<rest>[^#]*)(?:#.*)?", re.DOTALL)
PATH_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?# ]*(?P<path>/[^?#]*)")
HOST_AND_PORT = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{0,5}))?")
DNS_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
NUMBER_PART = re.compile(r"0x[0-9a-f]*|[0-9]+")
URL_CHARACTERS = "-._~:/?#[]@!$&'()*+,;=%"  # RFC 3986 reserved and unreserved characters, and existing percent escapes
# Below 1024 only 80 and 443 are allowed. These ports above it speak other protocols, and an HTTP request could be taken
# for commands: fetch.spec.whatwg.org/#port-blocking, databases, queues and administration consoles.
BLOCKED_PORTS = frozenset(
    {1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}
    | {1433, 1521, 2375, 2376, 2379, 2380, 3306, 3389, 5432, 5672, 5900, 5984, 6379, 6443, 9042, 9092, 9200, 9300}
    | {10250, 10255, 11211, 27017, 27018, 27019}
)
# RFC 6761, 6762, 7686, 8375; ICANN
INTERNAL_NAMES = ("localhost", "local", "internal", "home.arpa", "onion", "invalid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A parsed URL. `address` is set if the host is an IP address and not a name."""

    scheme: Scheme
    host: str
    port: int
    path_and_query: str = "/"
    address: Ip | None = None

    @property
    def netloc(self) -> str:
        """Host and port as in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.netloc}{self.path_and_query}"

    @property
    def is_internal_name(self) -> bool:
        """Whether the name has no dot or a suffix of local networks (RFC 6761, 6762, 7686, 8375). No DNS lookup."""
        is_short = "." not in self.host and self.address is None
        return is_short or any(f".{self.host}".endswith(f".{name}") for name in INTERNAL_NAMES)


def parse_url(url: str) -> Target:
    """Parse a URL; raise CommandError if it is invalid, ambiguous, not http or https, or has credentials or a bad port.

    Allowed ports are 80, 443 and those from 1024 on but BLOCKED_PORTS. Blanks in the path are escaped, as browsers do;
    blanks elsewhere, or in a path that contains a second URL, are refused.
    """
    text = _with_escaped_path(url.strip(" "))
    if len(text) > MAX_URL_CHARACTERS:
        raise url_error(text, f"it is longer than {MAX_URL_CHARACTERS:,} characters")
    if any(letter <= " " or letter in "\\\x7f" for letter in text):
        raise url_error(text, "it holds a blank, a backslash or a control character; write them as %20, %5C and so on")
    found = URL_PATTERN.fullmatch(text)
    if found is None:
        raise url_error(text, "it is no full address; begin with https://")
    scheme = found["scheme"].lower()
    if scheme not in DEFAULT_PORTS:
        raise url_error(text, f"{scheme} is not the web; use http or https")
    return _target(cast("Scheme", scheme), found["place"], found["rest"], text)


def display_host(url: str) -> str:
    """The host as written, followed by its canonical form if that differs."""
    host = parse_url(url).host
    found = URL_PATTERN.fullmatch(url.strip(" "))
    parts = HOST_AND_PORT.fullmatch(found["place"]) if found else None
    host_text = parts["host"] if parts else host
    if host_text.lower() in (host, f"{host}.", f"[{host}]"):
        return host
    is_short = len(host_text) <= MAX_SHOWN_CHARACTERS
    return f"{host_text if is_short else f'{host_text[:MAX_SHOWN_CHARACTERS]}…'} ({host})"


def url_error(url: str, why: str) -> CommandError:
    shown = url if len(url) <= MAX_SHOWN_CHARACTERS else f"{url[:MAX_SHOWN_CHARACTERS]}…"
    return CommandError(f"{shown!r} is refused: {why}.")


def _with_escaped_path(url: str) -> str:
    found = PATH_PATTERN.match(url)
    if found is None or "://" in found["path"]:
        return url
    return url[: found.start("path")] + found["path"].replace(" ", "%20") + url[found.end() :]


def _target(scheme: Scheme, netloc: str, path_and_query: str, url: str) -> Target:
    if "@" in netloc:
        raise url_error(netloc.rpartition("@")[2], "there must be no name or password in it")
    parts = HOST_AND_PORT.fullmatch(netloc)
    if parts is None:
        raise url_error(url, "its host cannot be read")
    port = int(parts["port"] or DEFAULT_PORTS[scheme])
    if port not in (80, 443) and (not 1024 <= port <= 65535 or port in BLOCKED_PORTS):
        raise url_error(url, f"port {port} is not one of the web")
    address, host = _host(parts["host"], url)
    path = quote(path_and_query if path_and_query.startswith("/") else f"/{path_and_query}", safe=URL_CHARACTERS)
    return Target(scheme=scheme, host=host, port=port, path_and_query=path, address=address)


def _host(host_text: str, url: str) -> tuple[Ip | None, str]:
    address = _in_brackets(host_text[1:-1], url) if host_text.startswith("[") else None
    if address is None:
        name = _name(host_text, url)
        address = _ipv4(name, url)
        if address is None:
            return None, name
    return address, str(address)


def _in_brackets(host_text: str, url: str) -> Ip:
    if "%" in host_text:
        raise url_error(url, "an address with a zone belongs to a local network")
    try:
        address = IPv6Address(host_text)
    except ValueError:
        raise url_error(url, "its host cannot be read") from None
    return address.ipv4_mapped or address


def _name(host_text: str, url: str) -> str:
    import idna  # imported late: large tables

    try:
        plain = idna.uts46_remap(unquote_to_bytes(host_text).decode(), std3_rules=False, transitional=False)
        labels = [label if label.isascii() else idna.alabel(label).decode() for label in plain.lower().split(".")]
    except (UnicodeError, idna.IDNAError):
        raise url_error(url, "its host cannot be read") from None
    if labels[-1] == "":
        labels.pop()
    name = ".".join(labels)
    if not labels or len(name) > 253 or not all(DNS_LABEL.fullmatch(label) for label in labels):
        raise url_error(url, "its host cannot be read")
    return name


def _ipv4(name: str, url: str) -> IPv4Address | None:
    """The IPv4 address that a host denotes (also with fewer parts, in octal or hexadecimal); None for a name."""
    parts = name.split(".")
    if not NUMBER_PART.fullmatch(parts[-1]):
        return None
    numbers = [_number(part) for part in parts]
    *first, last = numbers
    if len(parts) > 4 or min(numbers) < 0 or any(number > 255 for number in first) or last >= 256 ** (5 - len(parts)):
        raise url_error(url, "its host is a number that is no address")
    value = last + sum(number * 256 ** (3 - position) for position, number in enumerate(first))
    return cast("IPv4Address", ip_address(value))


def _number(part: str) -> int:
    """The value of one part of an IPv4 address; -1 if the part is not a number."""
    if not NUMBER_PART.fullmatch(part):
        return -1
    try:
        if part.startswith("0x"):
            return int(part[2:] or "0", 16)
        return int(part, 8) if part.startswith("0") else int(part)
    except ValueError:
        return -1
