"""The commands `export` and `import`: everything to one file, and back into an empty database."""

import argparse
import logging
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from filelock import Timeout

from agent_core.errors import DatabaseAway, TransferRefused
from agent_core.model.lines import counted
from agent_core.transfer.transfer import Transfer, TransferSummary
from bot.bootstrap import home_lock, make_home
from bot.settings import Settings

REFUSED = 1
MOST_NAMED = 5
PRIVATE = "It contains conversations, files and tokens: keep it private."


async def export_data(settings: Settings, arguments: Sequence[str]) -> int:
    """Write everything to a new file; return 1 if that is refused. A running Signoff may stay at work."""
    parser = argparse.ArgumentParser(
        prog="signoff export", description="Write everything to a new file: a backup, or to move to another database."
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the file to write, for example signoff.zip")
    file = parser.parse_args(arguments).file
    logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)  # Ctrl-C closes the connection before its cursor
    if settings.sqlite_file and not settings.sqlite_file.exists():
        return _tell_fault(f"Nothing was exported. There is no database {settings.sqlite_file}.")
    try:
        done = await _transfer(settings).export_to(file)
    except (TransferRefused, DatabaseAway) as fault:
        return _tell_fault(f"Nothing was exported. {fault}")
    _tell(f"Exported {_shown(done)} to {file}. {PRIVATE}")
    if done.left_out:
        _tell(f"Left out: {_named(done.left_out)}. Agents cannot use links, devices and unusual names either.")
    return 0


async def import_data(settings: Settings, arguments: Sequence[str]) -> int:
    """Restore an export; return 1 if that is refused or was interrupted."""
    parser = argparse.ArgumentParser(prog="signoff import", description="Restore an export into an empty database.")
    parser.add_argument("file", type=Path, metavar="FILE", help="a file that `signoff export` wrote")
    parser.add_argument("--resume", action="store_true", help="go on with an interrupted import of the same file")
    given = parser.parse_args(arguments)
    make_home(settings)
    try:
        with home_lock(settings):
            done = await _transfer(settings).import_from(given.file, resume=given.resume)
            shutil.rmtree(settings.home / "vectors", ignore_errors=True)  # a cache of the vectors of other memories
    except Timeout:
        return _tell_fault(f"Nothing was imported. A Signoff is at work in {settings.home}: stop it first.")
    except TransferRefused as fault:
        return _tell_fault(f"The import was not done. {fault}")
    except DatabaseAway as fault:
        return _tell_fault(f"The import was interrupted. {fault} Then go on with --resume.")
    _tell(f"Imported {_shown(done)} into {settings.shown_database} and {settings.home}.")
    return 0


def _transfer(settings: Settings) -> Transfer:
    return Transfer(url=settings.database_url, workspaces=settings.home / "workspaces", tell=_tell_progress)


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
