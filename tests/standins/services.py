"""Services with OpenAI-compatible endpoints, each with the peculiarities that its documentation names (late 2026)."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.standins.openai import Manners

Json = dict[str, Any]


def _parts(change: Callable[[Json], None]) -> Callable[[Json], Json]:
    """Change every message or delta of a completion or chunk."""

    def changed(sent: Json) -> Json:
        for choice in sent.get("choices", ()):
            change(choice.get("message") or choice.get("delta") or {})
        return sent

    return changed


def _renamed(name: str) -> Callable[[Json], Json]:
    """Reasoning in a field of this name."""

    def change(part: Json) -> None:
        if "reasoning_content" in part:
            part[name] = part.pop("reasoning_content")

    return _parts(change)


def _gemini_usage(sent: Json) -> Json:
    """Thoughts count in the total alone."""
    if usage := sent.get("usage"):
        thoughts = usage.pop("completion_tokens_details", {}).get("reasoning_tokens", 0)
        usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"] + thoughts
    return sent


def _gemini_refuses(body: Mapping[str, Any]) -> tuple[int, object] | None:
    """An error is a list of one."""
    for name in ("prompt_cache_key", "max_completion_tokens"):
        if name in body:
            message = f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
            return 400, [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}]
    return None


def _mistral_part(part: Json) -> None:
    """Reasoning and text are chunks of the content."""
    thought, text = part.pop("reasoning_content", ""), part.get("content") or ""
    if thought or text:
        thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": thought}]}] if thought else []
        part["content"] = [*thinking, *([{"type": "text", "text": text}] if text else [])]


def _mistral_refuses(body: Mapping[str, Any]) -> tuple[int, object] | None:
    """Unknown fields are told as a list of details."""
    for name in ("stream_options", "prompt_cache_key", "max_completion_tokens"):
        if name in body:
            detail = {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"}
            return 422, {"object": "error", "detail": [detail]}
    return None


def _openrouter_part(part: Json) -> None:
    if thought := part.pop("reasoning_content", ""):
        part["reasoning"] = thought
        part["reasoning_details"] = [{"type": "reasoning.text", "text": thought, "index": 0}]


def _groq_chunk(sent: Json) -> Json:
    """Usage comes in a field of its own."""
    if usage := sent.pop("usage", None):
        sent["x_groq"] = {"id": "req_1", "usage": usage}
    return _renamed("reasoning")(sent)


def _deepseek_refuses(body: Mapping[str, Any]) -> tuple[int, object] | None:
    kind = body.get("response_format", {}).get("type")
    if kind == "json_schema":
        message = "This response_format type is unavailable now"
        return 400, {"error": {"message": message, "type": "invalid_request_error", "code": "invalid_request_error"}}
    if "tool_choice" in body:
        message = "deepseek-reasoner does not support this tool_choice"
        return 400, {"error": {"message": message, "type": "invalid_request_error", "code": "invalid_request_error"}}
    return None


def _lm_studio_refuses(body: Mapping[str, Any]) -> tuple[int, object] | None:
    if body.get("response_format", {}).get("type") == "json_object":
        return 400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}
    return None


SERVICES: Mapping[str, Manners] = {
    "deepseek": Manners(refuses=_deepseek_refuses, comment="keep-alive"),
    "gemini": Manners(completion=_gemini_usage, chunk=_gemini_usage, refuses=_gemini_refuses),
    "groq": Manners(completion=_renamed("reasoning"), chunk=_groq_chunk),
    "lm studio": Manners(refuses=_lm_studio_refuses),
    "mistral": Manners(
        completion=_parts(_mistral_part), chunk=_parts(_mistral_part), refuses=_mistral_refuses, always_counts=True
    ),
    "ollama": Manners(completion=_renamed("reasoning"), chunk=_renamed("reasoning")),
    "openrouter": Manners(
        completion=_parts(_openrouter_part), chunk=_parts(_openrouter_part), comment="OPENROUTER PROCESSING"
    ),
    "vllm": Manners(),
}
