"""The documentation of every environment variable: the reference page is generated from it, and `.env.example`."""

from functools import partial

from bot.model_variables import MINDS
from bot.platforms.all_settings import PLATFORM_VARIABLES
from bot.plugin_variables import PLUGINS
from bot.tool_variables import TOOLS
from bot.variable_doc import FOLDER, KEY, WEB_ADDRESS, Variable

runtime = partial(Variable, section="Where it runs")
limit = partial(Variable, section="What agents may do")
log = partial(Variable, section="What is logged")
TABLE = (
    runtime(
        name="SIGNOFF_HOME",
        meaning="The data folder. It holds the database and the agents' files.",
        rule=FOLDER,
        default=".signoff in the working directory",
        example="/var/lib/signoff",
    ),
    runtime(
        name="HOST",
        meaning="The network address that the page listens on. Any address other than localhost requires WEB_TOKEN.",
        rule="a host name or an IP address",
        default="127.0.0.1",
        example="0.0.0.0",  # noqa: S104 (an example; it requires WEB_TOKEN)
    ),
    runtime(
        name="PORT",
        meaning="The port that the page listens on.",
        rule="a number from 1 to 65535",
        default="8700",
        example="8700",
    ),
    runtime(
        name="WEB_TOKEN",
        meaning="People enter this token before they see the page. Without it, only this machine can open the page, "
        "with the key in the address that `run` prints.",
        rule=KEY,
        default="none",
        example="choose-16-or-more-characters",
    ),
    runtime(
        name="PUBLIC_URL",
        meaning="The page's address as people type it, if a proxy is in front of it. Requires WEB_TOKEN.",
        rule=WEB_ADDRESS,
        default="HOST and PORT",
        example="https://signoff.example.com",
    ),
    runtime(
        name="MCP_SERVE",
        meaning="Other programs may make agents, read them and write to them by MCP, at /mcp beside the page. They "
        "never decide. Requires MCP_TOKEN. `python -m bot mcp` needs neither.",
        rule="true or false",
        default="false",
        example="true",
    ),
    runtime(
        name="MCP_TOKEN",
        meaning="MCP clients send it as `Authorization: Bearer …`.",
        rule=KEY,
        default="none",
        example="choose-32-or-more-letters-and-digits",
    ),
    runtime(
        name="MCP_CHANNEL",
        meaning="MCP clients act in this channel of the local workspace and see no other.",
        rule="1 to 80 letters, digits, hyphens, dots and underscores",
        default="general",
        example="editor",
    ),
    runtime(
        name="DATABASE_URL",
        meaning="The database. SQLite allows one process; `web` and `worker` require PostgreSQL.",
        rule="the address of a SQLite file or of a PostgreSQL database",
        default="the SQLite file signoff.db in the data folder",
        example="postgresql://signoff:password@localhost/signoff",
    ),
    runtime(
        name="HISTORY_DAYS",
        meaning="Signoff deletes an agent after this many days of being stopped, paused or finished, with its "
        "helpers, history, memory and files. The channel's list and the agent's page show the date.",
        rule="a number of days from 1 to 36500",
        default="agents are kept for ever",
        example="365",
    ),
    runtime(
        name="AUDIT_DAYS",
        meaning="Signoff deletes entries of the decision log after this many days, also those of agents that still "
        "exist.",
        rule="a number of days from 1 to 36500",
        default="entries are kept for ever",
        example="730",
    ),
    runtime(
        name="WORKSPACE_URL",
        meaning="The agents' files: a folder that several machines share, or a bucket of S3 or of a server with its "
        "API. A bucket requires an extra: make extras EXTRAS=s3.",
        rule="the address of a folder (file:///path) or of a bucket (s3://bucket/prefix)",
        default="the folder workspaces in the data folder",
        example="s3://my-bucket/signoff",
    ),
    runtime(
        name="WORKSPACE_ENDPOINT",
        meaning="The server of the bucket, if it is not Amazon's.",
        rule=WEB_ADDRESS,
        default="AWS_ENDPOINT_URL_S3 of the environment, else Amazon's own",
        example="https://minio.example.com",
    ),
    runtime(
        name="AWS_ACCESS_KEY_ID",
        meaning="The id of the bucket's key.",
        rule="a text",
        default="the role of the machine, the container or the Kubernetes service account",
        example="your-key-id",
    ),
    runtime(
        name="AWS_SECRET_ACCESS_KEY",
        meaning="The secret of the bucket's key.",
        rule=KEY,
        default="as for AWS_ACCESS_KEY_ID",
        example="your-secret-key",
    ),
    runtime(
        name="AWS_SESSION_TOKEN",
        meaning="The token of a temporary key.",
        rule=KEY,
        default="none",
        example="your-session-token",
    ),
    runtime(
        name="AWS_REGION",
        meaning="The region of the bucket.",
        rule="a text",
        default="AWS_DEFAULT_REGION of the environment, else us-east-1",
        example="eu-central-1",
    ),
    runtime(
        name="TEMPLATES_DIR",
        meaning="A folder with your own templates for new agents, one .yaml file each. Forms offer them beside "
        "Signoff's. Signoff reads it at the start; `doctor` names the files that it cannot use.",
        rule=FOLDER,
        default="only Signoff's templates",
        example="/etc/signoff/templates",
    ),
    runtime(
        name="MCP_SERVERS",
        meaning="A file that lists tool servers (MCP) in the form that other clients use. Their tools become commands "
        "of agents. Programs in this file run with Signoff's own rights.",
        rule="a file of JSON with an object mcpServers",
        default="none",
        example="/etc/signoff/mcp.json",
    ),
    runtime(
        name="MCP_SIGN_IN_KEY",
        meaning="Encrypts the tokens from `sign-in` at tool servers with oauth. All processes need the same key; "
        "after a change, sign in again.",
        rule="16 characters or more, without blanks",
        default="none",
        example="choose-16-or-more-characters",
    ),
    runtime(
        name="MCP_SECONDS",
        meaning="The most seconds that a call of a tool server may take.",
        rule="a number from 1 to 600",
        default="60",
        example="120",
    ),
    runtime(
        name="SHUTDOWN_SECONDS",
        meaning="Running commands may continue for this many seconds after SIGTERM or Ctrl-C. Let your service "
        "manager wait 10 s longer.",
        rule="a number from 0 to 600",
        default="20",
        example="60",
    ),
    runtime(
        name="FOLD_FINISHED_TURNS",
        meaning="On Slack and Discord, the card of a finished turn becomes one line when the next proposal is "
        "decided. Show all still shows everything.",
        rule="true or false",
        default="true",
        example="false",
    ),
    *MINDS,
    *PLATFORM_VARIABLES,
    *TOOLS,
    *PLUGINS,
    limit(
        name="DEFAULT_BUDGET_USD",
        meaning="The budget of a new agent in US dollars, if the form names none.",
        rule="an amount above 0",
        default="no limit",
        example="5",
    ),
    limit(
        name="GUESTS_MAY_CREATE",
        meaning="Guests of a channel may make agents. These agents ask before each command, and members decide.",
        rule="true or false",
        default="false: only full members make agents",
        example="true",
    ),
    limit(
        name="MAX_AGENTS_PER_CHANNEL",
        meaning="The most agents in a channel, helpers included. Archived agents do not count.",
        rule="a number from 1 to 10000",
        default="200",
        example="50",
    ),
    limit(
        name="MAX_AGENTS_PER_PERSON",
        meaning="The most agents of one person in a workspace. Helpers and archived agents do not count.",
        rule="a number from 1 to 10000",
        default="50",
        example="10",
    ),
    limit(
        name="CONTINUOUS_LIMIT",
        meaning="The most commands that one approval can cover, by Approve ×N or by --continuous in a terminal.",
        rule="a number from 1",
        default="no limit for --continuous, 50 for Approve ×N",
        example="20",
    ),
    limit(
        name="DISABLED_COMMANDS",
        meaning="Commands that no agent has.",
        rule="names of commands with commas between them",
        default="none",
        example="delete_file,append_to_file",
    ),
    limit(
        name="DISABLED_CATEGORIES",
        meaning="Categories of commands that no agent has.",
        rule="names of categories with commas between them",
        default="none",
        example="files",
    ),
    log(
        name="LOG_LEVEL",
        meaning="The lowest level that is logged.",
        rule="DEBUG, INFO, WARNING, ERROR or CRITICAL",
        default="INFO",
        example="INFO",
    ),
    log(
        name="LOG_FORMAT",
        meaning="The form of a line in the log.",
        rule="text or json",
        default="text",
        example="json",
    ),
)
VARIABLES = {variable.name: variable for variable in TABLE}
SECTIONS = tuple(dict.fromkeys(variable.section for variable in TABLE))
# What people set on the first day, and all that `.env.example` offers.
FIRST_DAY = (
    *("SIGNOFF_HOME", "HOST", "PORT", "WEB_TOKEN", "DATABASE_URL"),
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "SMART_MODEL"),
    *("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "DISCORD_TOKEN"),
    *("EXECUTE_LOCAL_COMMANDS", "DEFAULT_BUDGET_USD", "MAX_AGENTS_PER_CHANNEL"),
)


def example_file() -> str:
    """The content of `.env.example`: the variables of the first day with an example, all commented out."""
    lines = ["# Copy this file to .env and remove the # from what you set. All settings: docs/reference/settings.md"]
    for section in SECTIONS:
        offered = [variable for variable in _of(section) if variable.name in FIRST_DAY]
        lines += ["", f"## {section}"] if offered else []
        for variable in offered:
            lines += ["", f"# {variable.meaning} Default: {variable.default}.", f"# {variable.name}={variable.example}"]
    return "\n".join(lines) + "\n"


def reference() -> str:
    lines = ["# Settings", "", INTRODUCTION]
    for section in SECTIONS:
        lines += ["", f"## {section}", "", "| variable | what it is | must be | when not set |", "|---|---|---|---|"]
        for variable in _of(section):
            named = f"`{variable.name}`<br>`{variable.example}`"
            lines.append(f"| {named} | {variable.meaning} | {variable.rule} | {variable.default} |")
    return "\n".join(lines) + "\n"


INTRODUCTION = (
    "Set variables in the environment or in a file `.env` in the working directory. The environment takes precedence, "
    "and an empty value counts as none. The first column has an example below each name. If a value is invalid, "
    "Signoff does not start and prints one line with the variable, the problem and an example. "
    "`python -m bot doctor` shows what is on, what is off, and why."
)


def _of(section: str) -> tuple[Variable, ...]:
    return tuple(variable for variable in TABLE if variable.section == section)
