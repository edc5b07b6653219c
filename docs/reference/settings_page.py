"""The text of settings.md and of `.env.example`, from the settings themselves. `make reference` writes them."""

from collections.abc import Iterator
from pathlib import Path

from agent_core.capabilities.declaring import Variable
from bot.settings import VARIABLES

SETTINGS_PAGE = Path(__file__).parent / "settings.md"
EXAMPLE_FILE = Path(__file__).parents[2] / ".env.example"
INTRODUCTION = (
    "Set variables in the environment or in a file `.env` in the working directory. The environment takes precedence, "
    "and an empty value counts as none. The first column has an example below each name. If a value is invalid, "
    "Signoff does not start and prints one line with the variable, the problem and an example. "
    "`python -m bot doctor` shows what is on, what is off, and why."
)
SECTIONS = tuple(dict.fromkeys(variable.section for variable in VARIABLES.values()))
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


def settings_page() -> str:
    """The whole page."""
    lines = ["# Settings", "", INTRODUCTION]
    for section in SECTIONS:
        lines += ["", f"## {section}", "", "| variable | what it is | must be | when not set |", "|---|---|---|---|"]
        for variable in _of(section):
            named = f"`{variable.name}`<br>`{variable.example}`"
            lines.append(f"| {named} | {variable.meaning} | {variable.rule} | {variable.default} |")
    return "\n".join(lines) + "\n"


def _of(section: str) -> Iterator[Variable]:
    return (variable for variable in VARIABLES.values() if variable.section == section)
