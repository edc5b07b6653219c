"""The settings of the process, of what agents may do, and of the log."""

from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from adapters.web.urls import is_private
from agent_core.capabilities.declaring import Rule, SettingsGroup, needs_beside, needs_extra, refuse_if, setting
from agent_core.capabilities.setting_types import (
    LOWER_CASE,
    UPPER_CASE,
    Classes,
    Folder,
    Names,
    Secret,
    WebAddress,
    database_address,
    default_home,
)

TOKEN_LENGTH = 16
MCP_TOKEN_LENGTH = 32
TOO_SHORT = "must have at least 16 characters, or others could guess it."
OPEN_HOST = "must be set, with 16 characters or more, or OIDC_ISSUER: HOST opens the page to others."
UNGUARDED = "opens the page to others, so WEB_TOKEN or OIDC_ISSUER must be set too."
BOTH_RIGHTS = "must differ from WEB_TOKEN, with which one may approve: whoever reads metrics gets this one."
UNSAFE_ISSUER = "must begin with https://, or anybody on the network could sign in as anybody."
NO_WAY_BACK = "needs PUBLIC_URL beside it, the https address of the page: the provider sends people back there."
UNGUARDED_MCP = "needs MCP_TOKEN beside it, of 32 characters or more, which clients must send."

AgentCount = Annotated[int, Field(ge=1, le=10_000)]
Days = Annotated[int, Field(ge=1, le=36_500), Rule("a number of days from 1 to 36500")]


class RunningSettings(SettingsGroup):
    """Where the process keeps its data and listens, who may reach it, and how it ends."""

    title: ClassVar[str] = "Where it runs"

    home: Folder = setting(
        default_home(),
        "The data folder. It holds the database and the agents' files.",
        unset=".signoff in the working directory of a clone; of an installed package, the account's folder for data",
        example="/var/lib/signoff",
        validation_alias="signoff_home",
    )
    host: str = setting(
        "127.0.0.1",
        "The network address that the page listens on, and a worker with PROBE_PORT. For a page, any address other "
        "than localhost requires WEB_TOKEN or OIDC_ISSUER.",
        rule="a host name or an IP address",
        example="0.0.0.0",  # noqa: S104 (an example; it requires WEB_TOKEN)
        pattern=r"^[A-Za-z0-9._:%-]+$",
    )
    port: int = setting(8700, "The port that the page listens on.", ge=1, le=65535)
    probe_port: Annotated[int, Field(ge=1, le=65535)] | None = setting(
        None,
        "The port on which a worker answers `/livez`, `/readyz` and `/metrics`. `web` and `run` answer them beside the "
        "page.",
        rule="a number from 1 to 65535",
        unset="a worker listens on no port",
        example="8701",
    )
    web_token: Secret = setting(
        "",
        "Who opens the page enters this token first; for a team, see OIDC_ISSUER, with which the token is for programs "
        "alone. Without either, only this machine can open the page, with the key in the address that `run` prints.",
        example="choose-16-or-more-characters",
    )
    metrics_token: Secret = setting(
        "",
        "Prometheus sends it as `Authorization: Bearer …` for `/metrics`. It opens nothing else, and "
        "is not WEB_TOKEN. Workers have `/metrics` on PROBE_PORT only with it.",
        unset="`/metrics` of `web` and `run` wants what opens the page",
        example="another-16-or-more-characters",
    )
    public_url: WebAddress = setting(
        "",
        "The page's address as people type it, if a proxy is in front of it. Requires WEB_TOKEN or OIDC_ISSUER.",
        unset="HOST and PORT",
        example="https://signoff.example.com",
    )
    mcp_serve: bool = setting(
        False,
        "Other programs may make agents, read them and write to them by MCP, at /mcp beside the page. They never "
        "decide. Requires MCP_TOKEN and the extra mcp. `signoff mcp` needs the extra alone.",
    )
    mcp_token: Secret = setting(
        "", "MCP clients send it as `Authorization: Bearer …`.", example="choose-32-or-more-letters-and-digits"
    )
    mcp_channel: str = setting(
        "general",
        "MCP clients act in this channel of the local workspace and see no other.",
        rule="1 to 80 letters, digits, hyphens, dots and underscores",
        example="editor",
        pattern=r"^[\w.-]{1,80}$",
    )
    database_url: str = setting(
        "",
        "The database. SQLite allows one process; `web` and `worker` require PostgreSQL (extra postgres).",
        rule="the address of a SQLite file or of a PostgreSQL database",
        unset="the SQLite file signoff.db in the data folder",
        example="postgresql://signoff:password@localhost/signoff",
        repr=False,
    )
    history_days: Days | None = setting(
        None,
        "Signoff deletes an agent after this many days of being stopped, paused or finished, with its helpers, "
        "history, memory and files. The channel's list and the agent's page show the date.",
        unset="agents are kept for ever",
        example="365",
    )
    schedule_late_hours: Annotated[int, Field(ge=0, le=720)] = setting(
        24,
        "A run of a schedule that was due while Signoff did not run begins at its start, if it is at most this many "
        "hours late. A later one is left out, and the thread says so.",
        example="4",
    )
    audit_days: Days | None = setting(
        None,
        "Signoff deletes entries of the decision log after this many days, also those of agents that still exist.",
        unset="entries are kept for ever",
        example="730",
    )
    templates_dir: Folder | None = setting(
        None,
        "A folder with your own templates for new agents, one .yaml file each. Forms offer them beside Signoff's. "
        "Signoff reads it at the start; `doctor` names the files that it cannot use.",
        unset="only Signoff's templates",
        example="/etc/signoff/templates",
    )
    shutdown_seconds: Annotated[int, Field(ge=0, le=600)] = setting(
        20,
        "Running commands may continue for this many seconds after SIGTERM or Ctrl-C. Let your service manager wait "
        "10 s longer.",
        example="60",
    )
    fold_finished_turns: bool = setting(
        True,
        "On Slack and Discord, the card of a finished turn becomes one line when the next proposal is decided. Show "
        "all still shows everything.",
    )

    @property
    def address(self) -> str:
        """The address of the web page for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.public_url or f"http://{host}:{self.port}"

    @field_validator("database_url")
    @classmethod
    def _database_address(cls, url: str, info: ValidationInfo) -> str:
        return database_address(url) if url else f"sqlite:///{info.data.get('home')}/signoff.db"

    @field_validator("mcp_channel")
    @classmethod
    def _channel(cls, name: str) -> str:
        return name.casefold()

    def check(self) -> None:
        refuse_if(self.mcp_serve and len(self.mcp_token) < MCP_TOKEN_LENGTH, "mcp_serve", UNGUARDED_MCP)
        needs_extra(self.mcp_serve, "mcp_serve", "mcp", "mcp")
        needs_extra(self.database_url.startswith("postgres"), "database_url", "psycopg", "postgres")


class SignInSettings(RunningSettings):
    """The provider of the accounts with which people sign in to the page, and who of them may come in."""

    title: ClassVar[str] = "Signing in to the page"

    oidc_issuer: WebAddress = setting(
        "",
        "People sign in to the page with their accounts at this provider (OpenID Connect). Then WEB_TOKEN and the key "
        "of the page's address open no page.",
        example="https://id.example.com/realms/team",
    )
    oidc_client_id: Annotated[str, Rule("the id that the provider gave")] = setting(
        "", "Signoff's id at the provider.", example="signoff"
    )
    oidc_client_secret: Secret = setting(
        "", "Signoff's secret at the provider. A new one signs everybody out.", example="what-the-provider-shows"
    )
    oidc_groups: Names = setting(
        (),
        "Only members of these groups may come in.",
        unset="everybody who has an account at the provider",
        example="signoff,ops",
    )
    oidc_groups_claim: Annotated[str, Rule("the name of a claim")] = setting(
        "groups", "The claim in which the provider names a person's groups.", example="roles"
    )

    def check(self) -> None:
        needs_beside(self, "oidc_client_id", "oidc_issuer")
        needs_beside(self, "oidc_client_secret", "oidc_issuer")
        needs_beside(self, "oidc_groups", "oidc_issuer")
        needs_beside(self, "oidc_issuer", "oidc_client_id")
        needs_beside(self, "oidc_issuer", "oidc_client_secret")
        if self.oidc_issuer:
            refuse_if(not is_private(self.oidc_issuer), "oidc_issuer", UNSAFE_ISSUER)
            refuse_if(not is_private(self.address), "oidc_issuer", NO_WAY_BACK)
        for name, token in (("web_token", self.web_token), ("metrics_token", self.metrics_token)):
            refuse_if(token and len(token) < TOKEN_LENGTH, name, TOO_SHORT)
        refuse_if(self.metrics_token and self.metrics_token == self.web_token, "metrics_token", BOTH_RIGHTS)


class LimitSettings(SettingsGroup):
    """How much agents may spend and do, how many there may be, and the commands that none has."""

    title: ClassVar[str] = "What agents may do"

    default_budget_usd: Decimal | None = setting(
        None,
        "The budget of a new agent in US dollars, if the form names none.",
        rule="an amount above 0",
        unset="no limit",
        example="5",
        gt=0,
        allow_inf_nan=False,
    )
    guests_may_create: bool = setting(
        False,
        "Guests of a channel may make agents. These agents ask before each command, and members decide.",
        unset="false: only full members make agents",
    )
    max_agents_per_channel: AgentCount = setting(
        200, "The most agents in a channel, helpers included. Archived agents do not count.", example="50"
    )
    max_agents_per_person: AgentCount = setting(
        50, "The most agents of one person in a workspace. Helpers and archived agents do not count.", example="10"
    )
    continuous_limit: int | None = setting(
        None,
        "The most commands that one approval can cover, by Approve ×N or by --continuous in a terminal.",
        unset="no limit for --continuous, 50 for Approve ×N",
        example="20",
        ge=1,
    )
    two_people: Classes = setting(
        (),
        "Classes of commands that two people approve, in every channel. A policy can add others.",
        unset="none: one person approves",
        example="execute,publish",
    )
    disabled_commands: Names = setting((), "Commands that no agent has.", example="delete_file,append_to_file")
    disabled_categories: Names = setting((), "Categories of commands that no agent has.", example="files")


class LogSettings(SettingsGroup):
    """Which lines are logged, and in what form."""

    title: ClassVar[str] = "What is logged"

    log_level: Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], UPPER_CASE] = setting(
        "INFO", "The lowest level that is logged."
    )
    log_format: Annotated[Literal["text", "json"], LOWER_CASE] = setting(
        "text", "The form of a line in the log.", example="json"
    )
