"""Closes Signoff's files to other accounts of the machine, and keeps the key and the place of the page in two."""

import logging
import os
import secrets
import socket
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from agent_core.errors import SettingsError
from bot.settings import Settings

UMASK = 0o077
OF_OTHERS, READ_BY_ALL = 0o077, 0o004
ENV_FILE = Path(".env")
DATABASE_PARTS = ("", "-wal", "-shm", "-journal")
PAGE_KEY, PAGE_LINK = "page.key", "open-page.html"  # both hold the secret in the address of the page
PAGE_PLACE = "page.place"  # the host and the port of the process that served the page last
FOREIGN_KEY = "{} is a link, or belongs to another account, so its key may be known. Remove it; a new one is made."
OWN_NAMES = (PAGE_KEY, PAGE_LINK, PAGE_PLACE, "terminal_history", "workspaces", "tiktoken", "engine.lock", "*.log")
# Folders that the whole machine uses. If one is the data folder, only Signoff's own files in it are closed.
SHARED_FOLDERS = frozenset(
    map(Path, ("/", "/etc", "/home", "/mnt", "/opt", "/srv", "/tmp", "/usr", "/usr/local", "/var", "/var/lib"))  # noqa: S108
)

logger = logging.getLogger(__name__)


def close_new_files() -> None:
    """Set the umask so that new files of this process and its programs are private to its account."""
    os.umask(UMASK)


def page_key(home: Path) -> str:
    """The secret in the address of the page, kept in the data folder from its first use on."""
    file = home / PAGE_KEY
    if not os.path.lexists(file):
        with NamedTemporaryFile("w", dir=home) as made, suppress(FileExistsError):  # of mode 600
            made.write(secrets.token_hex(16))
            made.flush()
            file.hardlink_to(made.name)
    try:
        return read_own(file).strip()
    except OSError as fault:
        raise SettingsError("SIGNOFF_HOME", FOREIGN_KEY.format(file)) from fault


def note_place(settings: Settings) -> None:
    """Keep where this process serves the page, which its command line may have chosen."""
    write_own(settings.home / PAGE_PLACE, f"{settings.host} {settings.port}\n")


def as_served(settings: Settings) -> Settings:
    """The settings with the host and port of the process that serves the page.

    As they are, if none of this machine listens there: only to an own address one connects from the same.
    """
    try:
        host, port = read_own(settings.home / PAGE_PLACE).split()
        with socket.create_connection((host, int(port)), timeout=1) as made:
            is_here = made.getsockname()[0] == made.getpeername()[0]
    except (OSError, ValueError):
        return settings
    return settings.model_copy(update={"host": host, "port": int(port)}) if is_here else settings


def read_own(file: Path) -> str:
    """The text of a regular file of this account, or of the owner of its folder; raise OSError for any other.

    In a folder that others share, such as /tmp, they could lay a file there, or a link or a pipe in its place.
    """
    opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(opened, encoding="utf-8") as own:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode) or status.st_uid not in (os.geteuid(), file.parent.stat().st_uid):
            raise PermissionError(f"{file} is of another account, or no file")
        return own.read()


def write_own(file: Path, text: str) -> None:
    """Put a file of mode 600 in this place, whatever was there; log it where another account's file stays there."""
    with NamedTemporaryFile("w", dir=file.parent, delete=False) as made:
        made.write(text)
    try:
        Path(made.name).replace(file)
    except OSError:
        Path(made.name).unlink()
        logger.warning("another account's file is in the way: remove it", extra={"path": str(file)})


def close_to_others(settings: Settings, env_file: Path = ENV_FILE) -> None:
    """Remove other accounts' permissions from existing files; log each file whose mode could not be changed."""
    for path in paths_open_to_others(settings, env_file):
        with suppress(OSError):
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~OF_OTHERS)
    for path in paths_open_to_others(settings, env_file):
        logger.warning("other accounts of this machine can open it: chmod go-rwx it", extra={"path": str(path)})


def paths_open_to_others(settings: Settings, env_file: Path = ENV_FILE) -> list[Path]:
    """Which of the data folder, Signoff's own files and `.env` other accounts have permissions on."""
    found, env_file = [path for path in _own_paths(settings) if _mode(path) & OF_OTHERS], env_file.resolve()
    # Group access to `.env` alone is deliberate, as no usual umask grants it; so only access for all counts.
    return found + ([env_file] if _mode(env_file) & READ_BY_ALL else [])


def _own_paths(settings: Settings) -> Iterator[Path]:
    home, database = settings.home.resolve(), settings.sqlite_file
    if not (home in SHARED_FOLDERS or _mode(home) & stat.S_ISVTX):
        yield home
    for name in OWN_NAMES:
        yield from home.glob(name)
    if database:
        database = database.resolve()
        yield from (database.with_name(f"{database.name}{part}") for part in DATABASE_PARTS)


def _mode(path: Path) -> int:
    """The permission bits of a file or folder; 0 for a missing file and for a symlink, which has no own permissions."""
    with suppress(OSError):
        mode = path.lstat().st_mode
        return 0 if stat.S_ISLNK(mode) else stat.S_IMODE(mode)
    return 0
