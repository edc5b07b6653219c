"""Environment and `.env` → one frozen Settings. A fault names the variable, what is wrong and an example.

Environment goes before file, and an empty value counts as none.
"""

import difflib
import json
import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import unquote, urlsplit

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, DotEnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from agent_core.errors import SettingsError
from bot.variables import VARIABLES

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
TOKEN_LENGTH = 16
TOO_SHORT = "must have at least 16 characters, because HOST opens the page to others."
UNGUARDED = "opens the page to others, so WEB_TOKEN must be set too."
OWN_WORDS = "own words"
ONE_OR_MANY = "is for one workspace and SLACK_CLIENT_ID for many: set one of the two."
NO_WAY_IN = "needs SLACK_APP_TOKEN (Socket Mode) or SLACK_SIGNING_SECRET (HTTP) beside it."
PREFIXES = {"slack_bot_token": "xoxb-", "slack_app_token": "xapp-"}
DATABASES = ("sqlite", "postgresql", "postgres")
LIKENESS = 0.83  # tells OPENAI_APIKEY from AZURE_OPENAI_API_KEY, which is somebody else's

Price = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]
Names = tuple[str, ...]


class Settings(BaseSettings):
    """What the operator chose. Fields are named like their variables; an empty text means that it is not set."""

    model_config = SettingsConfigDict(
        frozen=True,
        populate_by_name=True,
        extra="ignore",
        validate_default=True,
        str_strip_whitespace=True,
        env_ignore_empty=True,
        env_file_encoding="utf-8-sig",
    )

    home: Path = Field(default=Path(".signoff"), validation_alias="signoff_home")
    host: str = Field(default="127.0.0.1", pattern=r"^[A-Za-z0-9._:%-]+$")
    port: int = Field(default=8700, ge=1, le=65535)
    web_token: SecretStr = SecretStr("")
    public_url: str = ""
    database_url: str = Field(default="", repr=False)
    openai_api_key: SecretStr = SecretStr("")
    openai_base_url: str = ""
    smart_model: str = ""
    slack_api_url: str = ""
    slack_app_token: SecretStr = SecretStr("")
    slack_signing_secret: SecretStr = SecretStr("")
    slack_client_id: str = Field(default="", pattern=r"^([0-9]+\.[0-9]+)?$")
    slack_client_secret: SecretStr = SecretStr("")
    slack_bot_token: SecretStr = SecretStr("")
    temperature: float | None = Field(default=None, ge=0, le=2)
    model_prices: Mapping[str, tuple[Price, Price]] = {}
    default_budget_usd: Decimal | None = Field(default=None, gt=0, allow_inf_nan=False)
    disabled_commands: Names = ()
    disabled_categories: Names = ()
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = "INFO"
    log_format: Literal["text", "json"] = "text"

    @property
    def is_local(self) -> bool:
        """Whether the page can be reached from this machine only."""
        return self.host in LOOPBACK

    @property
    def has_endpoint(self) -> bool:
        """Whether a language model is configured; without one the rehearsal model answers."""
        return bool(self.openai_api_key or self.openai_base_url)

    @property
    def has_slack(self) -> bool:
        """Whether the Slack surface is on: for one workspace by its bot token, for many by the app's client id."""
        return bool(self.slack_bot_token or self.slack_client_id)

    @property
    def address(self) -> str:
        """Where people find the page."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.public_url or f"http://{host}:{self.port}"

    @property
    def sqlite_file(self) -> Path | None:
        """The database's file, or None when it is not SQLite."""
        scheme, _, rest = self.database_url.partition(":///")
        return Path(rest.partition("?")[0]) if scheme == "sqlite" else None

    @property
    def shown_database(self) -> str:
        """The database as people may see it: no user, no password, no options."""
        scheme, _, rest = self.database_url.partition("://")
        return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"

    @property
    def secrets(self) -> Names:
        """Every value that must never be shown, in all the spellings that may turn up."""
        userinfo = "" if self.sqlite_file else self.database_url.partition("://")[2].rpartition("@")[0]
        password = userinfo.partition(":")[2]
        kept = (value for value in dict(self).values() if isinstance(value, SecretStr))
        found = (*(secret.get_secret_value() for secret in kept), password, unquote(password))
        return tuple(dict.fromkeys(secret for secret in found if secret))

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What is handed in and nothing else: `load` gathers it, so that a test can hand in its own environment."""
        return (init_settings,)

    @field_validator("home")
    @classmethod
    def _folder(cls, path: Path) -> Path:
        folder = path.expanduser().absolute()
        if "?" in str(folder) or (folder.exists() and not folder.is_dir()):
            raise ValueError
        return folder

    @field_validator(
        "web_token",
        "openai_api_key",
        "slack_bot_token",
        "slack_app_token",
        "slack_signing_secret",
        "slack_client_secret",
    )
    @classmethod
    def _sendable(cls, secret: SecretStr) -> SecretStr:
        text = secret.get_secret_value().strip()
        if not text.isascii() or not text.isprintable() or " " in text:
            raise ValueError
        return SecretStr(text)

    @field_validator("web_token")
    @classmethod
    def _long_enough(cls, token: SecretStr, info: ValidationInfo) -> SecretStr:
        if info.data.get("host", "localhost") not in LOOPBACK and len(token) < TOKEN_LENGTH:
            raise PydanticCustomError(OWN_WORDS, TOO_SHORT)
        return token

    @field_validator("slack_bot_token", "slack_app_token")
    @classmethod
    def _of_its_kind(cls, token: SecretStr, info: ValidationInfo) -> SecretStr:
        prefix = PREFIXES[str(info.field_name)]
        if token and not token.get_secret_value().startswith(prefix):
            raise PydanticCustomError(OWN_WORDS, f"must begin with {prefix}: Slack has several kinds of tokens.")
        return token

    @field_validator("slack_client_id")
    @classmethod
    def _can_send_back(cls, client_id: str, info: ValidationInfo) -> str:
        if client_id and not info.data.get("public_url"):
            raise PydanticCustomError(OWN_WORDS, "needs PUBLIC_URL beside it, to which Slack sends people back.")
        return client_id

    @field_validator("slack_client_secret")
    @classmethod
    def _beside_its_id(cls, secret: SecretStr, info: ValidationInfo) -> SecretStr:
        if info.data.get("slack_client_id") and not secret:
            raise PydanticCustomError(OWN_WORDS, "must be set beside SLACK_CLIENT_ID.")
        return secret

    @field_validator("slack_bot_token")
    @classmethod
    def _whole_slack(cls, token: SecretStr, info: ValidationInfo) -> SecretStr:
        has_many = bool(info.data.get("slack_client_id"))
        has_way_in = bool(info.data.get("slack_app_token") or info.data.get("slack_signing_secret"))
        if token and has_many:
            raise PydanticCustomError(OWN_WORDS, ONE_OR_MANY)
        if has_way_in and not (token or has_many):
            raise PydanticCustomError(OWN_WORDS, "is missing beside the other settings of Slack.")
        if (token or has_many) and not has_way_in:
            raise PydanticCustomError(OWN_WORDS, NO_WAY_IN)
        return token

    @field_validator("public_url", "openai_base_url", "slack_api_url")
    @classmethod
    def _web_address(cls, url: str) -> str:
        parts = urlsplit(url)
        is_web = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and not parts.username
        if url and (not is_web or parts.query or parts.fragment or any(map(str.isspace, url))):
            raise ValueError
        return url.rstrip("/")

    @field_validator("public_url")
    @classmethod
    def _guarded(cls, url: str, info: ValidationInfo) -> str:
        if urlsplit(url).hostname not in (None, *LOOPBACK) and not info.data.get("web_token"):
            raise PydanticCustomError(OWN_WORDS, UNGUARDED)
        return url

    @field_validator("database_url")
    @classmethod
    def _database_address(cls, url: str, info: ValidationInfo) -> str:
        if not url:
            return f"sqlite:///{info.data.get('home')}/signoff.db"
        scheme, separator, rest = url.partition("://")
        is_file = rest.startswith("/") and len(rest.partition("?")[0]) > 1
        if not separator or scheme not in DATABASES or (scheme == "sqlite" and not is_file) or not rest:
            raise ValueError
        server = rest.partition("?")[0].rpartition("@")[2].partition("/")[0]
        _ = urlsplit(f"//{server}").port  # raises ValueError when it is no number
        return url

    @field_validator("model_prices", mode="before")
    @classmethod
    def _decoded(cls, given: object) -> object:
        return json.loads(given) if isinstance(given, str) else given

    @field_validator("disabled_commands", "disabled_categories", mode="before")
    @classmethod
    def _split(cls, given: object) -> object:
        if not isinstance(given, str):
            return given
        return tuple(name for name in (part.strip() for part in given.split(",")) if name)

    @field_validator("log_level", "log_format", mode="before")
    @classmethod
    def _any_case(cls, given: object, info: ValidationInfo) -> object:
        if not isinstance(given, str):
            return given
        return given.strip().upper() if info.field_name == "log_level" else given.strip().lower()


def load(environ: Mapping[str, str] | None = None, env_file: str | Path | None = ".env") -> Settings:
    """The settings of this process; raise SettingsError at the first fault."""
    surroundings = os.environ if environ is None else environ
    written = {name.upper(): text or "" for name, text in DotEnvSettingsSource(Settings, env_file).env_vars.items()}
    _refuse_misspelt(written, env_file)
    given = {name.lower(): surroundings.get(name, "").strip() or written.get(name, "").strip() for name in VARIABLES}
    try:
        return Settings.model_validate({name: text for name, text in given.items() if text})
    except ValidationError as error:
        raise _told(error) from None


def _told(error: ValidationError) -> SettingsError:
    fault = error.errors(include_url=False, include_input=False)[0]
    variable = VARIABLES[str(fault["loc"][0]).upper()]
    words = fault["msg"] if fault["type"] == OWN_WORDS else f"must be {variable.rule}."
    return SettingsError(variable.name, words, variable.example)


def _refuse_misspelt(written: Iterable[str], env_file: str | Path | None) -> None:
    for name in written:
        close = difflib.get_close_matches(name, VARIABLES, n=1, cutoff=LIKENESS)
        if close and name not in VARIABLES:
            right = VARIABLES[close[0]]
            raise SettingsError(right.name, f"is written {name} in {env_file}.", right.example)
