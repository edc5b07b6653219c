"""Sends one GET request to an admitted target, at the checked addresses only. It follows no redirect and uses no proxy.

Cookies last for one fetch: sites set one on a redirect and ask for it at the next address.
"""

import re
import socket
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorSSLError,
    ClientError,
    ClientPayloadError,
    ClientResponse,
    ClientResponseError,
    ClientSession,
    ClientTimeout,
    ConnectionTimeoutError,
    CookieJar,
    ServerDisconnectedError,
    TCPConnector,
)
from aiohttp.abc import AbstractCookieJar, AbstractResolver, ResolveResult
from yarl import URL

from agent_core.errors import CommandError, NothingReceived
from agent_core.ports.web import FetchedContent
from agent_core.providers.egress.decompression import ACCEPT_ENCODING, Decompressor
from agent_core.providers.egress.values import AdmittedTarget, FetchLimits, Timeouts

if TYPE_CHECKING:
    from aiohappyeyeballs import AddrInfoType

REDIRECT_STATUSES = (301, 302, 303, 307, 308)
MAX_REFRESH_SECONDS, MAX_REFRESH_CHARACTERS = 5, 1_000
REFRESH = re.compile(r"(?P<seconds>\d{1,4})[\d.]*\s*[;,]\s*(?:url\s*=\s*)?[\"']?(?P<url>[^\"']+)[\"']?", re.IGNORECASE)
HINTS = {
    401: "It wants a login.",
    403: "It lets no programs in; try another source.",
    404: "There is no such page.",
    410: "The page is gone.",
    429: "It was asked too often; try again later.",
}


@dataclass(frozen=True, slots=True)
class Redirect:
    """A response that leads on; `location`: an address, which may be relative, of a Location or Refresh header."""

    location: str


def no_cookies() -> AbstractCookieJar:
    """A jar for one fetch, which also keeps the cookies of hosts that are named by their addresses."""
    return CookieJar(unsafe=True)


async def get(
    admitted: AdmittedTarget, limits: FetchLimits, timeouts: Timeouts, user_agent: str, cookies: AbstractCookieJar
) -> FetchedContent | Redirect:
    """Send a GET request; raise CommandError with a sentence for the model if it fails or times out."""
    host = admitted.target.host
    try:
        async with _session(admitted, timeouts, user_agent, cookies) as session:
            url = URL(admitted.target.url, encoded=True)
            async with session.get(url, allow_redirects=False) as response:
                return await _read_response(response, admitted, limits)
    except (ClientConnectorCertificateError, ClientConnectorSSLError):
        raise NothingReceived(f"{host} cannot be trusted: its certificate does not hold. Try another source.") from None
    except ConnectionTimeoutError:
        raise NothingReceived(f"{host} did not answer within {timeouts.connect:g} seconds.") from None
    except ClientPayloadError:
        raise CommandError(f"What {host} sent ends too early, or is no HTTP.") from None
    except ServerDisconnectedError:
        raise CommandError(f"{host} hung up without an answer.") from None
    except ClientResponseError:
        raise CommandError(f"{host} answered something that is no HTTP, or with too long a head.") from None
    except TimeoutError:
        raise CommandError(f"{host} sent nothing more for {timeouts.idle:g} seconds.") from None
    except (ClientError, OSError, ValueError):
        raise NothingReceived(f"{host} cannot be reached.") from None


class _PinnedResolver(AbstractResolver):
    """DNS resolver that returns the checked addresses for any name (protection from DNS rebinding)."""

    def __init__(self, admitted: AdmittedTarget) -> None:
        self._way = admitted

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=self._way.target.port,
                family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._way.addresses
        ]

    async def close(self) -> None:
        return None


def _session(
    admitted: AdmittedTarget, timeouts: Timeouts, user_agent: str, cookies: AbstractCookieJar
) -> ClientSession:
    def checked_socket(found: "AddrInfoType") -> socket.socket:
        """Raise OSError unless the address was checked: a second guard, independent of the HTTP client."""
        family, kind, protocol, _, (address, *_rest) = found
        if ip_address(address) not in admitted.addresses:
            raise OSError("this address was not checked")
        return socket.socket(family, kind, protocol)

    return ClientSession(
        connector=TCPConnector(
            resolver=_PinnedResolver(admitted), use_dns_cache=False, force_close=True, socket_factory=checked_socket
        ),
        timeout=ClientTimeout(total=None, sock_connect=timeouts.connect, sock_read=timeouts.idle),
        headers={"User-Agent": user_agent, "Accept-Encoding": ACCEPT_ENCODING, "Accept-Language": "en, *;q=0.5"},
        cookie_jar=cookies,
        auto_decompress=False,
        trust_env=False,
    )


async def _read_response(
    response: ClientResponse, admitted: AdmittedTarget, limits: FetchLimits
) -> FetchedContent | Redirect:
    host = admitted.target.host
    if response.status in REDIRECT_STATUSES and (location := response.headers.get("Location")):
        return Redirect(location.strip())
    if not 200 <= response.status < 300:
        raise CommandError(_status_error(host, response.status))
    if location := _refresh_address(response.headers.get("Refresh", "")):
        return Redirect(location)
    kind = response.content_type.lower() if "Content-Type" in response.headers else ""
    if not limits.accepts(kind or "text/html"):
        raise CommandError(f"{admitted.target.url} is no page but {kind[:80]}. download_file can fetch it as a file.")
    if (response.content_length or 0) > limits.max_bytes:
        raise CommandError(
            f"What {host} sends is too much: {response.content_length:,} bytes, {limits.max_bytes:,} at most."
        )
    body = Decompressor(host, ", ".join(response.headers.getall("Content-Encoding", ())), limits.max_bytes)
    data = await body.read_all(response.content.iter_any())
    return FetchedContent(url=admitted.target.url, kind=kind, data=data, charset=_charset(response))


def _refresh_address(header: str) -> str:
    """The address of a Refresh header that leads on soon; "" if it has none: such a page only loads itself anew."""
    found = REFRESH.fullmatch(header[:MAX_REFRESH_CHARACTERS].strip())
    return found["url"].strip() if found and int(found["seconds"]) <= MAX_REFRESH_SECONDS else ""


def _status_error(host: str, status: int) -> str:
    hint = HINTS.get(status, "Try again later." if status >= 500 else "Try another address.")
    return f"{host} answered {status}. {hint}"


def _charset(response: ClientResponse) -> str:
    try:
        return response.charset or ""
    except (LookupError, ValueError):
        return ""
