"""What a refusal says of the request: whether a smaller one is needed, or a simpler one may be accepted."""

import re
from typing import Any

from agent_core.providers.llm.context_windows import reported_window
from agent_core.providers.llm.endpoint_errors import NOTHING_HERE, error_text, has_no_credit, message_in

PARAMETER_STATUSES = (400, 404, 422, 500, 501)
TOO_LARGE_STATUSES = (400, 413, 422, 500)
MIN_WINDOW_TOKENS = 2_048
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
    told = rate_limit(complaint) or reported_window(getattr(error, "body", None)) or _told_window(complaint) or present
    window = told if told < present else present * SMALLER_PERCENT // 100
    return window if window >= MIN_WINDOW_TOKENS else None


def refuses_images(error: Exception) -> bool:
    """Whether a request with pictures was refused because the model takes none."""
    complaint = error_text(error)
    is_refusal = getattr(error, "status_code", 0) in IMAGE_STATUSES
    return is_refusal and bool(ABOUT_IMAGES.search(complaint)) and not ABOUT_THIS_IMAGE.search(complaint)


def _told_window(complaint: str) -> int | None:
    found: Any = next((match for window in WINDOWS if (match := window.search(complaint))), None)
    return _integer(found[1]) if found else None


def _integer(digits: str) -> int:
    return int(digits.replace(",", ""))
