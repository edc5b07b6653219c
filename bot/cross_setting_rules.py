"""Rules between settings. Each checks a setting against settings declared earlier and returns the problem, or None."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from bot.value_types import LOOPBACK

LOCAL = "local"
TOKEN_LENGTH = 16
SIGN_IN_KEY_LENGTH = 16
MCP_TOKEN_LENGTH = 32
TOO_SHORT = "must have at least 16 characters, or others could guess it."
UNGUARDED_MCP = "needs MCP_TOKEN beside it, of 32 characters or more, which clients must send."
NO_SIGN_IN_KEY = "must be set, to 16 characters or more: the servers with oauth in MCP_SERVERS need it ({})."
UNGUARDED = "opens the page to others, so WEB_TOKEN must be set too."
TWO_ENDPOINTS = "is one endpoint and OPENAI_BASE_URL another: set one of the two."
NO_BUCKET = "needs WORKSPACE_URL beside it, the bucket: s3://bucket/prefix."
NO_DEPLOYMENT = "needs SMART_MODEL beside it, the name of the deployment."
MODEL_VARIABLES = "OPENAI_API_KEY, OPENAI_BASE_URL or ANTHROPIC_API_KEY"  # any of them connects a model
MODEL_LINES = "OPENAI_API_KEY=…, ANTHROPIC_API_KEY=… or OPENAI_BASE_URL=…"
NO_ANTHROPIC = "needs the package anthropic: run make extras EXTRAS=claude, then start again."
NO_EMBEDDINGS = "names a model, so OPENAI_API_KEY, OPENAI_BASE_URL or EMBEDDING_BASE_URL must say where it is."

# `value` is the value of the setting, of any type; `given` has the earlier settings that are valid.
Given: TypeAlias = Mapping[str, Any]
Rule: TypeAlias = Callable[[Any, Given], str | None]


def _web_token(value: Any, given: Given) -> str | None:
    is_needed = value or given.get("host", "localhost") not in LOOPBACK
    return TOO_SHORT if is_needed and len(value) < TOKEN_LENGTH else None


def _public_url(value: Any, given: Given) -> str | None:
    is_open = urlsplit(value).hostname not in (None, *LOOPBACK)
    return UNGUARDED if is_open and not given.get("web_token") else None


def _mcp_serve(value: Any, given: Given) -> str | None:
    return UNGUARDED_MCP if value and len(given.get("mcp_token", "")) < MCP_TOKEN_LENGTH else None


def _mcp_sign_in_key(value: Any, given: Given) -> str | None:
    servers = given.get("mcp_servers")
    needing = ", ".join(servers.with_sign_in) if servers else ""
    return NO_SIGN_IN_KEY.format(needing) if needing and len(value) < SIGN_IN_KEY_LENGTH else None


def _workspace_endpoint(value: Any, given: Given) -> str | None:
    has_bucket = str(given.get("workspace_url", "")).startswith("s3://")
    return NO_BUCKET if value and not has_bucket else None


def _azure_openai_endpoint(value: Any, given: Given) -> str | None:
    if value and given.get("openai_base_url"):
        return TWO_ENDPOINTS
    wrong = _beside(value, given, "azure_openai_api_key")
    return wrong or (NO_DEPLOYMENT if value and not given.get("smart_model") else None)


def _embedding_model(value: Any, given: Given) -> str | None:
    has_own = bool(given.get("embedding_base_url"))
    if value in ("", LOCAL):
        return "must name a model of EMBEDDING_BASE_URL." if has_own else None
    places = ("openai_api_key", "openai_base_url", "azure_openai_endpoint")
    return None if has_own or any(given.get(place) for place in places) else NO_EMBEDDINGS


def _beside(value: Any, given: Given, field: str) -> str | None:
    return f"needs {field.upper()} beside it." if value and not given.get(field) else None


def _sd_webui_auth(value: Any, given: Given) -> str | None:
    if value and ":" not in value.get_secret_value():
        return "must be a user, a colon and a password, without blanks."
    return _beside(value, given, "sd_webui_url")


def _x_access_token_secret(value: Any, given: Given) -> str | None:
    names = ("x_api_key", "x_api_secret", "x_access_token")
    missing = [name.upper() for name in names if not given.get(name)]
    if value:
        return f"needs {', '.join(missing)} beside it." if missing else None
    return "is missing beside the other keys of X." if len(missing) < len(names) else None


CORE_RULES: Mapping[str, Rule] = {
    "web_token": _web_token,
    "public_url": _public_url,
    "mcp_serve": _mcp_serve,
    "mcp_sign_in_key": _mcp_sign_in_key,
    "workspace_endpoint": _workspace_endpoint,
    "azure_openai_endpoint": _azure_openai_endpoint,
    "fallback_api_key": partial(_beside, field="fallback_base_url"),
    "embedding_model": _embedding_model,
    "pinecone_host": partial(_beside, field="pinecone_api_key"),
    "pinecone_controller_host": partial(_beside, field="pinecone_api_key"),
    "brave_search_url": partial(_beside, field="brave_api_key"),
    "tavily_search_url": partial(_beside, field="tavily_api_key"),
    "google_cse_id": partial(_beside, field="google_api_key"),
    "sd_webui_auth": _sd_webui_auth,
    "huggingface_image_model": partial(_beside, field="huggingface_api_token"),
    "huggingface_audio_model": partial(_beside, field="huggingface_api_token"),
    "x_access_token_secret": _x_access_token_secret,
}
