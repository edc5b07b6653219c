"""What an OpenAI-compatible endpoint complains of, told as one of our two model errors. No key is ever repeated."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from agent_core.errors import ModelError, ModelRefused, ModelUnavailable
from agent_core.providers.limited_replies import ReplyTooLong

if TYPE_CHECKING:
    from openai import APIStatusError

MOST_WORDS = 300
SECRET = re.compile(r"\b(?:sk|key|Bearer)[-_ ][\w*.-]{6,}")
OUT_OF_CREDIT = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
TRY_AGAIN = (408, 409, 429)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ability:
    """What an endpoint was asked for, and the settings that say which endpoint and which model."""

    name: str
    address: str
    model: str


CHAT = Ability(name="chat completions", address="OPENAI_BASE_URL", model="SMART_MODEL")
EMBEDDINGS = Ability(name="embeddings", address="EMBEDDING_BASE_URL", model="EMBEDDING_MODEL")


def sdk_errors() -> tuple[type[Exception], ...]:
    """What a call through the SDK may raise. Asked for when the SDK is loaded."""
    from openai import OpenAIError

    return OpenAIError, ReplyTooLong, TimeoutError, ValueError


def to_model_error(
    error: Exception, *, host: str, model: str, secret: str, now: datetime, ability: Ability = CHAT
) -> ModelError:
    """The error of the SDK, or of our own deadline, for the loop and for people."""
    from openai import APIConnectionError, APIStatusError, APITimeoutError  # loaded by now: it raised the error

    match error:
        case TimeoutError() | APITimeoutError():
            return ModelUnavailable(f"{host} did not answer in time.")
        case ReplyTooLong(max_bytes=most) | APIConnectionError(__cause__=ReplyTooLong(max_bytes=most)):
            return ModelRefused(
                f"{host} sent more than {most:,} bytes as one reply, so it was not read. Check {ability.address} and "
                f"{ability.model}, then resume."
            )
        case APIConnectionError():
            return ModelUnavailable(f"{host} cannot be reached ({type(error.__cause__ or error).__name__}).")
        case APIStatusError():
            words = tidied(sentence_of(error.body) or error.message, secret)
            if error.status_code == 404:
                return ModelRefused(_not_found(words, host, model, ability))
            return _by_status(error, words, host=host, model=model, now=now)
        case _:
            return ModelUnavailable(f"{host} gave an answer that cannot be read ({type(error).__name__}).")


def complaint_of(error: Exception) -> str:
    """All the endpoint said of what it did not like, in lower case, to look for names in."""
    param, code = getattr(error, "param", None), getattr(error, "code", None)
    words = (param, code, sentence_of(getattr(error, "body", None)), getattr(error, "message", ""))
    return " ".join(str(word) for word in words if word).lower()


def sentence_of(body: object) -> str:
    """The message in an error's body, in the places where endpoints put it."""
    match body:
        case {"message": str(words)} | {"error": {"message": str(words)}} | {"error": str(words)}:
            return words
        case {"detail": str(words)} | str(words):
            return words
        case _:
            return ""


def tidied(words: str, secret: str) -> str:
    """One line without the key, and of bounded length."""
    plain = words.replace(secret, "…") if secret else words
    line = " ".join(SECRET.sub("…", plain).split())
    return line if len(line) <= MOST_WORDS else f"{line[:MOST_WORDS]}…"


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait as `retry-after-ms` or `Retry-After` say it (a number or a date), or None."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    given = headers.get("retry-after", "")
    seconds = _number(given)
    return seconds if seconds is not None else _seconds_until(given, now)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _seconds_until(date: str, now: datetime) -> float | None:
    try:
        then = parsedate_to_datetime(date)
    except ValueError:
        return None
    aware = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())


def _by_status(error: "APIStatusError", words: str, *, host: str, model: str, now: datetime) -> ModelError:
    status = error.status_code
    if error.code in OUT_OF_CREDIT or error.type in OUT_OF_CREDIT:
        return ModelRefused(f"{host} says that the account has no credit left: {words} Add credit, then resume.")
    if status in TRY_AGAIN or status >= 500:
        return ModelUnavailable(f"{host} answered {status}: {words}", retry_after(error.response.headers, now))
    if status in (401, 403):
        return ModelRefused(
            f"{host} does not accept the key ({status}). Set OPENAI_API_KEY to a key that may use {model or 'it'}, "
            "then restart Signoff."
        )
    return ModelRefused(f"{host} refused the request ({status}): {words}")


def _not_found(words: str, host: str, model: str, ability: Ability) -> str:
    if "model" in words.lower():
        return f"{host} has no model {model}: {words} Set {ability.model} to one it offers, then restart Signoff."
    return f"{host} has no {ability.name} at this address: check {ability.address}, which usually ends in /v1."
