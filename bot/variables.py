"""Every variable an operator may set, in words. `.env.example` and the reference page are made of this table."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """`rule` completes "must be …"; `default` says what holds when it is not set."""

    name: str
    section: str
    meaning: str
    rule: str
    default: str
    example: str


WHERE, MODEL, SLACK = "Where it runs", "The language model", "Slack"
LIMITS, LOGS = "What agents may do", "What is logged"
TABLE = (
    Variable(
        name="SIGNOFF_HOME",
        section=WHERE,
        meaning="The data folder: the database and the agents' files.",
        rule="a folder, or a path where one can be made, without a question mark",
        default=".signoff in the working directory",
        example="/var/lib/signoff",
    ),
    Variable(
        name="HOST",
        section=WHERE,
        meaning="The network address the page listens at. Any but 127.0.0.1, localhost and ::1 wants WEB_TOKEN.",
        rule="a host name or an IP address",
        default="127.0.0.1",
        example="0.0.0.0",  # noqa: S104 (an example; it wants WEB_TOKEN)
    ),
    Variable(
        name="PORT",
        section=WHERE,
        meaning="The port the page listens at.",
        rule="a number from 1 to 65535",
        default="8700",
        example="8700",
    ),
    Variable(
        name="WEB_TOKEN",
        section=WHERE,
        meaning="What a browser must show before it sees the page.",
        rule="one word of letters, digits and signs",
        default="none: whoever can reach the page may use it",
        example="choose-16-or-more-characters",
    ),
    Variable(
        name="PUBLIC_URL",
        section=WHERE,
        meaning="The page's address as people type it, when a proxy stands before it. Wants WEB_TOKEN.",
        rule="an http or https address without a user, a query or a fragment",
        default="HOST and PORT",
        example="https://signoff.example.com",
    ),
    Variable(
        name="DATABASE_URL",
        section=WHERE,
        meaning="The database. With SQLite everything is one process; `web` and `worker` want PostgreSQL.",
        rule="the address of a SQLite file or of a PostgreSQL database",
        default="the SQLite file signoff.db in the data folder",
        example="postgresql://signoff:password@localhost/signoff",
    ),
    Variable(
        name="OPENAI_API_KEY",
        section=MODEL,
        meaning="The key for the endpoint. Without OPENAI_BASE_URL that is OpenAI's own.",
        rule="one word of letters, digits and signs",
        default="none: without OPENAI_BASE_URL as well, the rehearsal model answers, which is scripted",
        example="sk-your-key",
    ),
    Variable(
        name="OPENAI_BASE_URL",
        section=MODEL,
        meaning="An endpoint that speaks OpenAI's chat completions. One on your own machine needs no key.",
        rule="an http or https address without a user, a query or a fragment",
        default="OpenAI's own, when there is a key",
        example="http://127.0.0.1:11434/v1",
    ),
    Variable(
        name="SMART_MODEL",
        section=MODEL,
        meaning="The model that decides what an agent does next.",
        rule="the name of a model of the endpoint",
        default="the endpoint's only model, else a current one of OpenAI's",
        example="gpt-5.4-mini",
    ),
    Variable(
        name="TEMPERATURE",
        section=MODEL,
        meaning="How freely the model answers.",
        rule="a number from 0 to 2",
        default="the endpoint's own",
        example="0.2",
    ),
    Variable(
        name="MODEL_PRICES",
        section=MODEL,
        meaning="Your own prices: model → US dollars per million prompt tokens and per million completion tokens.",
        rule="a JSON object that gives each model two amounts: prompt and completion",
        default="a list of public prices; a model on your own machine is free",
        example='{"my-model": [0.25, 2]}',
    ),
    Variable(
        name="SLACK_BOT_TOKEN",
        section=SLACK,
        meaning="The bot token of the Slack app, for one workspace.",
        rule="a token that begins with xoxb-",
        default="Slack is off, unless SLACK_CLIENT_ID is set",
        example="xoxb-your-bot-token",
    ),
    Variable(
        name="SLACK_APP_TOKEN",
        section=SLACK,
        meaning="The app-level token for Socket Mode, which needs no public address.",
        rule="a token that begins with xapp-",
        default="Slack comes by HTTP, checked with SLACK_SIGNING_SECRET",
        example="xapp-your-app-token",
    ),
    Variable(
        name="SLACK_SIGNING_SECRET",
        section=SLACK,
        meaning="What Slack signs its requests with, where they come to /slack/events by HTTP.",
        rule="the signing secret of the app",
        default="Slack comes by Socket Mode",
        example="0123456789abcdef0123456789abcdef",
    ),
    Variable(
        name="SLACK_CLIENT_ID",
        section=SLACK,
        meaning="The app's client id: people install it in any number of workspaces at /slack/install.",
        rule="two numbers with a point between them",
        default="one workspace, by SLACK_BOT_TOKEN",
        example="1234567890.1234567890",
    ),
    Variable(
        name="SLACK_CLIENT_SECRET",
        section=SLACK,
        meaning="The app's client secret. The tokens of installations are sealed with it in the database.",
        rule="the client secret of the app",
        default="one workspace, by SLACK_BOT_TOKEN",
        example="0123456789abcdef0123456789abcdef",
    ),
    Variable(
        name="SLACK_API_URL",
        section=SLACK,
        meaning="Another address of Slack's API: that of a proxy, or of Slack for government.",
        rule="an http or https address without a user, a query or a fragment",
        default="https://slack.com/api",
        example="https://slack-gov.com/api",
    ),
    Variable(
        name="DEFAULT_BUDGET_USD",
        section=LIMITS,
        meaning="The budget of a new agent in US dollars, where the form names none.",
        rule="an amount above 0",
        default="no limit",
        example="5",
    ),
    Variable(
        name="DISABLED_COMMANDS",
        section=LIMITS,
        meaning="Commands that no agent has.",
        rule="names of commands with commas between them",
        default="none",
        example="delete_file,append_to_file",
    ),
    Variable(
        name="DISABLED_CATEGORIES",
        section=LIMITS,
        meaning="Families of commands that no agent has.",
        rule="names of categories with commas between them",
        default="none",
        example="files",
    ),
    Variable(
        name="LOG_LEVEL",
        section=LOGS,
        meaning="What is worth a line in the log.",
        rule="DEBUG, INFO, WARNING, ERROR or CRITICAL",
        default="INFO",
        example="INFO",
    ),
    Variable(
        name="LOG_FORMAT",
        section=LOGS,
        meaning="How a line of the log is written.",
        rule="text or json",
        default="text",
        example="json",
    ),
)
VARIABLES = {variable.name: variable for variable in TABLE}
SECTIONS = tuple(dict.fromkeys(variable.section for variable in TABLE))


def example_file() -> str:
    """The content of `.env.example`: every variable with its example, none of them set."""
    lines = ["# Copy this file to .env and take the # off the lines you want. Everything works without any of them."]
    for section in SECTIONS:
        lines += ["", f"## {section}"]
        for variable in _of(section):
            lines += ["", f"# {variable.meaning}", f"# Not set: {variable.default}.", f"# {_assignment(variable)}"]
    return "\n".join(lines) + "\n"


def reference() -> str:
    """The content of `docs/reference/settings.md`."""
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
