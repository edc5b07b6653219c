"""Sends HTTP POST requests to a configured media service, with a size limit and readable errors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from agent_core.errors import CommandError
from agent_core.providers.limited_replies import MAX_MEDIA_BYTES, ReplyTooLong, read_limited
from agent_core.providers.outbound_proxy import is_loopback


@dataclass(frozen=True, slots=True)
class ServiceReply:
    """An HTTP response of any status, with its body."""

    status: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpService:
    """A media service at a URL. `name` is used in error messages; `seconds` is the timeout."""

    name: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    seconds: float = 300.0

    @property
    def host(self) -> str:
        """Host and port."""
        address = urlsplit(self.url)
        return f"{address.hostname}:{address.port}" if address.port else address.hostname or ""

    async def post(
        self,
        path: str,
        *,
        json: object = None,
        data: bytes | None = None,
        kind: str = "",
        max_bytes: int = MAX_MEDIA_BYTES,
    ) -> ServiceReply:
        """Send JSON, or bytes of media type `kind`; raise CommandError if no complete response arrives."""
        from aiohttp import ClientError, ClientSession, ClientTimeout  # imported late

        headers = {**self.headers, "Content-Type": kind} if kind else self.headers
        timeout, is_proxied = ClientTimeout(total=self.seconds), not is_loopback(self.url)
        try:
            async with (
                ClientSession(timeout=timeout, headers=headers, trust_env=is_proxied) as session,
                session.post(f"{self.url.rstrip('/')}{path}", json=json, data=data, allow_redirects=False) as response,
            ):
                return ServiceReply(response.status, await read_limited(response, max_bytes))
        except ReplyTooLong as fault:
            raise CommandError(
                f"{self.name} answered more than can be taken: over {fault.max_bytes:,} bytes."
            ) from None
        except TimeoutError:
            raise CommandError(f"{self.name} did not answer in time.") from None
        except (ClientError, OSError, ValueError) as fault:
            raise CommandError(f"{self.name} cannot be reached ({type(fault).__name__}).") from None
