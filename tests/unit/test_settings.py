"""Settings: read from environment and file, refused with one line, never showing a secret."""

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from agent_core.errors import SettingsError
from bot import variables
from bot.settings import Settings, load
from bot.variables import TABLE, VARIABLES

ROOT = Path(__file__).parents[2]
EXAMPLES = {variable.name: variable.example for variable in TABLE}
# One workspace or many: the two go without one another.
FOR_MANY = {"SLACK_CLIENT_ID", "SLACK_CLIENT_SECRET"}
FOR_ONE = {name: value for name, value in EXAMPLES.items() if name not in FOR_MANY}
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
    assert (settings.address, settings.is_local) == ("http://127.0.0.1:8700", True)
    assert (settings.has_endpoint, settings.secrets) == (False, ())


def test_the_environment_goes_before_the_file_and_an_empty_value_counts_as_none(tmp_path: Path) -> None:
    env_file = in_file(tmp_path, "PORT=9000\nHOST=localhost\nSMART_MODEL=\nTEMPERATURE=0.5\n")
    settings = load({"PORT": "9001", "HOST": "", "TEMPERATURE": " "}, env_file)
    assert (settings.port, settings.host, settings.smart_model, settings.temperature) == (9001, "localhost", "", 0.5)


def test_the_processes_own_environment_is_read_when_none_is_handed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "9002")
    assert load(env_file=None).port == 9002
    assert load({}, env_file=None).port == 8700


@pytest.mark.parametrize("left_out", [FOR_MANY, {"SLACK_BOT_TOKEN"}])
def test_every_example_is_a_value_that_can_be_used(left_out: set[str]) -> None:
    settings = load({name: value for name, value in EXAMPLES.items() if name not in left_out}, None)
    assert settings.has_slack
    assert settings.model_prices == {"my-model": (Decimal("0.25"), Decimal(2))}
    assert settings.disabled_commands == ("delete_file", "append_to_file")
    assert settings.default_budget_usd == 5


def test_words_are_taken_in_any_case() -> None:
    settings = load({"LOG_LEVEL": "debug", "LOG_FORMAT": "JSON"}, None)
    assert (settings.log_level, settings.log_format) == ("DEBUG", "json")


@pytest.mark.proves("settings:fault")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SIGNOFF_HOME", __file__),
        ("SIGNOFF_HOME", "what?"),
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
        ("TEMPERATURE", "2.1"),
        ("TEMPERATURE", "nan"),
        ("MODEL_PRICES", "{"),
        ("MODEL_PRICES", '{"m": 1}'),
        ("MODEL_PRICES", '{"m": [1, -2]}'),
        ("DEFAULT_BUDGET_USD", "0"),
        ("DEFAULT_BUDGET_USD", "Infinity"),
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
@pytest.mark.parametrize("token", [{}, {"WEB_TOKEN": "too-short"}])
def test_a_page_that_others_can_reach_wants_a_token(token: dict[str, str]) -> None:
    fault = fault_of({"HOST": "0.0.0.0", **token})
    assert fault.variable == "WEB_TOKEN"
    assert fault.fault == "must have at least 16 characters, because HOST opens the page to others."
    assert not load({"HOST": "0.0.0.0", "WEB_TOKEN": TOKEN}, None).is_local


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_a_page_for_this_machine_alone_wants_none(host: str) -> None:
    assert load({"HOST": host}, None).is_local


SLACK = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}


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
            {**SLACK, "SLACK_CLIENT_ID": "1.2", "SLACK_CLIENT_SECRET": "s", "PUBLIC_URL": "http://localhost"},
            "SLACK_BOT_TOKEN",
            "is for one workspace and SLACK_CLIENT_ID for many",
        ),
    ],
)
def test_half_a_slack_app_is_told_with_what_is_missing(given: dict[str, str], variable: str, fault: str) -> None:
    told = fault_of(given)
    assert (told.variable, told.fault[: len(fault)]) == (variable, fault)


def test_no_secret_is_shown_by_the_settings() -> None:
    settings = load(
        {
            "WEB_TOKEN": TOKEN,
            "OPENAI_API_KEY": "sk-hidden",
            "DATABASE_URL": "postgresql://ana:p%40ss@db.example.com/signoff?sslmode=require",
        },
        None,
    )
    assert settings.secrets == (TOKEN, "sk-hidden", "p%40ss", "p@ss")
    assert settings.shown_database == "postgresql://db.example.com/signoff"
    shown = f"{settings!r} {settings} {settings.shown_database}"
    assert not any(secret in shown for secret in settings.secrets)


@pytest.mark.proves("settings:secrets")
@pytest.mark.parametrize("name", ["WEB_TOKEN", "OPENAI_API_KEY", "DATABASE_URL"])
def test_no_secret_is_shown_by_a_fault(name: str) -> None:
    fault = fault_of({name: "mysql://ana:hush hush@localhost"})
    assert "hush" not in f"{fault!r} {fault} {fault.__cause__!r}"


@pytest.mark.parametrize(
    ("written", "meant"),
    [("OPENAI_APIKEY", "OPENAI_API_KEY"), ("SIGNOF_HOME", "SIGNOFF_HOME"), ("openai_key", "OPENAI_API_KEY")],
)
def test_a_misspelt_name_in_the_file_is_refused_with_the_right_one(tmp_path: Path, written: str, meant: str) -> None:
    env_file = in_file(tmp_path, f"{written}=x\n")
    fault = fault_of({}, env_file)
    assert (fault.variable, fault.fault) == (meant, f"is written {written.upper()} in {env_file}.")


@pytest.mark.parametrize(
    "name", ["FAST_MODEL", "AZURE_OPENAI_API_KEY", "SLACK_TEAM_ID", "OPENAI_ORG_ID", "HTTP_PROXY", "GOOGLE_API_KEY"]
)
def test_a_name_that_is_somebody_elses_is_left_alone(tmp_path: Path, name: str) -> None:
    load({}, in_file(tmp_path, f"{name}=x\n"))


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load({}, None).port = 1  # type: ignore[misc]


def test_every_field_has_a_variable_and_every_variable_a_field() -> None:
    fields = {str(field.validation_alias or name).upper() for name, field in Settings.model_fields.items()}
    assert fields == set(VARIABLES)


@pytest.mark.parametrize(
    ("file", "content"),
    [(".env.example", variables.example_file()), ("docs/reference/settings.md", variables.reference())],
)
def test_the_files_made_of_the_variables_are_up_to_date(file: str, content: str) -> None:
    assert (ROOT / file).read_text() == content, "Run `make reference`."


def test_the_example_file_with_every_line_taken_off_its_comment_can_be_used(tmp_path: Path) -> None:
    lines = (ROOT / ".env.example").read_text().splitlines()
    offered = [line.removeprefix("# ") for line in lines if line.partition("=")[0].removeprefix("# ") in VARIABLES]
    assert len(offered) == len(VARIABLES)
    taken = [line for line in offered if line.partition("=")[0] not in FOR_MANY]
    assert load({}, in_file(tmp_path, "\n".join(taken))) == load(FOR_ONE, None)


def test_nothing_slow_is_loaded_with_the_settings() -> None:
    code = "import sys, bot.settings; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert not {"aiohttp", "slack_sdk", "sqlalchemy", "openai", "alembic", "jsonschema", "genai_prices"} & set(
        loaded.split()
    )
