"""Publishes posts on X by API v2 and tweepy, in a thread; words its errors and whether a post may have gone out."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agent_core.capabilities.models.endpoint_errors import redact_and_shorten
from agent_core.errors import CommandError
from agent_core.providers.limited_replies import CHUNK_BYTES, MAX_JSON_BYTES, ReplyTooLong
from agent_core.providers.outbound_proxy import is_loopback

if TYPE_CHECKING:
    from requests import Response
    from tweepy import Client
    from tweepy.errors import HTTPException

X_API_URL = "https://api.twitter.com"  # tweepy's default; https://api.x.com is equivalent
POST_URL = "https://x.com/i/web/status/"
UNKNOWN_OUTCOME = "It is not known whether the text was posted: have somebody look before it is sent again."
NOTHING_SENT = "Nothing was posted; try again later."
PARSE_ERRORS = (ValueError, AttributeError, TypeError, LookupError)  # of an unexpected response


@dataclass(frozen=True, slots=True, kw_only=True)
class XPosts:
    """Implements `PostPublisher` for one account. `settings` names the key settings for error messages."""

    api_key: str = field(repr=False)
    api_secret: str = field(repr=False)
    access_token: str = field(repr=False)
    access_token_secret: str = field(repr=False)
    url: str = X_API_URL
    seconds: float = 30.0
    settings: str = "its four keys"

    @property
    def label(self) -> str:
        host = urlsplit(self.url).netloc.rpartition("@")[2]
        return "X" if host in ("api.twitter.com", "api.x.com") else f"X at {host}"

    async def post(self, text: str) -> str:
        try:
            async with asyncio.timeout(self.seconds):
                return await asyncio.to_thread(self._post, text)
        except TimeoutError:
            raise CommandError(f"X did not answer in time. {UNKNOWN_OUTCOME}") from None

    def _post(self, text: str) -> str:
        from requests import ConnectionError as NoConnection  # loaded when first asked
        from requests import JSONDecodeError, RequestException
        from tweepy.errors import HTTPException, TooManyRequests

        client = self._client()
        try:
            answer: Any = client.create_tweet(text=text)
            number = str(answer.data["id"])
        except TooManyRequests as refused:
            raise CommandError(f"X takes no more posts for now{_until(refused.reset_time)}.") from None
        except HTTPException as refused:
            raise CommandError(self._explain(refused)) from None
        except NoConnection as fault:
            raise CommandError(f"X cannot be reached ({type(fault).__name__}). {_outcome_text(fault)}") from None
        except ReplyTooLong:
            raise CommandError(f"X answered more than can be read. {UNKNOWN_OUTCOME}") from None
        except (JSONDecodeError, *PARSE_ERRORS):
            raise CommandError(f"X answered something that cannot be read. {UNKNOWN_OUTCOME}") from None
        except RequestException as fault:
            raise CommandError(f"X broke off ({type(fault).__name__}). {UNKNOWN_OUTCOME}") from None
        finally:
            client.session.close()
        return f"{POST_URL}{number}" if number.isascii() and number.isdigit() else ""

    def _client(self) -> "Client":
        from requests import Session
        from tweepy import Client

        session: Any = Session()
        session.trust_env = not is_loopback(self.url)  # use the environment's proxies
        session.request = partial(self._request, session.request)
        client = Client(
            consumer_key=self.api_key,
            consumer_secret=self.api_secret,
            access_token=self.access_token,
            access_token_secret=self.access_token_secret,
        )
        client.session = session
        return client

    def _request(self, usual: "Callable[..., Response]", method: str, url: str, **options: Any) -> "Response":
        """Send and sign the request for the configured URL, not tweepy's. Limit the response; follow no redirects."""
        asked = f"{self.url.rstrip('/')}{urlsplit(url).path}"
        answer = usual(method, asked, **{**options, "timeout": self.seconds, "allow_redirects": False, "stream": True})
        with closing(answer):
            body = b"".join(_limited(answer.iter_content(CHUNK_BYTES)))
        copy = type(answer)()
        copy.status_code, copy.reason, copy.headers = answer.status_code, answer.reason, answer.headers
        copy.url, copy.encoding, copy.raw = answer.url, answer.encoding, BytesIO(body)
        return copy

    def _explain(self, refused: "HTTPException") -> str:
        status = int(getattr(refused.response, "status_code", 0))
        message = " ".join(str(message) for message in refused.api_messages)
        for secret in (self.api_key, self.api_secret, self.access_token, self.access_token_secret):
            message = redact_and_shorten(message, secret)
        match status:
            case 401:
                return f"X does not accept the keys (401): the operator should check {self.settings}."
            case 403 if "duplicate" in message.lower():
                return "X refused it as a duplicate: this text was posted before. Say it in other words."
            case 403:
                return f"X refused the post (403): {message} The app may need the right to write, at developer.x.com."
            case _ if status >= 500:
                return f"X answered {status}. {UNKNOWN_OUTCOME}"
            case _:
                return f"X refused the post ({status}): {message or 'it did not say why.'}"


def _limited(chunks: Iterable[bytes]) -> Iterator[bytes]:
    left = MAX_JSON_BYTES
    for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            raise ReplyTooLong(MAX_JSON_BYTES)
        yield chunk


def _until(reset_time: int | None) -> str:
    try:
        return f", until {datetime.fromtimestamp(reset_time, UTC):%H:%M UTC on %d %B}" if reset_time else ""
    except (OverflowError, ValueError, OSError):
        return ""


def _outcome_text(fault: Exception) -> str:
    """A sentence on whether the text may have been posted: surely not if no connection was established."""
    from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

    reason = getattr(next(iter(fault.args), None), "reason", None)
    return NOTHING_SENT if isinstance(reason, ConnectTimeoutError | NewConnectionError) else UNKNOWN_OUTCOME
