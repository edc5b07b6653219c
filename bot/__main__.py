"""The command line: loads the settings and runs one command, such as run, solo or doctor."""

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Mapping, Sequence

from agent_core.errors import SettingsError
from bot import settings as settings_module
from bot.findings.mcp_clients import how_to_connect
from bot.logs import Format, Redacting, configure
from bot.private_files import close_new_files
from bot.release import release
from bot.settings import Settings

logger = logging.getLogger("bot")  # `__name__` is `__main__`

COMMANDS = {
    "run": "everything in one process: the local workspace and the worker",
    "web": "only the web pages (needs PostgreSQL)",
    "worker": "only the worker (needs PostgreSQL)",
    "solo": "one agent in this terminal",
    "mcp": "an MCP server on standard input and output, for another program",
    "sign-in": "sign in at a tool server whose entry says oauth: sign-in NAME",
    "sign-out": "forget the sign-in at a tool server: sign-out NAME",
    "migrate": "bring the database up to date",
    "export": "write everything to one file: a backup, or to move to another database",
    "backup": "the same as export, by the name of its most frequent use",
    "import": "restore an export into an empty database",
    "audit": "check the decision log for changes, or export it as evidence: audit verify, heads or export",
    "address": "print the address that opens the page",
    "doctor": "say what is on, what is off, and what changes that",
}
RUN_ON = ("run", "web", "worker", "mcp")  # until they are told to end
SERVING = ("run", "web", "worker")
SAYING = (*SERVING, "migrate")  # what these say is for a log, where that is read as JSON
SERVING_OPTIONS = {
    "--host": "the address to listen on, in place of HOST",
    "--port": "the port to listen on, in place of PORT; of a worker, for probes and /metrics",
    "--home": "the data folder, in place of SIGNOFF_HOME",
}
WITH_OPTIONS = (
    "solo",
    "export",
    "backup",
    "import",
    "sign-in",
    "sign-out",
    "audit",
)  # these parse the rest of the command line


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` name and return the exit code of the process; 2 for an invalid setting."""
    close_new_files()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for words that complete the command line
        _complete()
    given = list(sys.argv[1:] if arguments is None else arguments)
    name = given[0] if given and given[0] in WITH_OPTIONS else _parser().parse_args(given).command
    try:
        settings = settings_module.load({**os.environ, **variables_of_line(given)}, has_page=name != "worker")
        is_talk = name == "solo" and settings.log_level == "INFO"  # what happens is told in the conversation
        level = "WARNING" if is_talk else settings.log_level
        configure(level, settings.log_format, settings.secrets, says=name in SAYING)
        if name in ("worker", "solo", "mcp"):  # the others print the doctor's report, which has these
            for unread, right in settings_module.unread_names().items():
                _warn(settings_module.unread_text(unread, right), settings.log_format)
        return asyncio.run(_command(name, settings, given[1:]))
    except SettingsError as error:
        _warn(f"Signoff did not start. {error}", settings_module.wanted_log_format(), logging.ERROR)
        return 2
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            print(file=sys.stderr)  # else the shell's prompt stands behind ^C
        return 130


def _warn(text: str, log_format: Format, level: int = logging.WARNING) -> None:
    """Print a sentence, or log it where lines are read as JSON; the settings may not be known yet."""
    if log_format == "text":
        print(text, file=sys.stderr)
        return
    if not any(isinstance(each, Redacting) for each in logging.getLogger().handlers):
        configure("INFO", log_format)
    logger.log(level, "%s", text)


async def _command(name: str, settings: Settings, rest: Sequence[str]) -> int:
    # Each command imports only what it needs, so that `doctor` and `migrate` start fast.
    from bot import commands
    from bot.worker import end_when_told

    command = commands.BY_NAME[name](settings, rest)
    return await (end_when_told(command) if name in RUN_ON else command)


def variables_of_line(given: Sequence[str]) -> dict[str, str]:
    """The settings of a command line, which go before the environment. `--port` of a worker is for probes."""
    if given[0] not in (*SERVING, "address"):
        return {}
    asked = _parser().parse_args(given)
    names = {"host": "HOST", "home": "SIGNOFF_HOME", "port": "PROBE_PORT" if asked.command == "worker" else "PORT"}
    return {name: text for option, name in names.items() if (text := getattr(asked, option, None))}


def _complete() -> None:
    import argcomplete

    parents = {}
    if "solo" in os.environ.get("COMP_LINE", "").split():
        from bot.solo import options_parser  # slow to import

        parents["solo"] = (options_parser(),)
    argcomplete.autocomplete(_parser(parents))


def _parser(parents: Mapping[str, Sequence[argparse.ArgumentParser]] = {}) -> argparse.ArgumentParser:
    """`parents`: the parsers of commands that parse the rest of the command line themselves, by name."""
    parser = argparse.ArgumentParser(prog="signoff", description="Autonomous agents that ask before they act.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {release()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, said in COMMANDS.items():
        known = parents.get(name, ())
        command = commands.add_parser(
            name, help=said, description=said, add_help=name not in WITH_OPTIONS, parents=known
        )
        for option, meaning in SERVING_OPTIONS.items():
            if name in SERVING or (name, option) == ("address", "--home"):
                command.add_argument(option, help=meaning)
        if name == "mcp":
            command.formatter_class = argparse.RawDescriptionHelpFormatter  # the lines stay, to be copied
            command.epilog = how_to_connect()
    return parser


if __name__ == "__main__":
    sys.exit(main())
