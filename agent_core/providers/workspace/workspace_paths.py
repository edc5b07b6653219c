"""Which texts are paths inside a workspace, how much a workspace holds, and the sentences when something is not so."""

import unicodedata
from dataclasses import dataclass

from agent_core.errors import CommandError, OutsideWorkspace

MOST_NAME_BYTES = 255
MOST_DEPTH = 20
UNFINISHED = ".signoff-unfinished-"
UNSEEN = ("Cc", "Cs", "Zl", "Zp")  # controls, halves of characters, line and paragraph ends
TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # make a name look like another one


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Most bytes of a file and of a workspace, and most files in one."""

    file_bytes: int = 25_000_000
    workspace_bytes: int = 200_000_000
    files: int = 2_000


LIMITS = Limits()


def parts_of(path: str) -> tuple[str, ...]:
    """The names from the workspace's folder down; none for the folder itself. Raise CommandError."""
    if path.startswith("/") or "\0" in path or ".." in path.split("/"):
        raise OutsideWorkspace(path)
    parts = tuple(name for name in path.split("/") if name not in ("", "."))
    if len(parts) > MOST_DEPTH:
        raise CommandError(f"A path may lie at most {MOST_DEPTH} folders deep.")
    for name in parts:
        if not is_name(name):
            raise CommandError(f"{_short(name)} cannot be a file's name: {_fault(name)}")
    return parts


def file_parts(path: str) -> tuple[str, ...]:
    """The names of a path that is to be a file."""
    parts = parts_of(path)
    if not parts or path.endswith(("/", "/.")):
        raise CommandError(f"{path!r} names no file.")
    return parts


def is_name(name: str) -> bool:
    """Whether a file can be called so; a file found under another name is left alone."""
    return not _fault(name)


def no_file(path: str) -> CommandError:
    """There is none."""
    return CommandError(f"There is no file {path}.")


def no_folder(path: str) -> CommandError:
    """There is none."""
    return CommandError(f"There is no folder {path}.")


def has_changed(path: str) -> CommandError:
    """It is not the file that people decided on."""
    return CommandError(f"{path} changed after this was approved, so nothing was done with it. Propose this again.")


def is_folder(path: str) -> CommandError:
    """It was taken for a file."""
    return CommandError(f"{path} is a folder, not a file.")


def is_file(path: str) -> CommandError:
    """It was taken for a folder."""
    return CommandError(f"{path} is a file, not a folder.")


def must_fit(path: str, *, size: int, other_bytes: int, other_files: int, limits: Limits) -> None:
    """Raise CommandError unless a file of that size fits beside the others."""
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
    if any(letter in TURNING or unicodedata.category(letter) in UNSEEN for letter in name):
        return "it holds a character that cannot be shown."
    if len(name.encode()) > MOST_NAME_BYTES:
        return f"it is longer than {MOST_NAME_BYTES} bytes."
    return "it is kept for files that are being written." if name.startswith(UNFINISHED) else ""


def _short(name: str) -> str:
    return repr(name if len(name) <= 40 else f"{name[:40]}…")
