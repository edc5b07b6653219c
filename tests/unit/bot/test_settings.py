"""Settings: read from environment and file, refused with one line, never showing a secret."""

import re
from decimal import Decimal
from pathlib import Path

import pytest

from agent_core.capabilities.demo.rehearsal import RehearsalModel
from agent_core.capabilities.models.capability import make_model, wanted_profile
from agent_core.capabilities.models.settings import Endpoint
from agent_core.capabilities.setting_types import default_home
from agent_core.errors import SettingsError
from agent_core.text.own_commands import install_text
from bot.__main__ import variables_of_line
from bot.platforms.slack.platform import SlackPlatform
from bot.settings import VARIABLES, Settings, digest, load, unread_names
from bot.wiring.models import demo_model
from docs.reference import settings_page

ROOT = Path(__file__).parents[3]
EXAMPLES = {variable.name: variable.example for variable in VARIABLES.values()}
# One workspace or many, one endpoint or another or a file that has to be there: these go without one another.
FOR_MANY = {"SLACK_CLIENT_ID", "SLACK_CLIENT_SECRET"}
ELSEWHERE = {"OPENAI_BASE_URL"}
ON_AZURE = {"AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"}
IN_A_FILE = {"MCP_SERVERS"}
LEFT_OUT = FOR_MANY | ON_AZURE | IN_A_FILE
TOKEN = "sixteen-letters-and-more"


def fault_of(environ: dict[str, str], env_file: Path | None = None) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        load(environ, env_file)
    return caught.value


def in_file(folder: Path, text: str) -> Path:
    path = folder / ".env"
    path.write_text(text)
    return path


def test_without_any_variable_everything_has_a_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = load({})
    assert settings.home == tmp_path / ".signoff"
    assert settings.database_url == f"sqlite:///{tmp_path}/.signoff/signoff.db"
    assert settings.address == "http://127.0.0.1:8700"
    assert (settings.has_endpoint, settings.secrets) == (False, ())


def test_the_environment_goes_before_the_file_and_an_empty_value_counts_as_none(tmp_path: Path) -> None:
    env_file = in_file(tmp_path, "PORT=9000\nHOST=localhost\nSMART_MODEL=\nTEMPERATURE=0.5\n")
    settings = load({"PORT": "9001", "HOST": "", "TEMPERATURE": " "}, env_file)
    assert (settings.port, settings.host, settings.smart_model, settings.temperature) == (9001, "localhost", "", 0.5)


def test_the_processes_own_environment_is_read_when_none_is_handed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "9002")
    assert load(env_file=None).port == 9002
    assert load({}, env_file=None).port == 8700


@pytest.mark.parametrize("left_out", [LEFT_OUT, {"SLACK_BOT_TOKEN"} | ELSEWHERE | IN_A_FILE])
def test_every_example_is_a_value_that_can_be_used(left_out: set[str]) -> None:
    settings = load({name: value for name, value in EXAMPLES.items() if name not in left_out}, None)
    assert SlackPlatform().is_on(settings)
    assert settings.model_prices == {"my-model": (Decimal("0.25"), Decimal(2))}
    assert settings.disabled_commands == ("delete_file", "append_to_file")
    assert settings.default_budget_usd == 5
    assert (settings.context_window, settings.prompt_profile) == (16_384, "compact")
    assert settings.has_google


def test_words_are_taken_in_any_case() -> None:
    settings = load({"LOG_LEVEL": "debug", "LOG_FORMAT": "JSON", "PROMPT_PROFILE": "Full"}, None)
    assert (settings.log_level, settings.log_format, settings.prompt_profile) == ("DEBUG", "json", "full")


@pytest.mark.proves("settings:fault")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SIGNOFF_HOME", __file__),
        ("SIGNOFF_HOME", "what?"),
        ("SIGNOFF_HOME", "~nobody-of-this-name/signoff"),
        ("PLUGINS_DIR", "/" + "a" * 5_000),
        ("TEMPLATES_DIR", "a\0b"),
        ("HOST", "http://localhost"),
        ("PORT", "0"),
        ("PORT", "65536"),
        ("PORT", "eighty"),
        ("WEB_TOKEN", "two words of some length"),
        ("PUBLIC_URL", "signoff.example.com"),
        ("PUBLIC_URL", "https://"),
        ("PUBLIC_URL", "https://example.com/?a=b"),
        ("DATABASE_URL", "mysql://localhost/signoff"),
        ("DATABASE_URL", "signoff.db"),
        ("DATABASE_URL", "sqlite://"),
        ("DATABASE_URL", "postgresql://localhost:port/signoff"),
        ("OPENAI_API_KEY", "“sk-curly”"),
        ("OPENAI_BASE_URL", "ftp://localhost/v1"),
        ("OPENAI_BASE_URL", "http://localhost:99999/v1"),
        ("OPENAI_BASE_URL", "http://ana:password@localhost/v1"),
        ("SEARXNG_URL", "http://:password@localhost"),
        ("TEMPERATURE", "2.1"),
        ("TEMPERATURE", "nan"),
        ("AZURE_OPENAI_ENDPOINT", "your-resource"),
        ("AZURE_OPENAI_API_KEY", "two words"),
        ("CONTEXT_WINDOW", "1023"),
        ("CONTEXT_WINDOW", "16k"),
        ("CONTEXT_WINDOW", "99999999"),
        ("PROMPT_PROFILE", "short"),
        ("TIKTOKEN_CACHE_DIR", __file__),
        ("EMBEDDING_BASE_URL", "127.0.0.1"),
        ("PINECONE_API_KEY", "“pcsk”"),
        ("PINECONE_INDEX", "Signoff"),
        ("PINECONE_INDEX", "-signoff"),
        ("PINECONE_INDEX", "s" * 46),
        ("PINECONE_HOST", "ftp://index"),
        ("PINECONE_HOST", "two words"),
        ("PINECONE_CONTROLLER_HOST", "https://ana:hush@localhost"),
        ("GOOGLE_API_KEY", "two words"),
        ("GOOGLE_CSE_ID", "a/b"),
        ("GOOGLE_SEARCH_URL", "www.googleapis.com"),
        ("MODEL_PRICES", "{"),
        ("MODEL_PRICES", "[" * 100_000),
        ("MODEL_PRICES", '{"m": 1}'),
        ("MODEL_PRICES", '{"m": [1, -2]}'),
        ("DEFAULT_BUDGET_USD", "0"),
        ("DEFAULT_BUDGET_USD", "Infinity"),
        ("CONTINUOUS_LIMIT", "0"),
        ("CONTINUOUS_LIMIT", "many"),
        ("LOG_LEVEL", "LOUD"),
        ("LOG_FORMAT", "xml"),
    ],
)
def test_a_wrong_value_is_told_in_one_line_with_an_example(name: str, value: str) -> None:
    fault = fault_of({name: value})
    variable = VARIABLES[name]
    assert str(fault) == f"{name}: must be {variable.rule}. Example: {name}={variable.example}"


def test_the_first_of_several_faults_is_told() -> None:
    assert fault_of({"LOG_LEVEL": "LOUD", "PORT": "0"}).variable == "PORT"


@pytest.mark.proves("web:token")
@pytest.mark.parametrize(
    ("token", "said"),
    [
        ({}, "must be set, with 16 characters or more, or OIDC_ISSUER: HOST opens the page to others."),
        ({"WEB_TOKEN": "too-short"}, "must have at least 16 characters, or others could guess it."),
    ],
)
def test_a_page_that_others_can_reach_wants_a_token(token: dict[str, str], said: str) -> None:
    fault = fault_of({"HOST": "0.0.0.0", **token})
    assert fault.variable == "WEB_TOKEN"
    assert fault.fault == said
    assert load({"HOST": "0.0.0.0", "WEB_TOKEN": TOKEN}, None).host == "0.0.0.0"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_a_page_for_this_machine_alone_wants_none(host: str) -> None:
    assert load({"HOST": host}, None).host == host


SLACK = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}
AZURE = {"AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com", "AZURE_OPENAI_API_KEY": "a", "SMART_MODEL": "mine"}
FALLBACK = {"FALLBACK_MODEL": "small"}
MANY_WORKSPACES = {"SLACK_CLIENT_ID": "1.2", "SLACK_CLIENT_SECRET": "s", "PUBLIC_URL": "http://localhost"}


@pytest.mark.parametrize(
    ("given", "variable", "fault"),
    [
        ({"SLACK_BOT_TOKEN": "xoxb-1"}, "SLACK_BOT_TOKEN", "needs SLACK_APP_TOKEN (Socket Mode) or"),
        ({"SLACK_APP_TOKEN": "xapp-1"}, "SLACK_BOT_TOKEN", "is missing beside the other settings of Slack."),
        ({"SLACK_SIGNING_SECRET": "s"}, "SLACK_BOT_TOKEN", "is missing beside the other settings of Slack."),
        ({**SLACK, "SLACK_BOT_TOKEN": "xapp-1"}, "SLACK_BOT_TOKEN", "must begin with xoxb-: Slack has several"),
        ({**SLACK, "SLACK_APP_TOKEN": "xoxb-1"}, "SLACK_APP_TOKEN", "must begin with xapp-: Slack has several"),
        ({"SLACK_CLIENT_ID": "1.2"}, "SLACK_CLIENT_ID", "needs PUBLIC_URL beside it"),
        ({"SLACK_CLIENT_ID": "one"}, "SLACK_CLIENT_ID", "must be two numbers with a point between them."),
        (
            {"SLACK_CLIENT_ID": "1.2", "PUBLIC_URL": "http://localhost"},
            "SLACK_CLIENT_SECRET",
            "must be set beside SLACK_CLIENT_ID.",
        ),
        (
            {**MANY_WORKSPACES, **SLACK, "SLACK_ALLOWED_WORKSPACES": "T1+tools, E2"},
            "SLACK_BOT_TOKEN",
            "is for one workspace and SLACK_CLIENT_ID for many",
        ),
        (MANY_WORKSPACES, "SLACK_ALLOWED_WORKSPACES", "must be set beside SLACK_CLIENT_ID"),
        ({**MANY_WORKSPACES, "SLACK_ALLOWED_WORKSPACES": "acme"}, "SLACK_ALLOWED_WORKSPACES", "must be ids that begin"),
        ({**AZURE, "OPENAI_BASE_URL": "http://localhost/v1"}, "AZURE_OPENAI_ENDPOINT", "is one endpoint and"),
        ({**AZURE, "AZURE_OPENAI_API_KEY": ""}, "AZURE_OPENAI_ENDPOINT", "needs AZURE_OPENAI_API_KEY beside it."),
        ({**AZURE, "SMART_MODEL": ""}, "AZURE_OPENAI_ENDPOINT", "needs SMART_MODEL beside it, the name of the"),
        ({"EMBEDDING_MODEL": "nomic-embed-text"}, "EMBEDDING_MODEL", "names a model, so OPENAI_API_KEY, OPENAI_BASE"),
        ({"EMBEDDING_BASE_URL": "http://localhost/v1"}, "EMBEDDING_MODEL", "must name a model of EMBEDDING_BASE_URL."),
        ({"PINECONE_HOST": "localhost"}, "PINECONE_HOST", "needs PINECONE_API_KEY beside it."),
        ({"PINECONE_CONTROLLER_HOST": "localhost"}, "PINECONE_CONTROLLER_HOST", "needs PINECONE_API_KEY beside it."),
        ({"BRAVE_SEARCH_URL": "http://localhost"}, "BRAVE_SEARCH_URL", "needs BRAVE_API_KEY beside it."),
        ({"TAVILY_SEARCH_URL": "http://localhost"}, "TAVILY_SEARCH_URL", "needs TAVILY_API_KEY beside it."),
        ({"GOOGLE_CSE_ID": "a"}, "GOOGLE_CSE_ID", "needs GOOGLE_API_KEY beside it."),
        (FALLBACK, "FALLBACK_MODEL", "stands in for a model, so a model must be connected"),
        (FALLBACK | {"FALLBACK_BASE_URL": "http://localhost/v1"}, "FALLBACK_MODEL", "stands in for a model"),
        ({"OPENAI_API_KEY": "sk-1", "FALLBACK_BASE_URL": "http://localhost/v1"}, "FALLBACK_MODEL", "must name a model"),
        ({"OPENAI_API_KEY": "sk-1", "FALLBACK_API_KEY": "sk-2"}, "FALLBACK_API_KEY", "needs FALLBACK_BASE_URL beside"),
    ],
)
def test_half_a_slack_app_half_a_provider_and_a_fallback_that_cannot_stand_in_are_told(
    given: dict[str, str], variable: str, fault: str
) -> None:
    told = fault_of(given)
    assert (told.variable, told.fault[: len(fault)]) == (variable, fault)


def test_the_fast_model_may_also_be_the_fallback() -> None:
    given = {"OPENAI_API_KEY": "sk-1", "SMART_MODEL": "large", "FAST_MODEL": "small", **FALLBACK}
    settings = load(given, None)
    assert (settings.fast_model, settings.fallback_model) == ("small", "small")


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({"OPENAI_API_KEY": "sk-1", "FALLBACK_MODEL": "small"}, "https://api.openai.com/v1"),
        ({"OPENAI_BASE_URL": "https://gateway.test/v1", "FALLBACK_MODEL": "claude-a"}, "https://gateway.test/v1"),
        (
            {"OPENAI_API_KEY": "sk-1", "SMART_MODEL": "small", "FALLBACK_MODEL": "small"}
            | {"FALLBACK_BASE_URL": "https://api.openai.com/v1", "FALLBACK_API_KEY": "sk-another-account"},
            "https://api.openai.com/v1",
        ),
        (
            {"ANTHROPIC_BASE_URL": "https://gateway.test", "FALLBACK_MODEL": "gpt-5"},
            "https://gateway.test",
        ),
        ({"ANTHROPIC_API_KEY": "a", "FALLBACK_MODEL": "small"}, "https://api.anthropic.com"),
        (
            {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "sk-1", "FALLBACK_MODEL": "claude-a"},
            "https://api.anthropic.com",
        ),
        (
            {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "sk-1", "SMART_MODEL": "claude-a", "FALLBACK_MODEL": "small"},
            "https://api.openai.com/v1",
        ),
        (
            {"ANTHROPIC_API_KEY": "a", "OPENAI_BASE_URL": "http://localhost/v1", "SMART_MODEL": "claude-a"}
            | {"FALLBACK_MODEL": "claude-a"},
            "https://api.anthropic.com",
        ),
        (
            {"OPENAI_API_KEY": "sk-1", "FALLBACK_MODEL": "claude-a", "FALLBACK_BASE_URL": "https://llm.test/v1"},
            "https://llm.test/v1",
        ),
    ],
)
def test_the_name_of_the_fallback_decides_where_it_is_asked(given: dict[str, str], url: str) -> None:
    endpoint = load(given, None).fallback_endpoint
    assert endpoint is not None
    assert endpoint.url == url


def test_the_key_of_the_fallback_is_a_secret_and_goes_to_its_own_endpoint() -> None:
    given = {"OPENAI_API_KEY": "sk-1", "FALLBACK_BASE_URL": "https://llm.test/v1", "FALLBACK_API_KEY": "sk-hush"}
    settings = load(given | FALLBACK, None)
    assert settings.fallback_endpoint == Endpoint(url="https://llm.test/v1", key="sk-hush")
    without = load({name: value for name, value in (given | FALLBACK).items() if name != "FALLBACK_API_KEY"}, None)
    assert without.fallback_endpoint == Endpoint(url="https://llm.test/v1", key="")
    assert "sk-hush" in settings.secrets


HERE = "http://127.0.0.1:11434/v1"
OWN_EMBEDDINGS = {"OPENAI_API_KEY": "sk-1", "EMBEDDING_BASE_URL": HERE, "EMBEDDING_MODEL": "nomic"}
OPENAI = "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("given", "endpoint"),
    [
        ({}, None),
        ({"OPENAI_API_KEY": "sk-1"}, Endpoint(url=OPENAI, key="sk-1")),
        ({"OPENAI_BASE_URL": HERE}, Endpoint(url=HERE, key="")),
        ({"OPENAI_BASE_URL": f"{HERE}/", "OPENAI_API_KEY": "sk-1"}, Endpoint(url=HERE, key="sk-1")),
        ({**AZURE, "OPENAI_API_KEY": "sk-1"}, Endpoint(url="https://r.openai.azure.com/openai/v1", key="a")),
        (
            {**AZURE, "AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com/openai/v1/"},
            Endpoint(url="https://r.openai.azure.com/openai/v1", key="a"),
        ),
        ({"AZURE_OPENAI_API_KEY": "a"}, None),
    ],
)
def test_the_endpoint_is_an_address_with_its_own_key(given: dict[str, str], endpoint: Endpoint | None) -> None:
    settings = load(given, None)
    assert (settings.endpoint, settings.has_endpoint) == (endpoint, endpoint is not None)
    assert "sk-1" not in repr(settings.endpoint)


@pytest.mark.parametrize(
    ("given", "name", "endpoint"),
    [
        ({}, "local", None),
        ({"OPENAI_API_KEY": "sk-1"}, "text-embedding-3-small", Endpoint(url=OPENAI, key="sk-1")),
        ({"OPENAI_BASE_URL": HERE, "OPENAI_API_KEY": "sk-1"}, "local", None),
        (AZURE, "local", None),
        ({**AZURE, "EMBEDDING_MODEL": "mine"}, "mine", Endpoint(url="https://r.openai.azure.com/openai/v1", key="a")),
        ({"OPENAI_API_KEY": "sk-1", "EMBEDDING_MODEL": "Local"}, "local", None),
        ({"OPENAI_BASE_URL": HERE, "EMBEDDING_MODEL": "nomic"}, "nomic", Endpoint(url=HERE, key="")),
        ({"EMBEDDING_BASE_URL": HERE, "EMBEDDING_MODEL": "nomic"}, "nomic", Endpoint(url=HERE, key="")),
        ({**OWN_EMBEDDINGS, "EMBEDDING_API_KEY": "e"}, "nomic", Endpoint(url=HERE, key="e")),
        (OWN_EMBEDDINGS, "nomic", Endpoint(url=HERE, key="")),
    ],
)
def test_embeddings_are_made_here_or_at_an_address_with_its_own_key(
    given: dict[str, str], name: str, endpoint: Endpoint | None
) -> None:
    settings = load(given, None)
    assert (settings.embedding_name, settings.embedding_endpoint) == (name, endpoint)


def test_hosts_of_pinecone_may_be_given_as_its_console_shows_them() -> None:
    given = {"PINECONE_API_KEY": "p", "PINECONE_HOST": "s-1.svc.pinecone.io", "PINECONE_CONTROLLER_HOST": HERE}
    settings = load(given, None)
    assert settings.pinecone_host == "https://s-1.svc.pinecone.io"
    assert (settings.pinecone_controller_host, settings.pinecone_index) == (HERE, "signoff")


def test_tokenizers_are_looked_for_in_the_data_folder_unless_told_where(tmp_path: Path) -> None:
    home = {"SIGNOFF_HOME": str(tmp_path)}
    assert load(home, None).tokenizers == tmp_path / "tiktoken"
    assert load({**home, "TIKTOKEN_CACHE_DIR": str(tmp_path / "t")}, None).tokenizers == tmp_path / "t"


@pytest.mark.parametrize("name", ["GOOGLE_API_KEY", "AZURE_OPENAI_API_KEY"])
def test_a_key_that_other_programs_share_turns_nothing_on_by_itself(name: str) -> None:
    settings = load({name: "a"}, None)
    assert (settings.has_google, settings.has_endpoint) == (False, False)


def test_no_secret_is_shown_by_the_settings() -> None:
    settings = load(
        {
            "WEB_TOKEN": TOKEN,
            "OPENAI_API_KEY": "sk-hidden",
            "ANTHROPIC_API_KEY": "sk-ant-hidden",
            "AZURE_OPENAI_API_KEY": "azure-hidden",
            "PINECONE_API_KEY": "pcsk-hidden",
            "GOOGLE_API_KEY": "google-hidden",
            "BRAVE_API_KEY": "brave-hidden",
            "TAVILY_API_KEY": "tvly-hidden",
            "DATABASE_URL": "postgresql://ana:p%40ss@db.example.com/signoff?sslmode=require",
        },
        None,
    )
    hidden = {TOKEN, "sk-hidden", "sk-ant-hidden", "azure-hidden", "pcsk-hidden", "google-hidden", "p%40ss", "p@ss"}
    assert set(settings.secrets) == hidden | {"brave-hidden", "tvly-hidden"}
    assert settings.shown_database == "postgresql://db.example.com/signoff"
    shown = f"{settings!r} {settings} {settings.shown_database}"
    assert not any(secret in shown for secret in settings.secrets)


@pytest.mark.parametrize(
    "options", ["sslpassword=o%40ption", "sslmode=require&password=o%40ption", "sslpassword=o@ption"]
)
def test_a_password_among_the_options_of_the_database_is_a_secret(options: str) -> None:
    settings = load({"DATABASE_URL": f"postgresql://ana:hush@db.example.com/signoff?{options}&connect_timeout=3"}, None)
    assert {"hush", "o@ption"} <= {*settings.secrets}
    assert settings.shown_database == "postgresql://db.example.com/signoff"


@pytest.mark.proves("settings:secrets")
@pytest.mark.parametrize(
    "name",
    [
        "WEB_TOKEN",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "AZURE_OPENAI_API_KEY",
        "PINECONE_API_KEY",
        "GOOGLE_API_KEY",
        "DATABASE_URL",
    ],
)
def test_no_secret_is_shown_by_a_fault(name: str) -> None:
    fault = fault_of({name: "mysql://ana:hush hush@localhost"})
    assert "hush" not in f"{fault!r} {fault} {fault.__cause__!r}"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("OPENAI_APIKEY", "OPENAI_API_KEY"),
        ("SIGNOF_HOME", "SIGNOFF_HOME"),
        ("openai_key", "OPENAI_API_KEY"),
        ("FAST_LLM_MODEL", "FAST_MODEL"),
        ("PINECONE_APIKEY", "PINECONE_API_KEY"),
    ],
)
def test_a_misspelt_name_in_the_file_is_refused_with_the_right_one(tmp_path: Path, written: str, meant: str) -> None:
    env_file = in_file(tmp_path, f"{written}=x\n")
    fault = fault_of({}, env_file)
    assert (fault.variable, fault.fault) == (meant, f"is written {written.upper()} in {env_file}.")


@pytest.mark.parametrize(
    "name",
    ["PINECONE_ENV", "CUSTOM_SEARCH_ENGINE_ID", "SLACK_TEAM_ID", "OPENAI_ORG_ID", "HTTP_PROXY", "GEMINI_API_KEY"],
)
def test_a_name_that_is_somebody_elses_is_left_alone(tmp_path: Path, name: str) -> None:
    load({}, in_file(tmp_path, f"{name}=x\n"))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("OPENAI_API_BASE", "OPENAI_BASE_URL"),
        ("OPENAI_MODEL", "SMART_MODEL"),
        ("CLAUDE_API_KEY", "ANTHROPIC_API_KEY"),
        ("MODEL", "SMART_MODEL"),
        ("LOCAL_MODEL", "OPENAI_BASE_URL"),
    ],
)
def test_usual_names_of_other_tools_are_told_with_the_right_ones(tmp_path: Path, name: str, meant: str) -> None:
    env_file = in_file(tmp_path, f"{name}=x\n")
    load({}, env_file)
    assert unread_names({}, env_file) == unread_names({name: "x"}, None) == {name: meant}
    assert unread_names({name: "x", meant: "y"}, None) == unread_names({name: " "}, None) == {}


def test_a_misspelt_name_of_the_environment_is_told_and_refuses_no_start() -> None:
    surroundings = {"OPENAI_APIKEY": "sk-1", "OPENAI_ORG_ID": "o", "PATH": "/bin", "HTTP_PROXY": "http://x"}
    assert not load(surroundings, None).has_endpoint
    assert unread_names(surroundings, None) == {"OPENAI_APIKEY": "OPENAI_API_KEY"}


def test_the_rehearsal_is_always_instructed_in_full() -> None:
    rehearsal = load({"PROMPT_PROFILE": "compact"}, None)
    asked = load({"PROMPT_PROFILE": "compact", "OPENAI_API_KEY": "sk-1234"}, None)
    assert isinstance(make_model(rehearsal, demo_model), RehearsalModel)
    assert [wanted_profile(rehearsal), wanted_profile(asked)] == ["full", "compact"]


def test_every_field_has_a_variable_and_every_variable_a_field() -> None:
    fields = {str(field.validation_alias or name).upper() for name, field in Settings.model_fields.items()}
    assert fields == set(VARIABLES)


@pytest.mark.parametrize(
    ("file", "content"),
    [(".env.example", settings_page.example_file()), ("docs/reference/settings.md", settings_page.settings_page())],
)
def test_the_files_made_of_the_variables_are_up_to_date(file: str, content: str) -> None:
    assert (ROOT / file).read_text() == content, "Run `make reference`."


def test_the_example_file_offers_what_people_set_on_the_first_day(tmp_path: Path) -> None:
    text = (ROOT / ".env.example").read_text()
    offered = [line[2:] for line in text.splitlines() if line[2:].partition("=")[0] in VARIABLES]
    assert [line.partition("=")[0] for line in offered] == [*settings_page.FIRST_DAY]
    assert text.count("\n") <= 60
    assert "docs/reference/settings.md" in text
    assert load({}, in_file(tmp_path, "\n".join(offered))) == load(
        {n: EXAMPLES[n] for n in settings_page.FIRST_DAY}, None
    )


def test_every_example_can_be_written_into_the_file(tmp_path: Path) -> None:
    usable = {name: value for name, value in EXAMPLES.items() if name not in LEFT_OUT}
    assert load({}, in_file(tmp_path, "\n".join(f"{n}='{value}'" for n, value in usable.items()))) == load(usable, None)


def test_a_secret_is_read_from_the_file_that_its_name_with_file_names(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(f"{TOKEN}\n")
    settings = load({"WEB_TOKEN_FILE": str(token), "HOST": "0.0.0.0"}, None)
    assert (settings.web_token.get_secret_value(), TOKEN in settings.secrets) == (TOKEN, True)
    assert load({}, in_file(tmp_path, f"WEB_TOKEN_FILE={token}\n")).web_token == settings.web_token
    assert unread_names({"WEB_TOKEN_FILE": str(token), "ANTHROPIC_API_KEY_FILE": "x"}, None) == {}


def test_a_file_that_cannot_be_read_or_stands_beside_the_variable_is_refused_by_its_name(tmp_path: Path) -> None:
    fault = fault_of({"WEB_TOKEN_FILE": str(tmp_path / "none")})
    assert (fault.variable, "cannot be read" in fault.fault) == ("WEB_TOKEN_FILE", True)
    both = fault_of({"WEB_TOKEN_FILE": str(tmp_path / "none"), "WEB_TOKEN": TOKEN})
    assert str(both) == "WEB_TOKEN_FILE: is set beside WEB_TOKEN: set one of the two."


def test_a_package_keeps_its_data_for_the_account_and_a_clone_beside_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.chdir(tmp_path)
    assert default_home(is_clone=True) == Path(".signoff")
    assert default_home(is_clone=False) == tmp_path / "share/signoff"
    (tmp_path / ".signoff").mkdir()  # what an older release made here stays in use
    assert default_home(is_clone=False) == Path(".signoff")
    assert install_text("s3", is_clone=True) == "make extras EXTRAS=s3"
    assert install_text("s3", is_clone=False) == "pip install 'signoff[s3]'"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("run --port 9000 --host ::1 --home /x", {"PORT": "9000", "HOST": "::1", "SIGNOFF_HOME": "/x"}),
        ("worker --port 9001", {"PROBE_PORT": "9001"}),
        ("web", {}),
        ("address --home /x", {"SIGNOFF_HOME": "/x"}),
        ("doctor", {}),
    ],
)
def test_options_of_a_command_go_before_the_environment(words: str, expected: dict[str, str]) -> None:
    assert variables_of_line(words.split()) == expected


def test_the_digest_tells_settings_apart_and_knows_no_secret() -> None:
    first, same, other, without = (
        digest(load({"OPENAI_API_KEY": key, "MAX_AGENTS_PER_CHANNEL": most}, None))
        for key, most in (("sk-first", "7"), ("sk-second", "7"), ("sk-first", "8"), ("", "7"))
    )
    assert first == same
    assert len({first, other, without}) == 3
    before, after = (digest(load({"DATABASE_URL": f"postgresql://u:{word}@db/s"}, None)) for word in ("one", "two"))
    assert before == after
    ports, others = (digest(load({"PORT": port, "PROBE_PORT": port}, None)) for port in ("8701", "8702"))
    assert ports == others  # two processes of one machine cannot share them


def test_the_page_on_watching_gives_settings_that_start(tmp_path: Path) -> None:
    (block, *_) = re.findall(r"```sh\n(.*?)```", (ROOT / "docs/how-to/watch-it.md").read_text("utf-8"), re.DOTALL)
    (tmp_path / ".env").write_text(block)
    found = load({}, tmp_path / ".env")
    assert (found.host, found.probe_port, bool(found.metrics_token)) == ("10.0.0.5", 8701, True)
