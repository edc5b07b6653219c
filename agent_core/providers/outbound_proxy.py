"""The HTTP proxy that the environment names, for an SDK that does not read HTTPS_PROXY, HTTP_PROXY and NO_PROXY."""

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from agent_core.providers.llm.prices import is_loopback


def proxy_for(url: str) -> str | None:
    """The proxy's address, or None where requests to this URL go out directly, as those to this machine do."""
    address = urlsplit(url)
    if is_loopback(url) or proxy_bypass(address.hostname or ""):
        return None
    return getproxies().get(address.scheme)
