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

from bot.settings import Settings

UMASK = 0o077
OF_OTHERS, READ_BY_ALL = 0o077, 0o004
ENV_FILE = Path(".env")
DATABASE_PARTS = ("", "-wal", "-shm", "-journal")
PAGE_KEY, PAGE_LINK = "page.key", "open-page.html"  # both hold the secret in the address of the page
PAGE_PLACE = "page.place"  # the host and the port of the process that served the page last
OWN_NAMES = (PAGE_KEY, PAGE_LINK, "terminal_history", "workspaces", "tiktoken", "engine.lock", "*.log")
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
    if not file.exists():
        with NamedTemporaryFile("w", dir=home) as made, suppress(FileExistsError):  # of mode 600
            made.write(secrets.token_hex(16))
            made.flush()
            file.hardlink_to(made.name)
    return file.read_text().strip()


def note_place(settings: Settings) -> None:
    """Keep where this process serves the page, which its command line may have chosen."""
    (settings.home / PAGE_PLACE).write_text(f"{settings.host} {settings.port}\n")


def as_served(settings: Settings) -> Settings:
    """The settings with the host and port of the process that serves the page; as they are, if none listens there."""
    try:
        host, port = (settings.home / PAGE_PLACE).read_text().split()
        socket.create_connection((host, int(port)), timeout=1).close()
    except (OSError, ValueError):
        return settings
    return settings.model_copy(update={"host": host, "port": int(port)})


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
