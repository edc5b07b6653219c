"""Translates errors of model endpoints: sentences for people without keys; what to change or how long to wait.

The SDKs of OpenAI and Anthropic name their exceptions alike; `sdk` is the module of one of them.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

from agent_core.capabilities.models.completion import BrokenOff
from agent_core.capabilities.models.model_facts import reported_window
from agent_core.capabilities.models.settings import Endpoint
from agent_core.errors import ModelError, ModelRefused, ModelUnavailable, RateLimited
from agent_core.providers.limited_replies import ReplyTooLong

OWN_MODEL = "It is this agent's own model: write !model and the name of another one, or !model default, then resume."
MAX_MESSAGE_CHARACTERS = 300
MAX_NAME_CHARACTERS = 200
MIN_RETRY_AFTER_SECONDS = 1.0  # Azure sends 0 for a used-up rate limit: that is no time to wait
MAX_RETRY_AFTER_SECONDS = 3600.0  # rate limits end sooner; a wrong header must not stop an agent for years
KEY_PATTERN = re.compile(r"\b(?:sk|key|Bearer)[-_ ][\w*.-]{6,}")
NO_CREDIT_CODES = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error")
NO_CREDIT_WORDS = "credit balance is too low"  # Anthropic, as an invalid request
RETRYABLE_STATUSES = (408, 409, 429)
ABOUT_KEY = re.compile(r"\bkeys?\b|\btoken\b|\bcredentials?\b|\bauthenticat", re.IGNORECASE)
ABOUT_MODEL = re.compile(r"\bmodels?\b|\bdeployment\b", re.IGNORECASE)
NO_REASON = re.compile(
    r"(?:403)?[\s:-]*(?:forbidden|permission denied|access denied)?[\s.!]*|\s*<.*", re.IGNORECASE | re.DOTALL
)
# What a server answers that has nothing at an address: no words of its own, or a page.
NOTHING_HERE = re.compile(
    r"(?:error code: )?(?:404)?[\s:-]*(?:(?:page|path|route|url|resource)? ?not[ _]found)?[\s.!]*|\s*<.*"
    r"|404 page not found\s*|(?:cannot|invalid|no route|no such)\b.*\b(?:get|post|url|route|path)\b.*",
    re.IGNORECASE | re.DOTALL,
)
PARAMETER_STATUSES = (400, 404, 422, 500, 501)
TOO_LARGE_STATUSES = (400, 413, 422, 500)
MIN_LEARNED_WINDOW = 2_048
SMALLER_PERCENT = 75  # of the present window, where the error does not help
TOO_LARGE = re.compile(
    r"context[ _](?:length|window|size|limit)|\bn_ctx\b"
    r"|\b(?:prompt|inputs?|messages?|request)\b[^.]{0,60}\btoo (?:long|large)"
    r"|\binput (?:length|tokens?|token count)\b[^.]{0,60}\b(?:exceed|should|must)"
    r"|\btokens \+ `?max_|\btoo many (?:input )?tokens"
)
# Groq's limit of a reply names the window, too.
ABOUT_REPLY = re.compile(r"\bmax_(?:completion_)?tokens\W{1,4}must be\b")
IMAGE_STATUSES = (400, 404, 415, 422, 500, 501)  # OpenRouter answers 404, llama.cpp 500
# Groq and Mistral say of a text model that the content must be a string.
ABOUT_IMAGES = re.compile(r"\bimages?\b|image_url|image_input|\bvision\b|modal|must be a (?:valid )?string")
ABOUT_THIS_IMAGE = re.compile(r"too (?:large|big|small)|exceed|could not process|dimension|corrupt|decode|unable to")
NUMBER = r"(\d[\d,]*)(?![\d,]|\s*\+)"
WINDOWS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:context[ _](?:length|window|size|limit)|\bn_ctx\b)\D{{0,30}}?{NUMBER}",
        rf"{NUMBER}(?: tokens)? max(?:imum)?\b",  # Anthropic, Mistral
        rf"\btokens allowed\D{{0,5}}{NUMBER}",  # Gemini
        rf"(?:>|<=|\blimit of|\bat most|\bmaximum (?:is|of)) {NUMBER}",  # Anthropic, Together, OpenAI
        rf"\[\d+, {NUMBER}\]",  # Qwen
    )
)
RATE = re.compile(r"\blimit:? (\d[\d,]*),(?: used:? \d[\d,]*,)? requested:? (\d[\d,]*)")
MISSING_MODEL_CODES = ("model_not_found", "DeploymentNotFound")
MISSING_MODEL = re.compile(
    r"\b(?:models?|deployment)\b.{0,80}\b(?:not (?:exist|found|available)|unavailable|no longer)"
    r"|\b(?:no such|unknown|find) (?:model|deployment)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ability:
    """What an endpoint is used for, and the names of the settings for its key, URL and model, for error messages.

    `address_hint` ends the sentence that asks to check the address.
    `other_models`: the settings of models besides the default one, by the model's name.
    `own_model`: what to do about a model that no setting names, as an agent has it of its own.
    """

    name: str
    key: str = "the API key"
    address: str = "the base URL"
    model: str = "the model"
    address_hint: str = ", which usually ends in /v1"
    other_models: Mapping[str, str] = field(default_factory=dict)
    own_model: str = "Choose another model for this agent, then resume."

    def with_variables(self, endpoint: Endpoint, model: str, others: Mapping[str, str] | None = None) -> "Ability":
        """The ability with the variables that error messages name: `model` chooses the model, `others` are by model."""
        return replace(
            self,
            key=endpoint.key_variable,
            address=endpoint.url_variable,
            model=model,
            other_models=others or {},
            own_model=OWN_MODEL,
        )

    def model_advice(self, model: str, default: str) -> str:
        """What to do if the endpoint does not have the model; `default` is the model of the setting `model`."""
        if model not in (default, "", *self.other_models):
            return self.own_model
        variable = self.model if model == default else self.other_models.get(model, self.model)
        return f"Set {variable} to one it offers, then restart Signoff."


CHAT = Ability(name="chat completions")


class RedirectedElsewhere(Exception):
    """An endpoint redirects a request to another host, `target`, or from https to http."""

    def __init__(self, target: str) -> None:
        self.target = target
        super().__init__(target)


class CompressedReply(Exception):
    """A response is compressed although the request forbade it."""


OTHER_ERRORS = BrokenOff, CompressedReply, RecursionError, RedirectedElsewhere, ReplyTooLong, TimeoutError, ValueError


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCall:
    """A call that failed. `host` and `model` are shown; `secret`, the key, never is.

    `advice`: what to do if the endpoint does not have the model.
    """

    host: str
    model: str
    advice: str
    secret: str
    now: datetime
    ability: Ability


def to_model_error(error: Exception, sdk: Any, call: FailedCall) -> ModelError:
    """Translate an error of the SDK, or a timeout, to a ModelError."""
    if refused := _by_client(error, call) or _by_client(error.__cause__, call):
        return refused
    host = call.host
    match error:
        case TimeoutError() | sdk.APITimeoutError():
            return ModelUnavailable(f"{host} did not answer in time.")
        case BrokenOff(args=(str(message),)):
            return ModelUnavailable(f"{host} broke off its reply: {redact_and_shorten(message, call.secret)}")
        case BrokenOff():
            return ModelUnavailable(f"{host} broke off in the middle of its reply.")
        case sdk.APIConnectionError():
            return ModelUnavailable(f"{host} cannot be reached.")
        case sdk.APIStatusError():
            message = redact_and_shorten(message_in(error.body) or error.message, call.secret)
            return _by_status(error, message, call)
        case sdk.APIError() if message := message_in(error.body):
            return ModelUnavailable(f"{host} broke off its reply: {redact_and_shorten(message, call.secret)}")
        case _:
            return ModelUnavailable(f"{host} gave an answer that cannot be read ({type(error).__name__}).")


def _by_client(error: BaseException | None, call: FailedCall) -> ModelRefused | None:
    """The sentence for an error of `limited_client`, which the SDKs wrap or not; None for other errors."""
    host, ability = call.host, call.ability
    match error:
        case ReplyTooLong(max_bytes=most, unit=unit):
            return ModelRefused(
                f"{host} sent more than {most:,} bytes as one {unit}, so it was not read. Check {ability.address} and "
                f"{ability.model}, then resume."
            )
        case CompressedReply():
            return ModelRefused(
                f"{host} compressed its reply, which it was asked not to do, so it was not read. Check "
                f"{ability.address}, then resume."
            )
        case RedirectedElsewhere(target=target):
            return ModelRefused(
                f"{host} redirects to {redact_and_shorten(target, call.secret)}, which is sent nothing. If that is "
                f"right, set {ability.address} to it, then restart Signoff."
            )
        case _:
            return None


def _by_status(error: Any, message: str, call: FailedCall) -> ModelError:
    host, status = call.host, error.status_code
    if has_no_credit(error):
        return ModelRefused(
            f"{host} says that the account has no credit left: {end_sentence(message)} Add credit, then resume."
        )
    if status < 400:  # an error event in a stream
        return ModelUnavailable(f"{host} broke off its reply: {message}")
    if status in RETRYABLE_STATUSES or status >= 500:
        kind = RateLimited if status == 429 else ModelUnavailable
        return kind(f"{host} answered {status}: {message}", retry_after(error.response.headers, call.now))
    if status == 401 or (status == 403 and is_about_key(error)):
        wrong = "does not accept the key" if call.secret else "wants a key"
        return ModelRefused(
            f"{host} {wrong} ({status}). Set {call.ability.key} to a key that may use "
            f"{call.model or 'it'}, then restart Signoff."
        )
    if status == 404:
        return ModelRefused(_not_found(error, message, call))
    return ModelRefused(f"{host} refused the request ({status}): {message}")


def _not_found(error: Any, message: str, call: FailedCall) -> str:
    host, model, ability = call.host, call.model, call.ability
    if NOTHING_HERE.fullmatch(message_in(error.body)):
        return f"{host} has no {ability.name} at this address: check {ability.address}{ability.address_hint}."
    if ABOUT_MODEL.search(message):
        return f"{host} has no model {model}: {end_sentence(message)} {call.advice}"
    return f"{host} refused the request (404): {message}"


def may_be_about_parameters(error: Exception) -> bool:
    """Whether a simpler request may be accepted: the error is not about money, size, the model or the address."""
    status = getattr(error, "status_code", 0)
    if status not in PARAMETER_STATUSES or has_no_credit(error) or is_too_large(error):
        return False
    if getattr(error, "code", None) in MISSING_MODEL_CODES or MISSING_MODEL.search(error_text(error)):
        return False
    return status != 404 or not NOTHING_HERE.fullmatch(message_in(getattr(error, "body", None)))


def is_too_large(error: Exception) -> bool:
    """Whether a smaller request is needed. Waiting does not help."""
    status, complaint = getattr(error, "status_code", 0), error_text(error)
    if rate_limit(complaint):
        return status in (429, *TOO_LARGE_STATUSES)
    return status in TOO_LARGE_STATUSES and bool(TOO_LARGE.search(complaint)) and not ABOUT_REPLY.search(complaint)


def rate_limit(complaint: str) -> int | None:
    """The tokens that a rate limit allows, if one request asks for more than all of them; else None."""
    found = RATE.search(complaint)
    if found is None:
        return None
    limit, requested = (_integer(number) for number in found.groups())
    return limit if requested > limit else None


def smaller_window(error: Exception, present: int) -> int | None:
    """The window in tokens to use after this error instead of the `present` one.

    It is the one that the error names, or else three fourths of the present one; None if that is too small to work.
    """
    complaint = error_text(error)
    found = next((match for window in WINDOWS if (match := window.search(complaint))), None)
    named = _integer(found[1]) if found else present
    told = rate_limit(complaint) or reported_window(getattr(error, "body", None)) or named
    window = told if told < present else present * SMALLER_PERCENT // 100
    return window if window >= MIN_LEARNED_WINDOW else None


def _integer(digits: str) -> int:
    return int(digits.replace(",", ""))


def refuses_images(error: Exception) -> bool:
    """Whether a request with pictures was refused because the model takes none."""
    complaint = error_text(error)
    is_refusal = getattr(error, "status_code", 0) in IMAGE_STATUSES
    return is_refusal and bool(ABOUT_IMAGES.search(complaint)) and not ABOUT_THIS_IMAGE.search(complaint)


def failed_generation(error: Exception) -> str:
    """The reply that Groq could not validate as JSON or as a tool call, or "": our own reader may understand it."""
    match getattr(error, "body", None):
        case {"code": "json_validate_failed" | "tool_use_failed", "failed_generation": str(text)}:
            return text
        case _:
            return ""


def has_no_credit(error: Any) -> bool:
    """Whether the account has no credit left."""
    codes = getattr(error, "code", None), getattr(error, "type", None)
    is_told = any(code in NO_CREDIT_CODES for code in codes) or NO_CREDIT_WORDS in error_text(error)
    return is_told or getattr(error, "status_code", 0) == 402


def is_about_key(error: Any) -> bool:
    """Whether a 403 is about the key: it says so or gives no reason, such as a country or moderation."""
    message = message_in(error.body)
    return bool(ABOUT_KEY.search(message) or NO_REASON.fullmatch(message))


def error_text(error: Exception) -> str:
    """All that the endpoint said about the error, in lower case, for a search for words."""
    param, code = getattr(error, "param", None), getattr(error, "code", None)
    message = (param, code, message_in(getattr(error, "body", None)), getattr(error, "message", ""))
    return " ".join(str(word) for word in message if word).lower()


def message_in(body: object) -> str:
    """The message in an error body, "" if there is none. Endpoints use several formats."""
    match body:
        case {"message": str(message)} | {"error": {"message": str(message)}} | {"error": str(message)}:
            return message
        case {"detail": str(message)} | str(message):
            return message
        case {"detail": [*details]}:  # Mistral
            return "; ".join(_detail(each) for each in details)
        case [first, *_]:  # Gemini
            return message_in(first)
        case _:
            return ""


def _detail(detail: object) -> str:
    match detail:
        case {"loc": [*place], "msg": str(message)}:
            return f"{'.'.join(map(str, place))}: {message}"
        case _:
            return str(detail)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait by the header `retry-after-ms` or `Retry-After` (a number or date); None if neither is valid.

    At most MAX_RETRY_AFTER_SECONDS. Less than MIN_RETRY_AFTER_SECONDS, as of a date in the past, is no time to wait.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    given = headers.get("retry-after", "")
    seconds = _number(given) if milliseconds is None else milliseconds / 1000
    if seconds is None:
        seconds = _seconds_until(given, now)
    if seconds is None or seconds < MIN_RETRY_AFTER_SECONDS:
        return None
    return min(seconds, MAX_RETRY_AFTER_SECONDS)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _seconds_until(date: str, now: datetime) -> float | None:
    try:
        then = parsedate_to_datetime(date)
    except (OverflowError, ValueError):
        return None
    aware = then if then.tzinfo else then.replace(tzinfo=UTC)
    return (aware - now).total_seconds()


def redact_and_shorten(message: str, secret: str) -> str:
    """Make the message one line of at most 300 characters, with API keys replaced by "…".

    `secret` is also found percent-encoded, and with line breaks or blanks in it.
    """
    plain = message
    for spelling in {secret, quote(secret, safe="")} if secret else ():
        plain = re.sub(r"\s*".join(map(re.escape, spelling)), "…", plain)
    line = " ".join(KEY_PATTERN.sub("…", plain).split())
    return line if len(line) <= MAX_MESSAGE_CHARACTERS else f"{line[:MAX_MESSAGE_CHARACTERS]}…"


def shown_name(name: str) -> str:
    """The name of a model as people may read it: one line of at most 200 characters. Endpoints choose their names."""
    return " ".join(name[: 2 * MAX_NAME_CHARACTERS].split())[:MAX_NAME_CHARACTERS]


def end_sentence(message: str) -> str:
    """The message with a full stop, unless it ends as a sentence."""
    return message if message.endswith((".", "!", "?", "…")) else f"{message}."
