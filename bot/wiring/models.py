"""Builds the language model, token counters, embedder and vector index from the settings.

Part of the composition root, like `bot.bootstrap`. Modules are imported only if a setting needs them.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from agent_core.capabilities.demo.rehearsal import RehearsalModel
from agent_core.capabilities.memory.capability import make_embedder, make_index
from agent_core.capabilities.models.prices import Prices, load_price_list
from agent_core.capabilities.models.settings import MODEL_LINES, NO_ANTHROPIC, OPENAI_URL, Endpoint
from agent_core.errors import SettingsError
from agent_core.ports.database import Database
from agent_core.ports.models import Embedder, EndpointCheck, LanguageModel, MemoryIndex, Rehearsal, TokenCounters
from agent_core.prompt.profiles import ProfileName, profile_for
from bot.findings.models import PromptWindow
from bot.settings import VARIABLES, Settings

LISTING_SECONDS = 3.0
SAME_DEFAULT = "is the model that answers without SMART_MODEL, at the same endpoint: name another."


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The language model and the parts for memory. `rehearsal` is set in demo mode only."""

    model: LanguageModel
    tokens: TokenCounters
    embedder: Embedder
    index: MemoryIndex
    rehearsal: Rehearsal | None = None

    @classmethod
    def of(cls, settings: Settings, database: Database) -> "Models":
        """Build the parts that the settings choose. A detected model server is not used: `doctor` only offers it."""
        model = make_model(settings)
        return cls(
            model=model,
            tokens=make_counters(settings),
            embedder=make_embedder(settings),
            index=make_index(settings, database, settings.home),
            rehearsal=model if isinstance(model, RehearsalModel) else None,
        )

    async def prepare(self) -> None:
        """Load what a thought needs, and detect the default model, so that the first turn does not wait for them."""
        for each, arguments in ((self.model, ()), (self.tokens, (self.model.default_model,))):
            if prepare := getattr(each, "prepare", None):
                await prepare(*arguments)
        if self.rehearsal is None:
            await asyncio.to_thread(load_price_list)

    async def prepare_memory(self) -> None:
        """Load an embedder of this machine, so that the first recall does not wait for it."""
        if prepare := getattr(self.embedder, "prepare", None):
            await prepare()

    async def close(self) -> None:
        async with AsyncExitStack() as stack:
            for each in (self.model, self.embedder, self.index):
                if close := getattr(each, "close", None):
                    stack.push_async_callback(close)


def make_model(settings: Settings) -> LanguageModel:
    """The model that the settings choose; with FALLBACK_MODEL, a second one answers while the first is away.

    Raise SettingsError if a model cannot be served.
    """
    first = _make_first_model(settings)
    if settings.fallback_endpoint is None:
        return first
    from agent_core.capabilities.models.fallback_model import FallbackModel

    if settings.has_fallback_at_first_endpoint and settings.fallback_model == _unnamed_model(settings):
        raise SettingsError("FALLBACK_MODEL", SAME_DEFAULT, VARIABLES["FALLBACK_MODEL"].example)
    second = _make_endpoint_model(settings, settings.fallback_endpoint, settings.fallback_model, "FALLBACK_MODEL")
    return FallbackModel(first=first, second=second)


def _unnamed_model(settings: Settings) -> str:
    """The model that answers without SMART_MODEL; "" if its endpoint chooses it, or SMART_MODEL is set."""
    if settings.smart_model or settings.endpoint is None:
        return ""
    if settings.endpoint.api == "anthropic":
        from agent_core.capabilities.models.anthropic_model import DEFAULT_CLAUDE_MODEL

        return DEFAULT_CLAUDE_MODEL
    from agent_core.capabilities.models.openai_model import DEFAULT_MODEL

    return DEFAULT_MODEL if settings.is_openai else ""


def _make_first_model(settings: Settings) -> LanguageModel:
    """The model of the endpoint; without one, the scripted demo model."""
    if settings.endpoint is None:
        return RehearsalModel(MODEL_LINES)
    return _make_endpoint_model(settings, settings.endpoint, settings.smart_model, "SMART_MODEL")


def _make_endpoint_model(settings: Settings, endpoint: Endpoint, name: str, variable: str) -> LanguageModel:
    """The model `name` of the endpoint; `variable`: the setting that gives the name, for error messages."""
    make: Callable[..., LanguageModel]
    if endpoint.api == "anthropic":
        from agent_core.capabilities.models.anthropic_model import CLAUDE, CLAUDE_V1, DEFAULT_CLAUDE_MODEL, ClaudeModel

        if not ClaudeModel.is_installed():
            raise SettingsError(endpoint.key_variable, NO_ANTHROPIC, "sk-ant-your-key")
        ability = CLAUDE_V1 if endpoint.url.endswith("/v1") else CLAUDE
        prices = Prices(settings.model_prices, base_url=endpoint.url)  # a gateway on this machine is not free
        make = partial(ClaudeModel, model=name or DEFAULT_CLAUDE_MODEL, prices=prices)
    else:
        from agent_core.capabilities.models.endpoint_errors import CHAT
        from agent_core.capabilities.models.openai_model import OpenAIModel

        ability, prices = CHAT, Prices.at(endpoint.url, settings.model_prices)
        make = partial(OpenAIModel, model=name, temperature=settings.temperature, prices=prices)
    return make(
        base_url=endpoint.url,
        api_key=endpoint.key,
        context=settings.context_window,
        reply_limit=settings.max_reply_tokens,
        vision=settings.sees,
        ability=ability.with_variables(
            endpoint, variable, {settings.fast_model: "FAST_MODEL"} if settings.fast_model else None
        ),
    )


async def check_model_endpoint(endpoint: Endpoint) -> EndpointCheck:
    """Check an endpoint for the doctor. Azure's list has models, but a request names a deployment: it is left out."""
    from agent_core.capabilities.models.anthropic_model import DEFAULT_CLAUDE_MODEL, ClaudeModel
    from agent_core.capabilities.models.openai_model import DEFAULT_MODEL
    from agent_core.capabilities.models.server_discovery import check_endpoint

    is_claude = endpoint.api == "anthropic"
    if is_claude and not ClaudeModel.is_installed():
        return EndpointCheck(fault=f"cannot be asked: {NO_ANTHROPIC.rstrip('.')}", default=DEFAULT_CLAUDE_MODEL)
    check = await check_endpoint(endpoint.url, endpoint.key, is_claude=is_claude)
    if endpoint.url_variable == "AZURE_OPENAI_ENDPOINT":
        return replace(check, models=())
    if is_claude:
        return replace(check, default=DEFAULT_CLAUDE_MODEL)
    is_known = check.models or endpoint.url == OPENAI_URL
    only = check.models[0] if len(check.models) == 1 else DEFAULT_MODEL if is_known else ""
    return replace(check, default=only)


async def default_model_sees(settings: Settings) -> bool | None:
    """Whether the default model of the endpoint takes pictures; None if neither its name nor the endpoint's list says.

    Raise SettingsError if the model cannot be made.
    """
    async with _prepare_first_model(settings) as model:
        return model.takes_images("") or (False if getattr(model, "is_listed", True) else None)


async def default_window(settings: Settings) -> PromptWindow | None:
    """The window of the endpoint's default model, and the prompt for it; None without an endpoint or its SDK."""
    if not settings.has_endpoint:
        return None
    try:
        async with _prepare_first_model(settings) as model:
            window = model.window("")
            profile = profile_for(wanted_profile(settings), model.default_model, window)
            return PromptWindow(tokens=window, is_known=model.knows_window(""), profile=profile.name)
    except SettingsError:
        return None


@asynccontextmanager
async def _prepare_first_model(settings: Settings) -> AsyncIterator[Any]:
    """The first model, whose endpoint had LISTING_SECONDS to list its models; it is closed at the end."""
    model = _make_first_model(settings)
    async with AsyncExitStack() as stack:
        if close := getattr(model, "close", None):
            stack.push_async_callback(close)
        with suppress(TimeoutError):
            async with asyncio.timeout(LISTING_SECONDS):
                if prepare := getattr(model, "prepare", None):
                    await prepare()
        yield model


def wanted_profile(settings: Settings) -> ProfileName:
    """The prompt profile; the scripted demo model reads the full prompt only."""
    return settings.prompt_profile if settings.has_endpoint else "full"


def make_counters(settings: Settings) -> TokenCounters:
    """OpenAI's tokenizers if an endpoint is configured, else an estimate."""
    from agent_core.capabilities.models.token_estimates import Estimates
    from agent_core.capabilities.models.tokenizers import TiktokenCounters

    return TiktokenCounters(settings.tokenizers) if settings.has_endpoint else Estimates()
