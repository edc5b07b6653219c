"""Reads the HTTP proxy from HTTPS_PROXY, HTTP_PROXY and NO_PROXY, for an SDK that ignores these variables."""

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from agent_core.providers.llm.prices import is_loopback


def proxy_for(url: str) -> str | None:
    """The proxy's URL, or None for a direct connection; loopback is always direct."""
    address = urlsplit(url)
    if is_loopback(url) or proxy_bypass(address.hostname or ""):
        return None
    return getproxies().get(address.scheme)
