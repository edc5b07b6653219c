"""Reads the HTTP proxy from HTTPS_PROXY, HTTP_PROXY and NO_PROXY, for an SDK that ignores these variables."""

from ipaddress import ip_address
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass


def proxy_for(url: str) -> str | None:
    """The proxy's URL, or None for a direct connection; loopback is always direct."""
    address = urlsplit(url)
    if is_loopback(url) or proxy_bypass(address.hostname or ""):
        return None
    return getproxies().get(address.scheme)


def is_loopback(base_url: str) -> bool:
    """Whether an address is one of this machine."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
