"""The settings of language models and embeddings, and the endpoints that they configure."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from bot.cross_setting_rules import LOCAL, Given, Rule
from bot.value_types import ANTHROPIC_URL, NO_SECRET, OPENAI_URL, AzureAddress, Endpoint, Secret, WebAddress

USUAL_EMBEDDINGS = "text-embedding-3-small"
CLAUDE_PREFIX = "claude-"
GPT_PREFIX = "gpt-"
SAME_MODEL = "is the model that SMART_MODEL names, at the same endpoint: name another."
OTHER_PROVIDER = "is no model of {host}: set {key} or FALLBACK_BASE_URL, or name another."
NO_FIRST = "stands in for a model, so a model must be connected: set OPENAI_API_KEY, for example."
NO_PLACE = "has no endpoint: set FALLBACK_BASE_URL, OPENAI_API_KEY or ANTHROPIC_API_KEY."
NO_MODEL = "must name a model of FALLBACK_BASE_URL."

Price = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]
Effort = Literal["", "none", "minimal", "low", "medium", "high", "xhigh"]


class ModelSettings(BaseSettings):
    """The operator's settings of models. The base of all settings, with their configuration."""

    model_config = SettingsConfigDict(
        frozen=True,
        populate_by_name=True,
        extra="ignore",
        validate_default=True,
        str_strip_whitespace=True,
        env_ignore_empty=True,
        env_file_encoding="utf-8-sig",
    )

    openai_api_key: Secret = NO_SECRET
    openai_base_url: WebAddress = ""
    anthropic_api_key: Secret = NO_SECRET
    anthropic_base_url: WebAddress = ""
    smart_model: str = ""
    fast_model: str = ""
    azure_openai_api_key: Secret = NO_SECRET
    azure_openai_endpoint: AzureAddress = ""
    context_window: int | None = Field(default=None, ge=1024, le=20_000_000)
    max_reply_tokens: int | None = Field(default=None, ge=256, le=1_000_000)
    reasoning_effort: Effort = ""
    fast_reasoning_effort: Effort = ""
    show_reasoning: bool = False
    prompt_profile: Literal["auto", "full", "compact"] = "auto"
    vision: Literal["auto", "on", "off"] = "auto"
    temperature: float | None = Field(default=None, ge=0, le=2)
    model_prices: Mapping[str, tuple[Price, Price]] = {}
    fallback_base_url: WebAddress = ""
    fallback_api_key: Secret = NO_SECRET
    fallback_model: str = ""
    embedding_api_key: Secret = NO_SECRET
    embedding_base_url: WebAddress = ""
    embedding_model: str = ""

    @property
    def sees(self) -> bool | None:
        """Whether every model takes pictures; None if that is found out."""
        return {"auto": None, "on": True, "off": False}[self.vision]

    @property
    def endpoint(self) -> Endpoint | None:
        """The language model's endpoint; None if none is configured."""
        return self._claude or self.openai_endpoint

    @property
    def fallback_endpoint(self) -> Endpoint | None:
        """The endpoint of FALLBACK_MODEL; None if that is not set or has no endpoint.

        Without FALLBACK_BASE_URL, Anthropic's API serves `claude-…` and the OpenAI-compatible endpoint other models, if
        they are configured.
        """
        if not self.fallback_model:
            return None
        if not self.fallback_base_url:
            is_claude = self.fallback_model.startswith(CLAUDE_PREFIX)
            return (is_claude and self._anthropic) or self.openai_endpoint or self._anthropic
        return Endpoint(
            url=self.fallback_base_url,
            key=self.fallback_api_key.get_secret_value(),
            url_variable="FALLBACK_BASE_URL",
            key_variable="FALLBACK_API_KEY",
        )

    @property
    def has_fallback_at_first_endpoint(self) -> bool:
        """Whether both endpoints have one address, and the fallback has no account of its own there."""
        first, second = self.endpoint, self.fallback_endpoint
        return bool(first and second and _place(first.url) == _place(second.url) and second.key in ("", first.key))

    @property
    def has_unused_anthropic_key(self) -> bool:
        """Whether ANTHROPIC_API_KEY is set, but serves neither the first model nor the fallback."""
        places = (self.endpoint, self.fallback_endpoint)
        return bool(self.anthropic_api_key) and not any(place and place.api == "anthropic" for place in places)

    @property
    def openai_endpoint(self) -> Endpoint | None:
        """The OpenAI-compatible endpoint, if one is configured: it also serves media and embeddings."""
        if self.azure_openai_endpoint:
            return Endpoint(
                url=f"{self.azure_openai_endpoint}/openai/v1",
                key=self.azure_openai_api_key.get_secret_value(),
                url_variable="AZURE_OPENAI_ENDPOINT",
                key_variable="AZURE_OPENAI_API_KEY",
            )
        if self.openai_api_key or self.openai_base_url:
            return Endpoint(url=self.openai_base_url or OPENAI_URL, key=self.openai_api_key.get_secret_value())
        return None

    @property
    def has_endpoint(self) -> bool:
        """Whether a model endpoint is configured. Without one, the scripted demo model is used."""
        return self.endpoint is not None

    @property
    def embedding_name(self) -> str:
        """The name of the embedding model: `local`, or the name of a model that `embedding_endpoint` serves."""
        return self.embedding_model or (USUAL_EMBEDDINGS if self.is_openai else LOCAL)

    @property
    def is_openai(self) -> bool:
        endpoint = self.openai_endpoint
        return endpoint is not None and urlsplit(endpoint.url).hostname == urlsplit(OPENAI_URL).hostname

    @property
    def embedding_endpoint(self) -> Endpoint | None:
        """The endpoint of the embedding model, or None if it runs on this machine."""
        if self.embedding_name == LOCAL:
            return None
        if not self.embedding_base_url:
            return self.openai_endpoint
        return Endpoint(
            url=self.embedding_base_url,
            key=self.embedding_api_key.get_secret_value(),  # send no key to a host that it was not set for
            url_variable="EMBEDDING_BASE_URL",
            key_variable="EMBEDDING_API_KEY",
        )

    @property
    def _claude(self) -> Endpoint | None:
        """Anthropic's API, if it is configured and SMART_MODEL is one of its models, or nothing else is configured."""
        has_address = self.openai_base_url or self.azure_openai_endpoint
        is_wanted = self.openai_endpoint is None or (not has_address and self.smart_model.startswith(CLAUDE_PREFIX))
        return self._anthropic if is_wanted else None

    @property
    def _anthropic(self) -> Endpoint | None:
        if not (self.anthropic_api_key or self.anthropic_base_url):
            return None
        return Endpoint(
            url=self.anthropic_base_url or ANTHROPIC_URL,
            key=self.anthropic_api_key.get_secret_value(),
            url_variable="ANTHROPIC_BASE_URL",
            key_variable="ANTHROPIC_API_KEY",
            api="anthropic",
        )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Disable pydantic's own sources (environment, .env): `load` reads them, so that tests can pass their own."""
        return (init_settings,)

    @field_validator("embedding_model", mode="before")
    @classmethod
    def _local_in_any_case(cls, given: object) -> object:
        return LOCAL if isinstance(given, str) and given.strip().lower() == LOCAL else given

    @field_validator("model_prices", mode="before")
    @classmethod
    def _decoded(cls, given: object) -> object:
        return json.loads(given) if isinstance(given, str) else given


def _fallback_model(value: str, given: Given) -> str | None:
    settings = ModelSettings.model_construct(**{**given, "fallback_model": value})
    if not value:
        return NO_MODEL if settings.fallback_base_url else None
    if settings.endpoint is None:
        return NO_FIRST
    if settings.fallback_endpoint is None:
        return NO_PLACE
    place = settings.fallback_endpoint
    if settings.has_fallback_at_first_endpoint and value == settings.smart_model:
        return SAME_MODEL
    return _other_provider(value, place)


def _other_provider(model: str, endpoint: Endpoint) -> str | None:
    """The problem of a model that only the other one of OpenAI and Anthropic serves. A gateway may serve both."""
    for prefix, address, key in (
        (CLAUDE_PREFIX, OPENAI_URL, "ANTHROPIC_API_KEY"),
        (GPT_PREFIX, ANTHROPIC_URL, "OPENAI_API_KEY"),
    ):
        if model.startswith(prefix) and _place(endpoint.url) == _place(address):
            return OTHER_PROVIDER.format(host=urlsplit(address).hostname, key=key)
    return None


def _place(url: str) -> tuple[str | None, int | None, str]:
    """Host in lower case, port and path of an address without /v1 at its end, which one of the SDKs adds."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return parts.hostname, port, parts.path.rstrip("/").removesuffix("/v1")


MODEL_RULES: Mapping[str, Rule] = {"fallback_model": _fallback_model}
