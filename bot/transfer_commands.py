"""The commands `export` and `import`: everything to one file, and back into an empty database."""

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from filelock import Timeout

from agent_core.capabilities.export.transfer import Transfer, TransferSummary
from agent_core.errors import DatabaseAway, FilesTaken, TransferRefused
from agent_core.text.lines import counted
from bot.bootstrap import home_lock, make_home, server_fault
from bot.settings import Settings
from bot.wiring.workspaces import find_missing_setting, stored_files

REFUSED = 1
MOST_NAMED = 5
NOT_OWN = (
    "Leave WORKSPACE_URL empty and name a new SIGNOFF_HOME, or name an empty place. "
    "To move them from the other database for good, add --take-files."
)
PRIVATE = "It contains conversations, files and tokens: keep it private."


async def export_data(settings: Settings, arguments: Sequence[str], *, name: str = "export") -> int:
    """Write everything to a new file; return 1 if that is refused. A running Signoff may stay at work.

    `name`: the command that was typed, `export` or `backup`.
    """
    parser = argparse.ArgumentParser(
        prog=f"signoff {name}", description="Write everything to a new file: a backup, or to move to another database."
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the file to write, for example signoff.zip")
    file = parser.parse_args(arguments).file
    logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)  # Ctrl-C closes the connection before its cursor
    if settings.sqlite_file and not settings.sqlite_file.exists():
        return _tell_fault(f"Nothing was exported. There is no database {settings.sqlite_file}.")
    if fault := await server_fault(settings):
        return _tell_fault(f"Nothing was exported. {fault}")
    try:
        if fault := await find_missing_setting(settings):
            return _tell_fault(f"Nothing was exported. {fault}")
        done = await _transfer(settings).export_to(file)
    except (TransferRefused, DatabaseAway) as error:
        return _tell_fault(f"Nothing was exported. {error}")
    _tell(f"Exported {_shown(done)} to {file}. {PRIVATE}")
    if done.left_out:
        _tell(f"Left out: {_named(done.left_out)}. Agents cannot use links, devices and unusual names either.")
    return 0


async def import_data(settings: Settings, arguments: Sequence[str]) -> int:
    """Restore an export; return 1 if that is refused or was interrupted."""
    parser = argparse.ArgumentParser(prog="signoff import", description="Restore an export into an empty database.")
    parser.add_argument("file", type=Path, metavar="FILE", help="a file that `signoff export` wrote")
    taking = "the files that are there belong to this database from now on, and no longer to the one that they were of"
    parser.add_argument("--take-files", action="store_true", help=taking)
    given = parser.parse_args(arguments)
    if fault := await server_fault(settings):
        return _tell_fault(f"Nothing was imported. {fault}")
    make_home(settings)
    try:
        with home_lock(settings):
            done = await _transfer(settings).import_from(given.file, take_files=given.take_files)
    except Timeout:
        return _tell_fault(f"Nothing was imported. A Signoff is at work in {settings.home}: stop it first.")
    except FilesTaken as fault:
        return _tell_fault(f"The import was not done. {fault} {NOT_OWN}")
    except TransferRefused as fault:
        return _tell_fault(f"The import was not done. {fault}")
    except DatabaseAway as fault:
        return _tell_fault(f"The import was interrupted. {fault} Then run it again.")
    files = settings.shown_workspaces if settings.workspace_url else settings.home
    _tell(f"Imported {_shown(done)} into {settings.shown_database} and {files}.")
    return 0


def _transfer(settings: Settings) -> Transfer:
    return Transfer(url=settings.database_url, workspaces=stored_files(settings), tell=_tell_progress)


def _shown(done: TransferSummary) -> str:
    return f"{counted(done.agents, 'agent')} ({counted(done.rows, 'row')}) and {counted(done.files, 'file')}"


def _named(paths: Sequence[str]) -> str:
    more = len(paths) - MOST_NAMED
    return ", ".join(map(ascii, paths[:MOST_NAMED])) + (f" and {more:,} more" if more > 0 else "")


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _tell_progress(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _tell_fault(text: str) -> int:
    sys.stderr.write(f"{text}\n")
    return REFUSED
