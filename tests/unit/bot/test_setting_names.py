"""The core does not know the operator's variables: `bot` hands their names in, and people read them."""

from pathlib import Path

import pytest

from agent_core.capabilities.documents.document_reader import DocumentReader
from agent_core.capabilities.media.capability import make_images, make_transcriber, make_voice
from agent_core.capabilities.memory.capability import make_embedder
from agent_core.capabilities.models.anthropic_model import ClaudeModel
from agent_core.capabilities.models.capability import make_model
from agent_core.capabilities.models.endpoint_errors import Ability
from agent_core.capabilities.models.fallback_model import FallbackModel
from agent_core.capabilities.posts.capability import X_VARIABLES, make_publisher
from agent_core.capabilities.web.capability import make_search, make_web
from agent_core.errors import CommandError, SettingsError
from agent_core.model.channel_settings import Sites
from agent_core.model.model_calls import Usage
from bot.bootstrap import assemble
from bot.capabilities import Capabilities
from bot.settings import Settings, load
from bot.wiring.models import demo_model


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    keys = dict.fromkeys(X_VARIABLES.replace(" and ", ", ").split(", "), "key")
    google = {"GOOGLE_API_KEY": "key", "GOOGLE_CSE_ID": "cx"}
    hugging = {"HUGGINGFACE_API_TOKEN": "hf_key", "HUGGINGFACE_AUDIO_MODEL": "hears"}
    drawing = {"SD_WEBUI_URL": "http://127.0.0.1:7860"}
    return load({"SIGNOFF_HOME": str(tmp_path), **keys, **google, **hugging, **drawing}, None)


def test_services_know_what_the_operator_set(settings: Settings) -> None:
    assert make_search(settings).settings == "GOOGLE_API_KEY and GOOGLE_CSE_ID"  # type: ignore[attr-defined]
    keys = {"BRAVE_API_KEY": "k", "TAVILY_API_KEY": "k", "SEARXNG_URL": "http://127.0.0.1:8888"}
    others = [make_search(load({name: value}, None)).settings.partition(",")[0] for name, value in keys.items()]  # type: ignore[attr-defined]
    assert others == list(keys)
    assert make_publisher(settings).settings == X_VARIABLES  # type: ignore[union-attr]
    drawing = make_images(settings)
    assert (drawing.url_setting, drawing.auth_setting) == ("SD_WEBUI_URL", "SD_WEBUI_AUTH")  # type: ignore[union-attr]
    hearing = make_transcriber(settings).endpoint  # type: ignore[union-attr]
    names = ("HUGGINGFACE_AUDIO_MODEL", "HUGGINGFACE_API_TOKEN", "HUGGINGFACE_API_URL")
    assert (hearing.setting, hearing.key_setting, hearing.url_setting) == names


ELSEWHERE = {"OPENAI_API_KEY": "sk-1", "SPEECH_MODEL": "tts-1"}
AZURE = {"AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com", "AZURE_OPENAI_API_KEY": "a", "SMART_MODEL": "mine"}
CLAUDE = {"ANTHROPIC_API_KEY": "sk-ant-1"}
OWN_EMBEDDINGS = {"EMBEDDING_BASE_URL": "http://127.0.0.1:8080/v1", "EMBEDDING_MODEL": "nomic"}


def variables_of(service: object) -> tuple[str, str, str]:
    ability = service.ability  # type: ignore[attr-defined]
    assert isinstance(ability, Ability)
    return ability.key, ability.address, ability.model


def test_endpoints_know_the_variables_of_their_key_address_and_model() -> None:
    usual, azure, own, claude = (load(given, None) for given in (ELSEWHERE, AZURE, OWN_EMBEDDINGS, CLAUDE))
    assert variables_of(make_model(usual, demo_model)) == ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SMART_MODEL")
    assert variables_of(make_model(azure, demo_model)) == (
        "AZURE_OPENAI_API_KEY",
        "AZURE_OPENAI_ENDPOINT",
        "SMART_MODEL",
    )
    assert variables_of(make_model(claude, demo_model)) == ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "SMART_MODEL")
    assert variables_of(make_embedder(usual)) == ("OPENAI_API_KEY", "OPENAI_BASE_URL", "EMBEDDING_MODEL")
    assert variables_of(make_embedder(own)) == ("EMBEDDING_API_KEY", "EMBEDDING_BASE_URL", "EMBEDDING_MODEL")
    media = [make(usual) for make in (make_images, make_transcriber, make_voice)]
    assert [variables_of(each)[2] for each in media] == ["IMAGE_MODEL", "AUDIO_MODEL", "SPEECH_MODEL"]


@pytest.mark.parametrize(
    ("beside", "host"),
    [
        ({}, "api.anthropic.com"),
        ({"OPENAI_API_KEY": "sk-1"}, "api.openai.com"),
        ({"OPENAI_API_KEY": "sk-1", "SMART_MODEL": "claude-opus-5-5"}, "api.anthropic.com"),
        ({"OPENAI_BASE_URL": "https://llm.test/v1", "SMART_MODEL": "claude-opus-5-5"}, "llm.test"),
        ({"ANTHROPIC_BASE_URL": "https://llm.test"}, "llm.test"),
    ],
)
def test_the_model_decides_which_of_two_endpoints_is_asked(beside: dict[str, str], host: str) -> None:
    settings = load({**CLAUDE, **beside}, None)
    assert make_model(settings, demo_model).label.endswith(host)
    has_openai = "OPENAI_API_KEY" in beside
    assert make_embedder(settings).name == (
        "text-embedding-3-small" if has_openai else make_embedder(load({}, None)).name
    )
    assert (make_images(settings) is not None) == has_openai


def test_a_fallback_knows_its_own_variables_and_answers_behind_the_first() -> None:
    beside = {"FALLBACK_MODEL": "small", "FALLBACK_BASE_URL": "https://llm.test/v1"}
    same, own = (load({**given, "FALLBACK_MODEL": "small"}, None) for given in (ELSEWHERE, {**CLAUDE, **beside}))
    first, second = make_model(same, demo_model), make_model(own, demo_model)
    assert isinstance(first, FallbackModel)
    assert isinstance(second, FallbackModel)
    assert variables_of(first.second) == ("OPENAI_API_KEY", "OPENAI_BASE_URL", "FALLBACK_MODEL")
    assert variables_of(second.second) == ("FALLBACK_API_KEY", "FALLBACK_BASE_URL", "FALLBACK_MODEL")
    assert (second.label, second.second.label) == ("claude-sonnet-5-5 · api.anthropic.com", "small · llm.test")


def test_claude_behind_a_gateway_on_this_machine_is_not_free() -> None:
    model = make_model(
        load({"ANTHROPIC_BASE_URL": "http://127.0.0.1:4000", "SMART_MODEL": "claude-haiku-4-5"}, None), demo_model
    )
    assert model.price(Usage(prompt=1_000_000), "") == 1


def test_claude_without_its_sdk_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClaudeModel, "is_installed", staticmethod(lambda: False))
    with pytest.raises(SettingsError, match=r"make extras EXTRAS=claude"):
        make_model(load(CLAUDE, None), demo_model)


def test_the_demo_model_knows_what_connects_another() -> None:
    assert demo_model().settings == "OPENAI_API_KEY=…, ANTHROPIC_API_KEY=… or OPENAI_BASE_URL=…"


def test_a_refused_host_is_told_with_the_list_that_allows_it() -> None:
    web = make_web(load({}, None), DocumentReader(), public_url="", port=8700)
    with pytest.raises(CommandError, match="the operator names in ALLOW_INTERNAL_HOSTS"):
        web.host_of("http://10.0.0.1/", Sites())


async def test_a_sandbox_that_cannot_run_is_told_with_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    given = {"SIGNOFF_HOME": str(tmp_path), "EXECUTE_LOCAL_COMMANDS": "true", "SANDBOX": "docker"}
    programs = Capabilities.of(load(given, None)).programs
    await programs.open()
    assert programs.off.startswith("the sandbox (SANDBOX=docker) failed its self-test.")


@pytest.mark.slow
async def test_budgets_and_prompts_know_the_variables_that_they_advise(tmp_path: Path) -> None:
    async with assemble(load({"SIGNOFF_HOME": str(tmp_path)}, None)) as signoff:
        assert signoff.core.ledger.price_setting == "MODEL_PRICES"
        assert signoff.core.loop.proposer.commands_setting == "DISABLED_CATEGORIES"
    given = {"SIGNOFF_HOME": str(tmp_path), "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "FALLBACK_MODEL": "small"}
    async with assemble(load(given, None)) as signoff:
        assert signoff.core.ledger.price_setting == "MODEL_PRICES, also for small"


def test_an_address_of_claude_that_ends_in_v1_is_named_in_the_sentence_about_it() -> None:
    model = make_model(load({**CLAUDE, "ANTHROPIC_BASE_URL": "http://127.0.0.1:4000/v1"}, None), demo_model)
    assert "ends in /v1" in model.ability.address_hint  # type: ignore[attr-defined]
