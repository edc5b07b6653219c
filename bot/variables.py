"""The documentation of every environment variable. `.env.example` and the reference page are generated from it."""

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
        meaning="The data folder: the database and the agents' files.",
        rule=FOLDER,
        default=".signoff in the working directory",
        example="/var/lib/signoff",
    ),
    runtime(
        name="HOST",
        meaning="The network address the page listens at. Any but 127.0.0.1, localhost and ::1 wants WEB_TOKEN.",
        rule="a host name or an IP address",
        default="127.0.0.1",
        example="0.0.0.0",  # noqa: S104 (an example; it wants WEB_TOKEN)
    ),
    runtime(
        name="PORT",
        meaning="The port the page listens at.",
        rule="a number from 1 to 65535",
        default="8700",
        example="8700",
    ),
    runtime(
        name="WEB_TOKEN",
        meaning="What people type before they see the page. Without it, the page is for this machine, and the address "
        "that `run` prints carries a key.",
        rule=KEY,
        default="none",
        example="choose-16-or-more-characters",
    ),
    runtime(
        name="PUBLIC_URL",
        meaning="The page's address as people type it, when a proxy stands before it. Wants WEB_TOKEN.",
        rule=WEB_ADDRESS,
        default="HOST and PORT",
        example="https://signoff.example.com",
    ),
    runtime(
        name="MCP_SERVE",
        meaning="Whether other programs may make agents, read them and write to them by MCP, at /mcp beside the page. "
        "None of them decides. Wants MCP_TOKEN. `python -m bot mcp` needs neither.",
        rule="true or false",
        default="false",
        example="true",
    ),
    runtime(
        name="MCP_TOKEN",
        meaning="What an MCP client must send as `Authorization: Bearer …`.",
        rule=KEY,
        default="none",
        example="choose-32-or-more-letters-and-digits",
    ),
    runtime(
        name="MCP_CHANNEL",
        meaning="The channel of the local workspace in which MCP clients act. They see no other.",
        rule="1 to 80 letters, digits, hyphens, dots and underscores",
        default="general",
        example="editor",
    ),
    runtime(
        name="DATABASE_URL",
        meaning="The database. With SQLite everything is one process; `web` and `worker` want PostgreSQL.",
        rule="the address of a SQLite file or of a PostgreSQL database",
        default="the SQLite file signoff.db in the data folder",
        example="postgresql://signoff:password@localhost/signoff",
    ),
    runtime(
        name="HISTORY_DAYS",
        meaning="Agents that are stopped, paused or finished for so long are deleted, with their helpers, history, "
        "memory and files. The channel's list and the agent's page say when.",
        rule="a number of days from 1 to 36500",
        default="they are kept for ever",
        example="365",
    ),
    runtime(
        name="AUDIT_DAYS",
        meaning="Entries of the decision log are deleted when they are so old, also those of agents that exist.",
        rule="a number of days from 1 to 36500",
        default="they are kept for ever",
        example="730",
    ),
    runtime(
        name="WORKSPACE_URL",
        meaning="Where the agents' files are: a folder that several machines share, or a bucket of S3 or of a server "
        "with its API. A bucket wants the extra: make extras EXTRAS=s3.",
        rule="the address of a folder (file:///path) or of a bucket (s3://bucket/prefix)",
        default="the folder workspaces in the data folder",
        example="s3://my-bucket/signoff",
    ),
    runtime(
        name="WORKSPACE_ENDPOINT",
        meaning="The server that has the bucket, if it is not Amazon's.",
        rule=WEB_ADDRESS,
        default="AWS_ENDPOINT_URL_S3 of the environment, else Amazon's own",
        example="https://minio.example.com",
    ),
    runtime(
        name="AWS_ACCESS_KEY_ID",
        meaning="The id of the key for the bucket.",
        rule="a text",
        default="the role of the machine, the container or the Kubernetes service account",
        example="your-key-id",
    ),
    runtime(
        name="AWS_SECRET_ACCESS_KEY",
        meaning="The key for the bucket.",
        rule=KEY,
        default="as for AWS_ACCESS_KEY_ID",
        example="your-secret-key",
    ),
    runtime(
        name="AWS_SESSION_TOKEN",
        meaning="The token that a temporary key needs.",
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
        meaning="A folder of your own templates for new agents, one .yaml file each, which forms offer beside those of "
        "Signoff. Read at the start. `doctor` names the files that cannot be used.",
        rule=FOLDER,
        default="none: the templates of Signoff only",
        example="/etc/signoff/templates",
    ),
    runtime(
        name="MCP_SERVERS",
        meaning="A file that names tool servers (MCP), in the form that other clients use: their tools become commands "
        "of agents. Programs that it names run with Signoff's own rights.",
        rule="a file of JSON with an object mcpServers",
        default="none",
        example="/etc/signoff/mcp.json",
    ),
    runtime(
        name="MCP_SIGN_IN_KEY",
        meaning="Encrypts in the database what `sign-in` got from tool servers with oauth. The same for all processes; "
        "with another one, somebody has to sign in again.",
        rule="16 characters or more, without blanks",
        default="none",
        example="choose-16-or-more-characters",
    ),
    runtime(
        name="MCP_SECONDS",
        meaning="How long a call of a tool server may take.",
        rule="a number from 1 to 600",
        default="60",
        example="120",
    ),
    runtime(
        name="SHUTDOWN_SECONDS",
        meaning="How long running commands may go on after SIGTERM or Ctrl-C before they are ended. Let whatever "
        "starts Signoff wait 10 s longer than this.",
        rule="a number from 0 to 600",
        default="20",
        example="60",
    ),
    runtime(
        name="FOLD_FINISHED_TURNS",
        meaning="Whether the card of a finished turn on Slack and Discord becomes one line when the next proposal is "
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
        meaning="The budget of a new agent in US dollars, where the form names none.",
        rule="an amount above 0",
        default="no limit",
        example="5",
    ),
    limit(
        name="GUESTS_MAY_CREATE",
        meaning="Whether guests of a channel may make agents. Their agents ask for each command, and members decide.",
        rule="true or false",
        default="false: only full members make agents",
        example="true",
    ),
    limit(
        name="MAX_AGENTS_PER_CHANNEL",
        meaning="How many agents a channel may have, with their helpers; archived ones do not count.",
        rule="a number from 1 to 10000",
        default="200",
        example="50",
    ),
    limit(
        name="MAX_AGENTS_PER_PERSON",
        meaning="How many agents one person may have in a workspace; helpers and archived ones do not count.",
        rule="a number from 1 to 10000",
        default="50",
        example="10",
    ),
    limit(
        name="CONTINUOUS_LIMIT",
        meaning="The most commands that one approval may let run: by Approve ×N, and by --continuous in a terminal.",
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
        meaning="Families of commands that no agent has.",
        rule="names of categories with commas between them",
        default="none",
        example="files",
    ),
    log(
        name="LOG_LEVEL",
        meaning="What is worth a line in the log.",
        rule="DEBUG, INFO, WARNING, ERROR or CRITICAL",
        default="INFO",
        example="INFO",
    ),
    log(
        name="LOG_FORMAT",
        meaning="How a line of the log is written.",
        rule="text or json",
        default="text",
        example="json",
    ),
)
VARIABLES = {variable.name: variable for variable in TABLE}
SECTIONS = tuple(dict.fromkeys(variable.section for variable in TABLE))


def example_file() -> str:
    """The content of `.env.example`: every variable with an example, all commented out."""
    lines = ["# Copy this file to .env and take the # off the lines you want. Everything works without any of them."]
    for section in SECTIONS:
        lines += ["", f"## {section}"]
        for variable in _of(section):
            lines += ["", f"# {variable.meaning}", f"# Not set: {variable.default}.", f"# {_assignment(variable)}"]
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
    "Set them in the environment or in a file `.env` in the working directory; the environment goes before the file, "
    "and an empty value counts as none. Under each name stands an example. A value that cannot be used stops the "
    "start with one line that names the variable, what is wrong and an example. "
    "`python -m bot doctor` shows what is on, what is off, and why."
)


def _of(section: str) -> tuple[Variable, ...]:
    return tuple(variable for variable in TABLE if variable.section == section)


def _assignment(variable: Variable) -> str:
    quoted = f"'{variable.example}'" if " " in variable.example else variable.example
    return f"{variable.name}={quoted}"
