"""What is on, what is off, why, and which variable changes it."""

import asyncio
import os
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.inbound.routing import SCOPES
from agent_core.capabilities.capability import Capability, Finding
from agent_core.capabilities.files.capability import FileCapability
from agent_core.capabilities.media.capability import MediaCapability
from agent_core.capabilities.memory.capability import MemoryCapability
from agent_core.capabilities.models import capability, endpoint_checks
from agent_core.capabilities.models.anthropic_model import ClaudeModel
from agent_core.capabilities.models.capability import (
    ModelCapability,
    ask_default_model,
    check_model_endpoint,
)
from agent_core.capabilities.models.endpoint_checks import DefaultModel
from agent_core.capabilities.models.settings import Endpoint
from agent_core.capabilities.programs.capability import ProgramCapability
from agent_core.capabilities.web.capability import WebCapability
from agent_core.ports.models import EndpointCheck, LocalServer
from agent_core.providers.confinement import bwrap_options
from agent_core.testing.sandbox import RecordingSandbox
from bot.bootstrap import probes
from bot.capabilities import Capabilities
from bot.findings.doctor import Probes, Tables, findings, report
from bot.platforms.chat_platforms import PLATFORMS
from bot.settings import Settings, load
from bot.wiring.models import demo_model
from tests.standins.anthropic import anthropic_standin
from tests.standins.openai import Fails, Hangs, SaysPlain, openai_standin
from tests.standins.slack.server import SlackStandin

ASSUMED = "which is assumed: the endpoint reports none"


@dataclass
class World:
    """What the probes will find."""

    endpoint_fault: str = ""
    fallback_fault: str = ""
    models: tuple[str, ...] = ()
    default: str = ""
    servers: tuple[LocalServer, ...] = ()
    tables: Tables = field(default_factory=Tables)
    slack_fault: str | None = None
    discord_fault: str | None = None
    missing_tokenizers: tuple[str, ...] = ()
    has_word_vectors: bool = True
    sandbox_fault: str = ""
    missing_tools: str = ""
    unconfined: str = ""
    git_fault: str = ""
    sees: bool | None = False
    asked: list[str] = field(default_factory=list)

    async def endpoint(self, endpoint: Endpoint) -> EndpointCheck:
        self.asked.append("endpoint")
        fault = self.fallback_fault if endpoint.key_variable == "FALLBACK_API_KEY" else self.endpoint_fault
        return EndpointCheck(fault=fault, models=self.models, default=self.default)

    async def default_model(self) -> DefaultModel:
        return DefaultModel(window=4_096, is_known=True, profile="full", sees=self.sees)

    async def local_servers(self) -> tuple[LocalServer, ...]:
        self.asked.append("local servers")
        return self.servers

    async def database(self) -> Tables:
        self.asked.append("database")
        return self.tables

    async def slack(self) -> str | None:
        self.asked.append("slack")
        return self.slack_fault

    async def discord(self) -> str | None:
        self.asked.append("discord")
        return self.discord_fault

    async def forever(self) -> str | None:
        await asyncio.Event().wait()
        return None

    def probes(self, settings: Settings) -> Probes:
        return Probes(
            database=self.database,
            platforms={"slack": self.slack, "discord": self.discord},
            capabilities=replace(known := Capabilities.of(settings), every=tuple(map(self.seen, known.every))),
        )

    def seen(self, feature: Capability) -> Capability:
        """The feature with what it will find."""
        match feature:
            case FileCapability():
                return replace(feature, readers_fault=lambda: self.unconfined)
            case ModelCapability():
                checks: dict[str, Any] = {"endpoint": self.endpoint, "local_servers": self.local_servers}
                checks |= {"default": self.default_model} if feature.settings.has_endpoint else {}
                return replace(feature, tokenizers=lambda _: self.missing_tokenizers, **checks)
            case WebCapability():
                return replace(feature, browser_fault=str, git_fault=lambda: self.git_fault)
            case MemoryCapability():
                return replace(feature, has_word_vectors=lambda: self.has_word_vectors)
            case ProgramCapability():
                sandbox = RecordingSandbox(fault=self.sandbox_fault)
                return replace(feature, confined=lambda: sandbox, find_missing=lambda: self.missing_tools)
            case MediaCapability():
                return replace(feature, images=None, transcriber=None, voice=None)
            case _:
                return feature


def settings_with(tmp_path: Path, **variables: str) -> Settings:
    return load({"SIGNOFF_HOME": str(tmp_path / "home"), **variables}, None)


def with_models(probes: Probes, **checks: Any) -> Probes:
    """The probes, with other checks of models."""
    every = (
        replace(each, **checks) if isinstance(each, ModelCapability) else each for each in probes.capabilities.every
    )
    return replace(probes, capabilities=replace(probes.capabilities, every=tuple(every)))


async def found(settings: Settings, world: World | None = None) -> dict[str, Finding]:
    return {finding.name: finding for finding in await findings(settings, (world or World()).probes(settings))}


async def test_surfaces_come_first_then_providers(tmp_path: Path) -> None:
    names = list(await found(settings_with(tmp_path)))
    assert names == [
        "web", "terminal", *(platform.name for platform in PLATFORMS),
        "mcp clients", "telemetry",
        "model", "tokens", "database", "retention", "data folder", "templates", "documents", "search",
        "pages", "repositories", "downloads", "memory", "embeddings", "programs", "pictures", "audio", "speech",
        "posts",
    ]  # fmt: skip


async def test_on_a_fresh_machine_nothing_is_at_fault_and_nothing_is_made(tmp_path: Path) -> None:
    world = World()
    seen = await found(settings_with(tmp_path), world)
    off = [name for name, finding in seen.items() if finding.state != "on"]
    platforms = [platform.name for platform in PLATFORMS]
    tools = ("downloads", "programs", "pictures", "audio", "speech", "posts")
    assert off == [*platforms, "mcp clients", "telemetry", "search", *tools]
    assert "fault" not in {finding.state for finding in seen.values()}
    assert seen["database"].why == f"sqlite:///{tmp_path}/home/signoff.db, made at the first start"
    assert seen["retention"].why == "everything is kept until people delete it"
    assert seen["data folder"].why == f"{tmp_path}/home, made at the first start"
    assert world.asked == ["local servers"]
    assert not (tmp_path / "home").exists()


@pytest.mark.proves("templates:folder")
async def test_templates_that_cannot_be_used_are_named_with_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text("ai_goals:\n- Write\n")
    (tmp_path / "bad.yaml").write_text("ai_name: Ada\n")
    seen = await found(settings_with(tmp_path, TEMPLATES_DIR=str(tmp_path)))
    assert seen["templates"] == Finding(
        name="templates",
        state="warn",
        why="8 templates for new agents. Left out: bad.yaml: Goals: write at least one, one per line",
        variable="TEMPLATES_DIR",
    )
    assert (await found(settings_with(tmp_path)))["templates"].why == "7 templates for new agents"


BOT = {"SLACK_BOT_TOKEN": "xoxb-one"}
SOCKET = {"SLACK_APP_TOKEN": "xapp-1"}
HTTP = {"SLACK_SIGNING_SECRET": "hidden"}
PAGE = {"WEB_TOKEN": "a-token-of-some-length", "PUBLIC_URL": "https://s.org"}
MANY = {"SLACK_CLIENT_ID": "1.2", "SLACK_CLIENT_SECRET": "hidden", "SLACK_ALLOWED_WORKSPACES": "T1", **PAGE}
OPENAI = {"OPENAI_API_KEY": "sk-hidden"}
AWAY = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
GATEWAY = {"OPENAI_BASE_URL": "http://gateway.test/v1"}
AZURE = {
    "AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com",
    "AZURE_OPENAI_API_KEY": "azure-hidden",
    "SMART_MODEL": "mine",
}
BESIDE = {**OPENAI, "FALLBACK_MODEL": "small", "FALLBACK_BASE_URL": "http://127.0.0.1:9/v1"}
EMBEDDER = {"EMBEDDING_BASE_URL": "http://127.0.0.1:8080/v1", "EMBEDDING_MODEL": "nomic"}
PINECONE = {"PINECONE_API_KEY": "pcsk-hidden", "PINECONE_HOST": "s-1.svc.pinecone.io"}
GOOGLE = {"GOOGLE_API_KEY": "google-hidden", "GOOGLE_CSE_ID": "c1"}
BRAVE, TAVILY = {"BRAVE_API_KEY": "hidden"}, {"TAVILY_API_KEY": "hidden"}
SCRAPING = {"ALLOW_SEARCH_SCRAPING": "true"}
SERVER = {"DATABASE_URL": "postgresql://ana:hidden@db/s"}
PROGRAMS = {"EXECUTE_LOCAL_COMMANDS": "true"}
AZURE_KEYS, OWN_KEYS = "AZURE_OPENAI_API_KEY, AZURE_OPENAI_ENDPOINT", "FALLBACK_API_KEY, FALLBACK_BASE_URL"
OFFERED = ("gpt-5.4", "gpt-5.4-mini", "gpt-5.4-nano", "whisper-1")
MISSPELT = {**OPENAI, "SMART_MODEL": "gpt-5.4-mni"}
FAST = {**GATEWAY, "SMART_MODEL": "gpt-5.4", "FAST_MODEL": "whisper"}
QWEN = {**GATEWAY, "SMART_MODEL": "gpt-5.4", "FALLBACK_MODEL": "qwen"}
UNLISTED = "is not in the endpoint's list of models"
CLOSEST = f"gpt-5.4-mni · OpenAI {UNLISTED}; closest: gpt-5.4-mini, gpt-5.4-nano, gpt-5.4"
EXAMPLES = f"qwen · gateway.test {UNLISTED}; it has, for example: gpt-5.4, gpt-5.4-mini, gpt-5.4-nano"
BY_WORDS = "memories are found by words, not by meaning; for English, make extras EXTRAS=embeddings"
MANY_BY_HTTP = "many workspaces by HTTP at https://s.org/slack/events, install at https://s.org/slack/install"
MANY_BY_SOCKET = "many workspaces by Socket Mode, install at https://s.org/slack/install"
NEWER = "postgresql://db/s, tables of version 0009, extended by a newer release: use that one soon"
NOT_ALLOWED = "agents cannot run programs; EXECUTE_LOCAL_COMMANDS=true lets them"
NO_TOOLS = "bwrap is not installed. Install it: apt-get install bubblewrap"
NO_PROGRAMS = f"{NOT_ALLOWED}, in a sandbox without network. The sandbox cannot run here: "
LOOK = "agents may have their model look at pictures"
UNKNOWN = "not known, because the endpoint did not list its models; agents are offered no pictures"


@dataclass(frozen=True)
class Told:
    """A finding as it is told with these variables, where the probes find this."""

    name: str
    why: str
    variables: dict[str, str] = field(default_factory=dict)
    state: str = "on"
    by: str | None = None  # the variable that changes it
    world: World = field(default_factory=World)


def tables(**facts: Any) -> World:
    return World(tables=Tables(**facts))


LISTED, WORDLESS, SEEING = World(models=OFFERED), World(has_word_vectors=False), World(sees=True)
TOLD = [
    Told("web", "http://127.0.0.1:9000, for this machine only, by the key in its address", {"PORT": "9000"}),
    Told("web", "https://s.org, for everyone with WEB_TOKEN", {"HOST": "0.0.0.0", **PAGE}),
    Told("model", "m · OpenAI", {**OPENAI, "SMART_MODEL": "m"}),
    Told("model", "127.0.0.1:9 refuses", AWAY, "fault", "OPENAI_API_KEY, OPENAI_BASE_URL", World("refuses")),
    Told("model", "mine · r.openai.azure.com", AZURE, by="AZURE_OPENAI_ENDPOINT, SMART_MODEL"),
    Told("model", "mine · r.openai.azure.com refuses", AZURE, "fault", AZURE_KEYS, World("refuses")),
    Told("model", "gpt-5.4-mini (default) · OpenAI", OPENAI, world=World(default="gpt-5.4-mini", models=OFFERED)),
    Told("model", "gpt-6 · OpenAI", {**OPENAI, "SMART_MODEL": "gpt-6"}, by="OPENAI_BASE_URL, SMART_MODEL"),
    Told("model", "gpt-5.4 · OpenAI", {**OPENAI, "SMART_MODEL": "gpt-5.4"}, world=LISTED),
    Told("model", CLOSEST, MISSPELT, "fault", "SMART_MODEL", LISTED),
    Told("fast model", f"whisper · gateway.test {UNLISTED}; closest: whisper-1", FAST, "warn", "FAST_MODEL", LISTED),
    Told("fallback", EXAMPLES, QWEN, "warn", "FALLBACK_MODEL", LISTED),
    Told("fast model", "gpt-5.4 · OpenAI", {**OPENAI, "FAST_MODEL": "gpt-5.4"}, world=LISTED),
    *(
        Told("model", f"{model} · gateway.test", {**GATEWAY, "SMART_MODEL": model}, world=World(models=(listed,)))
        for model, listed in (
            ("llama3.2", "llama3.2:latest"),
            ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
            ("gpt-5", "gpt-5-2025-08-07"),
            ("gemini-2.5-pro", "models/gemini-2.5-pro"),
        )
    ),
    Told("fallback", "small · 127.0.0.1:9", BESIDE, by="FALLBACK_BASE_URL, FALLBACK_MODEL"),
    Told("fallback", "small · 127.0.0.1:9 refuses", BESIDE, "fault", OWN_KEYS, World(fallback_fault="refuses")),
    Told("model", "OpenAI", BESIDE, world=World(fallback_fault="refuses")),
    Told("embeddings", "local, English only"),
    Told("embeddings", BY_WORDS, {}, "off", world=WORDLESS),
    Told("embeddings", "text-embedding-3-small · OpenAI", OPENAI, world=WORDLESS),
    Told("embeddings", "nomic · 127.0.0.1:8080", EMBEDDER, world=WORDLESS),
    Told("memory", "in the database"),
    Told("memory", "Pinecone, index signoff at https://s-1.svc.pinecone.io", PINECONE),
    Told("search", "", state="off"),
    Told("search", "Google's own API, which ends on 1 January 2027", GOOGLE),
    Told("search", "Brave's API", BRAVE | TAVILY),
    Told("search", "Tavily", TAVILY | SCRAPING),
    Told("search", "SearXNG at http://127.0.0.1:8888", {"SEARXNG_URL": "http://127.0.0.1:8888"}),
    Told("search", "the pages of public search engines, without an account", SCRAPING),
    Told("slack", "docs/how-to/connect-slack.md turns it on", {}, "off", "SLACK_BOT_TOKEN with SLACK_APP_TOKEN"),
    Told("slack", "one workspace by Socket Mode", BOT | SOCKET, by="SLACK_BOT_TOKEN, SLACK_APP_TOKEN"),
    Told("slack", "one workspace by HTTP at http://127.0.0.1:8700/slack/events", BOT | HTTP),
    Told("slack", MANY_BY_HTTP, MANY | HTTP, by="SLACK_CLIENT_ID, SLACK_SIGNING_SECRET"),
    Told("slack", MANY_BY_SOCKET, MANY | SOCKET, by="SLACK_CLIENT_ID, SLACK_APP_TOKEN"),
    Told("database", "postgresql://db/s, tables of version 0001", SERVER, world=tables(version="0001")),
    Told("database", "postgresql://db/s, its tables are made at the first start", SERVER),
    Told("database", NEWER, SERVER, "warn", world=tables(version="0009", is_newer=True)),
    Told("database", "postgresql://db/s refuses", SERVER, "fault", world=tables(fault="refuses")),
    Told("workers", "2 that take agents", SERVER, world=tables(workers=2)),
    Told("workers", "0: agents wait until `run` or `worker` runs", SERVER, "warn", world=tables(workers=0)),
    Told("programs", "in bubblewrap, which passed its self-test", PROGRAMS),
    Told("programs", "none will run. It leaks.", PROGRAMS, "fault", world=World(sandbox_fault="It leaks.")),
    Told("programs", f"{NO_PROGRAMS}{NO_TOOLS}", {}, "off", world=World(missing_tools=NO_TOOLS)),
    Told("repositories", "git is not installed.", {}, "off", world=World(git_fault="git is not installed.")),
    Told("vision", LOOK, OPENAI, by="VISION, SMART_MODEL", world=SEEING),
    Told("vision", "the model takes no pictures, by its name and by what the endpoint lists", OPENAI, "off"),
    Told("vision", UNKNOWN, OPENAI, "off", world=World(sees=None)),
    Told("vision", LOOK, {**OPENAI, "VISION": "On"}, world=SEEING),
    Told("vision", "the operator lets no model see pictures", {**OPENAI, "VISION": "off"}, "off", world=SEEING),
]


@pytest.mark.slow
@pytest.mark.parametrize("told", TOLD, ids=lambda told: f"{told.name} {told.why[:30]}")
async def test_a_finding_tells_its_state_why_and_which_variable_changes_it(tmp_path: Path, told: Told) -> None:
    finding = (await found(settings_with(tmp_path, **told.variables), told.world))[told.name]
    assert (finding.state, finding.why) == (told.state, told.why)
    assert told.by in (None, finding.variable)
    assert "hidden" not in report((finding,))


@pytest.mark.parametrize(
    ("variables", "asked"),
    [
        (OPENAI, ["endpoint"]),
        (BOT | SOCKET, ["local servers", "slack"]),
        (MANY | SOCKET, ["local servers"]),
    ],
)
async def test_only_what_is_set_is_asked(tmp_path: Path, variables: dict[str, str], asked: list[str]) -> None:
    await found(settings_with(tmp_path, **variables), world := World())
    assert sorted(world.asked) == asked


async def test_without_an_endpoint_the_rehearsal_model_is_named_and_local_servers_are_offered(tmp_path: Path) -> None:
    ollama = LocalServer(name="Ollama", base_url="http://127.0.0.1:11434/v1", models=("qwen3",))
    seen = await found(settings_with(tmp_path), World(servers=(ollama,)))
    assert seen["model"].why == "Demo · scripted, no AI"
    assert seen["model"].variable == "OPENAI_API_KEY, OPENAI_BASE_URL or ANTHROPIC_API_KEY"
    offer = "Ollama offers qwen3; to use it, put OPENAI_BASE_URL=http://127.0.0.1:11434/v1 into .env"
    assert (seen["local model"].state, seen["local model"].why) == ("off", offer)


@pytest.mark.parametrize(
    ("variables", "missing", "state", "why"),
    [
        ({}, (), "on", "estimated, as demo mode has no tokenizer"),
        ({"OPENAI_API_KEY": "sk-1234"}, (), "on", "exact for OpenAI's own models, near for others"),
        ({"OPENAI_API_KEY": "sk-1234"}, ("o200k_base",), "off", "estimated: o200k_base is neither in the package"),
    ],
)
async def test_token_counts_say_whether_they_are_exact_and_why_not(
    tmp_path: Path, variables: dict[str, str], missing: tuple[str, ...], state: str, why: str
) -> None:
    tokens = (await found(settings_with(tmp_path, **variables), World(missing_tokenizers=missing)))["tokens"]
    assert (tokens.state, tokens.why[: len(why)]) == (state, why)
    assert missing == () or tokens.why.endswith(f"nor in {tmp_path}/home/tiktoken")


async def test_a_bot_token_that_slack_knows_is_no_fault(tmp_path: Path) -> None:
    async with SlackStandin.started() as standin:
        standin.team("T1", bot_token="xoxb-one")
        standin.scopes = ",".join(SCOPES)
        settings = settings_with(tmp_path, SLACK_API_URL=standin.api_url, **BOT, **SOCKET)
        assert await probes(settings).platforms["slack"]() is None


async def test_permissions_that_the_slack_app_lacks_are_named(tmp_path: Path) -> None:
    async with SlackStandin.started() as standin:
        standin.team("T1", bot_token="xoxb-one")
        standin.scopes = ",".join(scope for scope in SCOPES if scope != "im:write")
        settings = settings_with(tmp_path, SLACK_API_URL=standin.api_url, **BOT, **SOCKET)
        fault = await probes(settings).platforms["slack"]()
    assert fault
    assert fault.startswith("The Slack app lacks permissions: im:write.")


async def test_a_bot_token_that_slack_refuses_is_a_fault_that_does_not_show_it(tmp_path: Path) -> None:
    async with SlackStandin.started() as standin:
        settings = settings_with(tmp_path, SLACK_API_URL=standin.api_url, **BOT, **SOCKET)
        world = World()
        looks = replace(world.probes(settings), platforms=probes(settings).platforms)
        slack = next(finding for finding in await findings(settings, looks) if finding.name == "slack")
    assert (slack.state, slack.variable) == ("fault", "SLACK_BOT_TOKEN")
    assert slack.why.startswith("Slack refuses this token (invalid_auth)")
    assert "xoxb-one" not in report((slack,))


async def test_slack_that_is_not_there_is_told_and_not_raised(tmp_path: Path) -> None:
    settings = settings_with(tmp_path, SLACK_API_URL="http://127.0.0.1:9/api", **BOT, **SOCKET)
    assert await probes(settings).platforms["slack"]() == "Slack cannot be reached."


@pytest.mark.slow
async def test_slack_that_does_not_answer_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_core.capabilities.capability.PATIENCE", 0.1)
    settings = settings_with(tmp_path, **BOT, **SOCKET)
    looks = replace((world := World()).probes(settings), platforms={"slack": world.forever})
    everything = await findings(settings, looks)
    slack = next(finding for finding in everything if finding.name == "slack")
    assert (slack.state, slack.why) == ("fault", "Slack did not answer within 0 seconds")


@pytest.mark.slow
async def test_what_does_not_answer_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with openai_standin() as standin:
        standin.listing = Hangs()
        monkeypatch.setattr(endpoint_checks, "CHECK_SECONDS", 0.1)
        settings = settings_with(tmp_path, OPENAI_BASE_URL=standin.base_url)
        looks = with_models(World().probes(settings), endpoint=check_model_endpoint)
        model = next(finding for finding in await findings(settings, looks) if finding.name == "model")
    assert model.state == "fault"
    assert "did not answer within" in model.why


async def test_files_that_other_accounts_can_open_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_with(tmp_path)
    settings.home.mkdir(mode=0o700)
    assert "privacy" not in await found(settings)
    settings.home.chmod(0o750)
    privacy = (await found(settings))["privacy"]
    assert privacy.why == f"other accounts of this machine can open {settings.home}; the next start closes them"
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
    privacy = (await found(settings))["privacy"]
    assert (privacy.state, privacy.why) == (
        "fault",
        f"other accounts of this machine can open {settings.home}, owned by another account; chmod go-rwx closes them",
    )


async def test_a_data_folder_that_cannot_be_made_is_a_fault(tmp_path: Path) -> None:
    settings = settings_with(tmp_path)
    settings.home.write_text("a file came in between")
    folder = (await found(settings))["data folder"]
    assert (folder.state, folder.variable) == ("fault", "SIGNOFF_HOME")


@pytest.mark.parametrize(
    ("listing", "fault"),
    [
        (None, ""),
        (Fails(401), "does not accept the key (401)"),
        (Fails(404), "lists no models; its address usually ends in /v1"),
        (Fails(500), "answers 500"),
        (SaysPlain("<html>"), "lists no models; its address usually ends in /v1"),
    ],
)
async def test_an_endpoint_answers_in_its_own_way(listing: Fails | SaysPlain | None, fault: str) -> None:
    async with openai_standin() as standin:
        standin.listing = listing
        assert (await check_model_endpoint(Endpoint(url=standin.base_url, key="sk-1234"))).fault == fault


async def test_an_endpoint_that_was_sent_no_key_wants_one() -> None:
    async with openai_standin() as standin:
        standin.listing = Fails(401)
        assert (await check_model_endpoint(Endpoint(url=standin.base_url, key=""))).fault == "wants a key (401)"


@pytest.mark.parametrize(("key", "fault"), [("sk-ant-1", ""), ("sk-ant-2", "does not accept the key (401)")])
async def test_anthropics_api_is_asked_in_its_own_way(tmp_path: Path, key: str, fault: str) -> None:
    async with anthropic_standin() as standin:
        standin.key = "sk-ant-1"
        settings = settings_with(tmp_path, ANTHROPIC_API_KEY=key, ANTHROPIC_BASE_URL=standin.base_url)
        assert settings.endpoint
        assert (await check_model_endpoint(settings.endpoint)).fault == fault
    model = (await found(settings))["model"]
    assert model.variable == "ANTHROPIC_BASE_URL, SMART_MODEL"


@pytest.mark.parametrize(
    ("path", "lists", "fault"),
    [
        ("", True, ""),
        ("", False, ""),  # a gateway without a list works
        ("/v1", True, "has an address that ends in /v1, which Anthropic's API does not have"),
    ],
)
async def test_a_gateway_for_claude_needs_no_list_and_no_v1(path: str, lists: bool, fault: str) -> None:
    async with anthropic_standin() as standin:
        standin.lists = lists
        assert (
            await check_model_endpoint(Endpoint(url=f"{standin.base_url}{path}", key="k", api="anthropic"))
        ).fault == fault


async def test_claude_without_its_sdk_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClaudeModel, "is_installed", staticmethod(lambda: False))
    check = await check_model_endpoint(Endpoint(url="http://127.0.0.1:9", key="k", api="anthropic"))
    assert "make extras EXTRAS=claude" in check.fault


CLAUDE_KEY = {"ANTHROPIC_API_KEY": "sk-ant-1"}


@pytest.mark.parametrize(
    ("variables", "variable"),
    [
        ({"OPENAI_API_KEY": "sk-1"}, "SMART_MODEL or FALLBACK_MODEL"),
        ({"OPENAI_API_KEY": "sk-1", "FALLBACK_MODEL": "gpt-5.4"}, "SMART_MODEL or FALLBACK_MODEL"),
        ({"OPENAI_BASE_URL": "http://gateway.test/v1", "SMART_MODEL": "claude-a"}, "FALLBACK_MODEL"),
        ({"OPENAI_API_KEY": "sk-1", "SMART_MODEL": "claude-a"}, ""),
        ({"OPENAI_API_KEY": "sk-1", "FALLBACK_MODEL": "claude-a"}, ""),
        ({}, ""),
    ],
)
async def test_a_key_for_claude_that_no_model_uses_is_told(
    tmp_path: Path, variables: dict[str, str], variable: str
) -> None:
    told = (await found(settings_with(tmp_path, **CLAUDE_KEY, **variables))).get("claude")
    assert (told.variable if told else "") == variable
    assert told is None or (told.state, "no model uses it" in told.why) == ("off", True)


async def test_an_endpoint_that_is_not_there_cannot_be_reached() -> None:
    check = await check_model_endpoint(Endpoint(url="http://127.0.0.1:9/v1", key=""))
    assert check.fault.startswith("cannot be reached")


NEAR = ("gpt-5.4-mini", "gpt-5.4-mni")


async def test_a_model_is_found_in_a_list_of_any_length_and_compared_with_some_of_its_names(tmp_path: Path) -> None:
    models = (*(f"vendor/{number}" for number in range(20_000)), "gpt-5.4-mini")
    told = {
        name: await found(settings_with(tmp_path, **GATEWAY, SMART_MODEL=name), World(models=models)) for name in NEAR
    }
    assert [each["model"].state for each in told.values()] == ["on", "warn"]
    assert told["gpt-5.4-mni"]["model"].why.endswith("it has, for example: vendor/0, vendor/1, vendor/2")


async def test_a_fault_of_the_endpoint_is_told_once_for_both_models(tmp_path: Path) -> None:
    settings = settings_with(tmp_path, OPENAI_API_KEY="sk-1234", FAST_MODEL="small")
    told = await found(settings, World(endpoint_fault="answers 500"))
    assert told["model"].state == "fault"
    assert "fast model" not in told


async def test_names_in_a_list_move_no_cursor(tmp_path: Path) -> None:
    settings = settings_with(tmp_path, **GATEWAY, SMART_MODEL="small")
    assert "\x1b" not in report(tuple((await found(settings, World(models=("small\x1b[2J",)))).values()))


async def test_the_endpoints_list_is_read(tmp_path: Path) -> None:
    async with openai_standin() as standin:
        standin.models = OFFERED
        wrong = settings_with(tmp_path, OPENAI_BASE_URL=standin.base_url, SMART_MODEL="gpt-5.4-mni")
        looks = with_models(World().probes(wrong), endpoint=check_model_endpoint)
        told = {finding.name: finding for finding in await findings(wrong, looks)}["model"]
    assert told.state == "warn"
    assert "closest: gpt-5.4-mini" in told.why


async def test_a_list_of_azure_has_no_deployments(tmp_path: Path) -> None:
    async with openai_standin() as standin:
        endpoint = Endpoint(url=standin.base_url, key="", url_variable="AZURE_OPENAI_ENDPOINT")
        assert await check_model_endpoint(endpoint) == EndpointCheck()


@pytest.mark.parametrize(
    ("models", "default"),
    [(("only",), "only"), (("one", "two"), "gpt-5.4-mini"), ((), "")],
)
async def test_the_default_model_is_what_a_call_would_ask(models: tuple[str, ...], default: str) -> None:
    async with openai_standin() as standin:
        standin.models = models
        check = await check_model_endpoint(Endpoint(url=standin.base_url, key=""))
    assert check.default == default


def test_a_report_has_one_aligned_line_each() -> None:
    web = Finding(name="web", state="on", why="http://127.0.0.1:8700", variable="PORT")
    slack = Finding(name="slack", state="off", why="comes in a later version")
    rows = "web    on     http://127.0.0.1:8700 · PORT\nslack  off    comes in a later version"
    assert report((web, slack)) == f"Ready.\n\n{rows}"
    late, wrong = replace(web, name="memory", state="warn"), replace(slack, name="database", state="fault")
    assert report((web, late)).startswith("Ready. 1 thing to look at: memory.\n")
    assert report((late, wrong)).startswith("Not ready. 1 thing to mend: database. 1 thing to look at: memory.\n")


@pytest.mark.parametrize(("sandbox", "is_told"), [("bubblewrap", True), ("docker", False)])
async def test_only_bubblewrap_needs_programs_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: str, is_told: bool
) -> None:
    monkeypatch.setattr(bwrap_options, "PATHS", str(tmp_path))
    said = Capabilities.of(settings_with(tmp_path, SANDBOX=sandbox)).programs.find_missing()
    assert said.startswith("bwrap is not installed. Install it: ") == is_told


@pytest.mark.parametrize(("facts", "sees"), [({}, False), ({"input_modalities": ["text", "image"]}, True)])
async def test_the_endpoints_list_is_asked_whether_its_model_sees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, facts: dict[str, object], sees: bool
) -> None:
    monkeypatch.setattr(capability, "LISTING_SECONDS", 30.0)  # a busy machine may take longer than people wait
    async with openai_standin() as endpoint:
        endpoint.facts["gpt-test"] = facts
        settings = settings_with(tmp_path, OPENAI_BASE_URL=endpoint.base_url)
        told = await ask_default_model(settings, demo_model)
    assert (told and told.sees) is sees


@pytest.mark.slow
async def test_an_endpoint_that_is_away_leaves_the_name_to_tell(tmp_path: Path) -> None:
    away = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    named = await ask_default_model(settings_with(tmp_path, **away, SMART_MODEL="llava"), demo_model)
    unnamed = await ask_default_model(settings_with(tmp_path, **away), demo_model)
    assert (named and named.sees, unnamed and unnamed.sees) == (True, None)


@pytest.mark.parametrize(
    ("variables", "facts", "told"),
    [
        ({}, {}, f"compact, which lists about 8 commands that fit the goals, for a window of 4,096 tokens, {ASSUMED}"),
        ({}, {"context_length": 32_768}, "full, for a window of 32,768 tokens"),
        ({"CONTEXT_WINDOW": "16384"}, {}, "full, for a window of 16,384 tokens"),
        (
            {"PROMPT_PROFILE": "full"},
            {},
            f"full, for a window of 4,096 tokens, {ASSUMED}",
        ),
    ],
)
async def test_the_prompt_and_the_window_that_it_is_for_are_told(
    tmp_path: Path, variables: dict[str, str], facts: dict[str, object], told: str
) -> None:
    async with openai_standin() as endpoint:
        endpoint.facts["gpt-test"] = facts
        settings = settings_with(tmp_path, OPENAI_BASE_URL=endpoint.base_url, **variables)
        looks = with_models(World().probes(settings), default=partial(ask_default_model, settings, demo_model))
        prompt = {finding.name: finding for finding in await findings(settings, looks)}["prompt"]
    assert (prompt.state, prompt.why, prompt.variable) == ("on", told, "CONTEXT_WINDOW, PROMPT_PROFILE")


async def test_names_that_are_set_and_not_read_are_told_with_the_right_ones(tmp_path: Path) -> None:
    settings = settings_with(tmp_path)
    looks = replace(World().probes(settings), unread_names=lambda: {"OPENAI_API_BASE": "OPENAI_BASE_URL"})
    (told,) = (each for each in await findings(settings, looks) if each.name == "name")
    assert (told.state, told.why) == ("warn", "OPENAI_API_BASE is not read; did you mean OPENAI_BASE_URL?")


async def test_readers_that_cannot_be_confined_are_told(tmp_path: Path) -> None:
    confined = (await found(settings_with(tmp_path)))["documents"]
    unconfined = (await found(settings_with(tmp_path), World(unconfined="bwrap is not installed.")))["documents"]
    assert (confined.state, unconfined.state) == ("on", "warn")
    assert unconfined.why.endswith("are read by processes that are not confined: bwrap is not installed")
    assert unconfined.why.startswith("PDF, Word and OpenDocument are refused") == (os.geteuid() == 0)


async def test_classes_that_two_people_approve_are_named(tmp_path: Path) -> None:
    told = (await found(settings_with(tmp_path, TWO_PEOPLE="execute,publish")))["two people"]
    assert (told.state, told.variable, "execute, publish needs" in told.why) == ("on", "TWO_PEOPLE", True)
