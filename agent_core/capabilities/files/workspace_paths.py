"""Checks paths in a workspace (traversal, names) and its size limits; words the errors; names Signoff's own entries."""

import secrets
import unicodedata
from dataclasses import dataclass
from urllib.parse import quote

from agent_core.errors import CommandError, OutsideWorkspace

MAX_NAME_BYTES = 255
MAX_DEPTH = 20
IDENTITY_NAME = "workspace.id"  # the file beside the workspaces that tells one storage from another
DAMAGED = "?"  # the owner that an empty mark names, so that the files are not taken for nobody's
OWNER_NAME = ".database.id"  # the file beside the workspaces with the id of the database that they belong to
MAX_IDENTITY_BYTES = 100
TRASH_FOLDER, VERSIONS_FOLDER = ".trash", ".versions"  # beside the workspaces, with a folder for each of them
TEMPORARY_PREFIX = ".signoff-unfinished-"
CONTROL_CATEGORIES = ("Cc", "Cs", "Zl", "Zp")  # controls, surrogates, line and paragraph separators
BIDI_CONTROLS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # reorder the displayed name


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a workspace: bytes of one file, bytes of all files together, and number of files."""

    file_bytes: int = 25_000_000
    workspace_bytes: int = 200_000_000
    files: int = 2_000


LIMITS = Limits()


def folder_name(home: str) -> str:
    """The name of the folder of the root agent with this id. It has no dot: such names are free for other files."""
    return quote(home, safe="").replace(".", "%2E")


def new_identity() -> bytes:
    """The content for a new file IDENTITY_NAME."""
    return secrets.token_hex(16).encode("ascii")


def is_own_name(name: str) -> bool:
    """Whether an entry beside the workspaces is Signoff's own, such as its locks, and no workspace."""
    return name == IDENTITY_NAME or name.startswith(".")


def split_path(path: str) -> tuple[str, ...]:
    """The parts of a path, () for the workspace itself; raise OutsideWorkspace on traversal, else CommandError."""
    if path.startswith("/") or "\0" in path or ".." in path.split("/"):
        raise OutsideWorkspace(path)
    parts = tuple(name for name in path.split("/") if name not in ("", "."))
    if len(parts) > MAX_DEPTH:
        raise CommandError(f"A path may lie at most {MAX_DEPTH} folders deep.")
    for name in parts:
        if not is_name(name):
            raise CommandError(f"{_short(name)} cannot be a file's name: {_fault(name)}")
    return parts


def split_file_path(path: str) -> tuple[str, ...]:
    parts = split_path(path)
    if not parts or path.endswith(("/", "/.")):
        raise CommandError(f"{path!r} names no file.")
    return parts


def folders_above(path: str) -> tuple[str, ...]:
    """The folders of a path, the outermost first."""
    return tuple(path[:end] for end, letter in enumerate(path) if letter == "/")


def is_name(name: str) -> bool:
    """Whether this is a valid file name; files with other names are ignored."""
    return not _fault(name)


def no_file_error(path: str) -> CommandError:
    return CommandError(f"There is no file {path}.")


def no_folder_error(path: str) -> CommandError:
    return CommandError(f"There is no folder {path}.")


def changed_error(path: str) -> CommandError:
    return CommandError(f"{path} changed after this was approved, so nothing was done with it. Propose this again.")


def is_folder_error(path: str) -> CommandError:
    return CommandError(f"{path} is a folder, not a file.")


def is_file_error(path: str) -> CommandError:
    return CommandError(f"{path} is a file, not a folder.")


def require_fits(path: str, *, size: int, other_bytes: int, other_files: int, limits: Limits) -> None:
    """Raise CommandError unless a file of that size fits into the workspace beside the other files."""
    if size > limits.file_bytes:
        raise CommandError(f"{path} would hold {size:,} bytes; a file may hold at most {limits.file_bytes:,}.")
    if other_bytes + size > limits.workspace_bytes:
        raise CommandError(
            f"The workspace may hold at most {limits.workspace_bytes:,} bytes; {path} does not fit. Delete files first."
        )
    if other_files >= limits.files:
        raise CommandError(f"The workspace may hold at most {limits.files:,} files. Delete files first.")


def _fault(name: str) -> str:
    if "\\" in name:
        return "write / between folders, not a backslash."
    if any(letter in BIDI_CONTROLS or unicodedata.category(letter) in CONTROL_CATEGORIES for letter in name):
        return "it holds a character that cannot be shown."
    if len(name.encode()) > MAX_NAME_BYTES:
        return f"it is longer than {MAX_NAME_BYTES} bytes."
    return "it is kept for files that are being written." if name.startswith(TEMPORARY_PREFIX) else ""


def _short(name: str) -> str:
    return repr(name if len(name) <= 40 else f"{name[:40]}…")
