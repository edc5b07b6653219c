"""Reads the environment and `.env` into one frozen Settings; errors name the variable. Finds misspelt and unread names.

The environment overrides the file. An empty value counts as not set.
"""

import difflib
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import SecretStr, ValidationError
from pydantic_settings import BaseSettings, DotEnvSettingsSource

from agent_core.capabilities.declaring import OWN_WORDS, variables_of
from agent_core.capabilities.files.settings import FileSettings
from agent_core.capabilities.media.settings import MediaSettings
from agent_core.capabilities.memory.settings import MemorySettings
from agent_core.capabilities.models.settings import ModelSettings
from agent_core.capabilities.plugins.settings import PluginSettings
from agent_core.capabilities.posts.settings import PostSettings
from agent_core.capabilities.programs.settings import ProgramSettings
from agent_core.capabilities.setting_types import LOOPBACK, passwords, sqlite_file, without_secrets
from agent_core.capabilities.tool_servers.settings import ToolServerSettings
from agent_core.capabilities.web.settings import WebSettings
from agent_core.errors import SettingsError
from bot.platforms.discord.settings import DiscordSettings
from bot.platforms.slack.settings import SlackSettings
from bot.running_settings import OPEN_HOST, UNGUARDED, LimitSettings, LogSettings, SignInSettings

FILE = "_FILE"  # behind the name of a variable: its text is in that file
OTEL_LIKENESS = 0.9  # its own names are like one another
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


class Settings(
    LogSettings,
    LimitSettings,
    PluginSettings,
    ToolServerSettings,
    PostSettings,
    MediaSettings,
    ProgramSettings,
    DiscordSettings,
    SlackSettings,
    WebSettings,
    MemorySettings,
    ModelSettings,
    FileSettings,
    SignInSettings,
):
    """The operator's settings. Each field has the name of its variable; an empty text means not set.

    The last group comes first in the reference and is checked first.
    """

    @property
    def tokenizers(self) -> Path:
        """The folder that is searched for tokenizer files first, before the installed package that contains some."""
        return self.tiktoken_cache_dir or self.home / "tiktoken"

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
    def secrets(self) -> tuple[str, ...]:
        """Every value that must never be shown; the database's password both percent-encoded and decoded."""
        kept = (value for value in dict(self).values() if isinstance(value, SecretStr))
        written = self.mcp_servers.secrets if self.mcp_servers else ()
        found = (*(secret.get_secret_value() for secret in kept), *passwords(self.database_url), *written)
        return tuple(dict.fromkeys(secret for secret in found if secret))


VARIABLES = variables_of(Settings)


def load(
    environ: Mapping[str, str] | None = None, env_file: str | Path | None = ".env", *, has_page: bool = True
) -> Settings:
    """Load the settings of this process; raise SettingsError for the first invalid value or misspelt name in `.env`.

    `has_page`: the process may serve pages, so that these must not be open to everybody.
    """
    surroundings = os.environ if environ is None else environ
    written = written_variables(env_file)
    _refuse_misspelt(written, env_file)
    given = {name.lower(): _given(name, surroundings, written) for name in VARIABLES}
    try:
        settings = Settings.model_validate({name: text for name, text in given.items() if text})
    except ValidationError as error:
        raise _told(error) from None
    if has_page and not (settings.web_token or settings.oidc_issuer):
        _refuse_open_page(settings)
    return settings


def digest(settings: Settings) -> str:
    """The same for the same settings, so that two processes can be compared. Secrets only count as set or not set.

    Ports do not count: two processes of one machine cannot share them.
    """
    values = {name: value for name, value in dict(settings).items() if name not in ("port", "probe_port")}
    told = {name: bool(value) if isinstance(value, SecretStr) else str(value) for name, value in values.items()}
    told |= {"database_url": settings.shown_database, "mcp_servers": bool(settings.mcp_servers)}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]


def wanted_log_format() -> Literal["text", "json"]:
    """LOG_FORMAT as it is written, also where other settings are wrong."""
    with suppress(SettingsError):
        written = {**written_variables(".env"), **os.environ}
        return "json" if written.get("LOG_FORMAT", "").strip().lower() == "json" else "text"
    return "text"


def _given(name: str, surroundings: Mapping[str, str], written: Mapping[str, str]) -> str:
    """The text of a variable: its own, or that of the file which NAME_FILE names, as managers of secrets have it."""
    text, file = (surroundings.get(each, "").strip() or written.get(each, "").strip() for each in (name, name + FILE))
    if not file:
        return text
    if text:
        raise SettingsError(name + FILE, f"is set beside {name}: set one of the two.")
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as fault:  # the error would repeat what may be the secret itself
        why = fault.strerror if isinstance(fault, OSError) else "it is not UTF-8 text"
        raise SettingsError(name + FILE, f"names a file that cannot be read ({why}).") from None


def unread_names(environ: Mapping[str, str] | None = None, env_file: str | Path | None = ".env") -> dict[str, str]:
    """Names that are set and not read, each with the variable that is probably meant and is not set itself.

    These are usual names of other tools, a former one of Signoff's, and misspelt ones of the environment; `load`
    refuses those of `.env`.
    """
    surroundings = os.environ if environ is None else environ
    given = {name for name, text in surroundings.items() if text.strip()}
    given.update(name for name, text in written_variables(env_file).items() if text)
    meant = {name: USUAL_NAMES.get(name) or _closest(name) or _closest_of_otel(name) for name in sorted(given)}
    return {name: right for name, right in meant.items() if right and right not in meant}


def unread_text(name: str, right: str) -> str:
    return f"{name} is not read; did you mean {right}?"


def written_variables(env_file: str | Path | None) -> dict[str, str]:
    """The variables of the file, by name in capitals: one without a text is left out, and hides no other spelling.

    Raise SettingsError if the file is not UTF-8.
    """
    try:
        source = DotEnvSettingsSource(BaseSettings, env_file, env_file_encoding="utf-8-sig", env_ignore_empty=True)
    except UnicodeDecodeError:
        raise SettingsError(str(env_file), "is not UTF-8 text; save it as UTF-8.") from None
    return {name.upper(): text or "" for name, text in source.env_vars.items()}


def _closest(name: str) -> str:
    """The variable that a misspelt name probably means, or ""."""
    close = difflib.get_close_matches(name, VARIABLES, n=1, cutoff=LIKENESS)
    return close[0] if close and name.removesuffix(FILE) not in VARIABLES else ""


def otel_names() -> frozenset[str]:
    """The names that OpenTelemetry's SDK reads; none where it is not installed."""
    try:
        from opentelemetry import environment_variables as of_interface  # an extra
        from opentelemetry.sdk import environment_variables as of_sdk
    except ImportError:
        return frozenset()
    return frozenset(map(str, (*vars(of_interface).values(), *vars(of_sdk).values())))


def _closest_of_otel(name: str) -> str:
    known = otel_names() if name.startswith("OTEL_") else frozenset()
    close = [] if name in known else difflib.get_close_matches(name, known, n=1, cutoff=OTEL_LIKENESS)
    return close[0] if close else ""


def _told(error: ValidationError) -> SettingsError:
    fault = error.errors(include_url=False, include_input=False)[0]
    field = fault["loc"][0] if fault["loc"] else fault["ctx"]["field"]  # a check of several fields has no place
    variable = VARIABLES[str(field).upper()]
    words = fault["msg"] if fault["type"] == OWN_WORDS else f"must be {variable.rule}."
    return SettingsError(variable.name, words, variable.example)


def _refuse_open_page(settings: Settings) -> None:
    if settings.host not in LOOPBACK:
        raise SettingsError("WEB_TOKEN", OPEN_HOST, VARIABLES["WEB_TOKEN"].example)
    if urlsplit(settings.public_url).hostname not in (None, *LOOPBACK):
        raise SettingsError("PUBLIC_URL", UNGUARDED, VARIABLES["PUBLIC_URL"].example)


def _refuse_misspelt(written: Iterable[str], env_file: str | Path | None) -> None:
    for name in written:
        if name not in USUAL_NAMES and (close := _closest(name)):
            right = VARIABLES[close]
            raise SettingsError(right.name, f"is written {name} in {env_file}.", right.example)
