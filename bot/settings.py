"""Reads the environment and `.env` into one frozen Settings. Errors name the variable, the problem and an example.

The environment overrides the file. An empty value counts as not set.
"""

import difflib
import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import DotEnvSettingsSource

from agent_core.errors import SettingsError
from bot.cross_setting_rules import CORE_RULES, Rule
from bot.model_settings import MODEL_RULES, ModelSettings
from bot.platforms.all_settings import PLATFORM_RULES, AllPlatformSettings
from bot.tool_server_file import ToolServers
from bot.value_types import (
    NO_SECRET,
    ClassesByName,
    Folder,
    HostAddress,
    Secret,
    WebAddress,
    WorkspaceAddress,
    database_address,
    passwords,
    sqlite_file,
    without_secrets,
)
from bot.variables import VARIABLES

OWN_WORDS = "own words"
LIKENESS = 0.83  # distinguishes the misspelt OPENAI_APIKEY from OPENAI_ORG_ID, which is not Signoff's

# Names that other tools use for what Signoff calls otherwise.
USUAL_NAMES = {
    "OPENAI_API_BASE": "OPENAI_BASE_URL",
    "OPENAI_BASE": "OPENAI_BASE_URL",
    "OPENAI_MODEL": "SMART_MODEL",
    "OPENAI_MODEL_NAME": "SMART_MODEL",
    "ANTHROPIC_MODEL": "SMART_MODEL",
    "LLM_MODEL": "SMART_MODEL",
    "MODEL_NAME": "SMART_MODEL",
    "MODEL": "SMART_MODEL",
    "CLAUDE_API_KEY": "ANTHROPIC_API_KEY",
    "LOCAL_MODEL": "OPENAI_BASE_URL",  # Signoff itself served a model's file once
}

Names = tuple[str, ...]
LISTS = (
    *("disabled_commands", "disabled_categories", "allow_internal_hosts"),
    *("plugin_packages", "allowlisted_plugins", "denylisted_plugins", "plugin_env"),
)
RULES: Mapping[str, Rule] = {**CORE_RULES, **MODEL_RULES, **PLATFORM_RULES}


class CoreSettings(ModelSettings):
    """The operator's settings, except those of the chat platforms."""

    home: Folder = Field(default=Path(".signoff"), validation_alias="signoff_home")
    host: str = Field(default="127.0.0.1", pattern=r"^[A-Za-z0-9._:%-]+$")
    port: int = Field(default=8700, ge=1, le=65535)
    web_token: Secret = NO_SECRET
    public_url: WebAddress = ""
    mcp_token: Secret = NO_SECRET
    mcp_serve: bool = False
    mcp_channel: str = Field(default="general", pattern=r"^[\w.-]{1,80}$")
    database_url: str = Field(default="", repr=False)
    workspace_url: WorkspaceAddress = ""
    workspace_endpoint: WebAddress = ""
    aws_access_key_id: str = ""
    aws_secret_access_key: Secret = NO_SECRET
    aws_session_token: Secret = NO_SECRET
    aws_region: str = ""
    templates_dir: Folder | None = None
    plugin_packages: Names = ()
    plugins_dir: Folder | None = None
    mcp_servers: ToolServers | None = None
    mcp_sign_in_key: Secret = NO_SECRET
    mcp_seconds: int = Field(default=60, ge=1, le=600)
    allowlisted_plugins: Names = ()
    denylisted_plugins: Names = ()
    plugin_classes: ClassesByName = Field(default_factory=dict)
    plugin_python: Path | None = None
    plugin_env: Names = ()
    plugin_seconds: int = Field(default=10, ge=1, le=600)
    plugin_network: Literal["gateway", "open"] = "gateway"
    shutdown_seconds: int = Field(default=20, ge=0, le=600)
    tiktoken_cache_dir: Folder | None = None
    pinecone_api_key: Secret = NO_SECRET
    pinecone_index: str = Field(default="signoff", pattern=r"^[a-z0-9]([a-z0-9-]{0,43}[a-z0-9])?$")
    pinecone_host: HostAddress = ""
    pinecone_controller_host: HostAddress = ""
    brave_api_key: Secret = NO_SECRET
    brave_search_url: WebAddress = ""
    tavily_api_key: Secret = NO_SECRET
    tavily_search_url: WebAddress = ""
    searxng_url: WebAddress = ""
    google_api_key: Secret = NO_SECRET
    google_cse_id: str = Field(default="", pattern=r"^[A-Za-z0-9:_-]*$")
    google_search_url: WebAddress = ""
    allow_search_scraping: bool = False
    default_budget_usd: Decimal | None = Field(default=None, gt=0, allow_inf_nan=False)
    guests_may_create: bool = False
    max_agents_per_channel: int = Field(default=200, ge=1, le=10_000)
    continuous_limit: int | None = Field(default=None, ge=1)
    fold_finished_turns: bool = True
    history_days: int | None = Field(default=None, ge=1, le=36_500)
    audit_days: int | None = Field(default=None, ge=1, le=36_500)
    max_agents_per_person: int = Field(default=50, ge=1, le=10_000)
    execute_local_commands: bool = False
    sandbox: Literal["bubblewrap", "docker"] = "bubblewrap"
    sandbox_image: str = Field(default="python:3.12-slim", pattern=r"^[A-Za-z0-9][A-Za-z0-9._/:@-]*$")
    allow_downloads: bool = False
    allow_internal_hosts: Names = ()
    image_model: str = ""
    audio_model: str = ""
    speech_model: str = ""
    sd_webui_url: WebAddress = ""
    sd_webui_auth: Secret = NO_SECRET
    huggingface_api_token: Secret = NO_SECRET
    huggingface_api_url: WebAddress = ""
    huggingface_image_model: str = ""
    huggingface_audio_model: str = ""
    x_api_key: Secret = NO_SECRET
    x_api_secret: Secret = NO_SECRET
    x_access_token: Secret = NO_SECRET
    x_access_token_secret: Secret = NO_SECRET
    x_api_url: WebAddress = ""
    disabled_commands: Names = ()
    disabled_categories: Names = ()
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = "INFO"
    log_format: Literal["text", "json"] = "text"

    @property
    def has_plugins(self) -> bool:
        """Whether any plugin is configured, also one that cannot be loaded."""
        return bool(self.plugin_packages) or self.plugins_dir is not None

    @property
    def tokenizers(self) -> Path:
        """The folder that is searched for tokenizer files first, before the installed package that contains some."""
        return self.tiktoken_cache_dir or self.home / "tiktoken"

    @property
    def has_google(self) -> bool:
        """Whether the key and the search engine id of Google's API are set."""
        return bool(self.google_api_key and self.google_cse_id)

    @property
    def search_service(self) -> Literal["brave", "tavily", "searxng", "google", "scraping"] | None:
        """What searches the web: the first of these that is set; None if nothing is."""
        if self.brave_api_key:
            return "brave"
        if self.tavily_api_key:
            return "tavily"
        if self.searxng_url:
            return "searxng"
        if self.has_google or self.google_search_url:
            return "google"
        return "scraping" if self.allow_search_scraping else None

    @property
    def has_x(self) -> bool:
        """Whether agents may propose posts on X."""
        return bool(self.x_api_key)

    @property
    def address(self) -> str:
        """The address of the web page for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.public_url or f"http://{host}:{self.port}"

    @property
    def sqlite_file(self) -> Path | None:
        """The database file, or None if the database is not SQLite."""
        return sqlite_file(self.database_url)

    @property
    def workspace_folder(self) -> Path | None:
        """The folder of the agents' files, or None if they are in a bucket."""
        if self.workspace_url.startswith("file://"):
            return Path(self.workspace_url.removeprefix("file://"))
        return None if self.workspace_url else self.home / "workspaces"

    @property
    def shown_workspaces(self) -> str:
        """Where the agents' files are, for display."""
        at = f" at {self.workspace_endpoint}" if self.workspace_endpoint else ""
        return str(self.workspace_folder or f"{self.workspace_url}{at}")

    @property
    def shown_database(self) -> str:
        """The database's address for display: without user, password and options."""
        return without_secrets(self.database_url)

    @property
    def secrets(self) -> Names:
        """Every value that must never be shown; the database's password both percent-encoded and decoded."""
        kept = (value for value in dict(self).values() if isinstance(value, SecretStr))
        written = self.mcp_servers.secrets if self.mcp_servers else ()
        found = (*(secret.get_secret_value() for secret in kept), *passwords(self.database_url), *written)
        return tuple(dict.fromkeys(secret for secret in found if secret))

    @field_validator("database_url")
    @classmethod
    def _database_address(cls, url: str, info: ValidationInfo) -> str:
        return database_address(url) if url else f"sqlite:///{info.data.get('home')}/signoff.db"

    @field_validator(*LISTS, mode="before")
    @classmethod
    def _split(cls, given: object) -> object:
        if not isinstance(given, str):
            return given
        return tuple(name for name in (part.strip() for part in given.split(",")) if name)

    @field_validator("mcp_channel")
    @classmethod
    def _channel(cls, name: str) -> str:
        return name.casefold()

    @field_validator("log_level", "log_format", "prompt_profile", "vision", "sandbox", "plugin_network", mode="before")
    @classmethod
    def _any_case(cls, given: object, info: ValidationInfo) -> object:
        if not isinstance(given, str):
            return given
        return given.strip().upper() if info.field_name == "log_level" else given.strip().lower()


class Settings(AllPlatformSettings, CoreSettings):
    """The operator's settings. Each field has the name of its variable; an empty text means not set.

    The platforms' fields come last, so that their rules can use all other fields.
    """

    @field_validator(*RULES)
    @classmethod
    def _with_the_others(cls, value: object, info: ValidationInfo) -> object:
        if complaint := RULES[str(info.field_name)](value, info.data):
            raise PydanticCustomError(OWN_WORDS, "{complaint}", {"complaint": complaint})
        return value


def load(environ: Mapping[str, str] | None = None, env_file: str | Path | None = ".env") -> Settings:
    """Load the settings of this process; raise SettingsError for the first invalid value or misspelt name in `.env`."""
    surroundings = os.environ if environ is None else environ
    written = {name.upper(): text or "" for name, text in DotEnvSettingsSource(Settings, env_file).env_vars.items()}
    _refuse_misspelt(written, env_file)
    given = {name.lower(): surroundings.get(name, "").strip() or written.get(name, "").strip() for name in VARIABLES}
    try:
        return Settings.model_validate({name: text for name, text in given.items() if text})
    except ValidationError as error:
        raise _told(error) from None


def unread_names(environ: Mapping[str, str] | None = None, env_file: str | Path | None = ".env") -> dict[str, str]:
    """Names that are set and not read, each with the variable that is probably meant and is not set itself.

    These are usual names of other tools, a former one of Signoff's, and misspelt ones of the environment; `load`
    refuses those of `.env`.
    """
    surroundings = os.environ if environ is None else environ
    given = {name for name, text in surroundings.items() if text.strip()}
    written = (name.upper() for name, text in DotEnvSettingsSource(Settings, env_file).env_vars.items() if text)
    meant = {name: USUAL_NAMES.get(name) or _closest(name) for name in sorted(given.union(written))}
    return {name: right for name, right in meant.items() if right and right not in meant}


def unread_text(name: str, right: str) -> str:
    return f"{name} is not read; did you mean {right}?"


def _closest(name: str) -> str:
    """The variable that a misspelt name probably means, or ""."""
    close = difflib.get_close_matches(name, VARIABLES, n=1, cutoff=LIKENESS)
    return close[0] if close and name not in VARIABLES else ""


def _told(error: ValidationError) -> SettingsError:
    fault = error.errors(include_url=False, include_input=False)[0]
    variable = VARIABLES[str(fault["loc"][0]).upper()]
    words = fault["msg"] if fault["type"] == OWN_WORDS else f"must be {variable.rule}."
    return SettingsError(variable.name, words, variable.example)


def _refuse_misspelt(written: Iterable[str], env_file: str | Path | None) -> None:
    for name in written:
        if name not in USUAL_NAMES and (close := _closest(name)):
            right = VARIABLES[close]
            raise SettingsError(right.name, f"is written {name} in {env_file}.", right.example)
