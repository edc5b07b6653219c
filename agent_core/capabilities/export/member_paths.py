"""Checks the paths of an export before anything is written (zip slip). Pure."""

import unicodedata
from collections.abc import Collection, Iterable

from agent_core.capabilities.files.workspace_paths import folders_above, is_name
from agent_core.errors import TransferRefused


def require_safe(files: Collection[str], folders: Collection[str]) -> None:
    """Raise TransferRefused unless each path is below a workspace's folder, and no file is a folder too."""
    for path in (*files, *folders):
        parts = path.split("/")
        if not all(part not in ("", ".", "..") and is_name(part) for part in parts):
            raise TransferRefused(f"The file is not an export: {path!r} is not a path inside the workspaces.")
    for path in files:
        if "/" not in path:
            raise TransferRefused(f"The file is not an export: {path!r} is in no workspace.")
    above = {parent for path in (*files, *folders) for parent in folders_above(path)}
    for path in files:
        if path in above or path in folders:
            raise TransferRefused(f"The file is not an export: {path!r} is both a file and a folder.")


def require_distinct(paths: Iterable[str]) -> None:
    """Raise TransferRefused if two paths differ only in case or in their Unicode normal form."""
    seen: dict[str, str] = {}
    for path in paths:
        for each in (*folders_above(path), path):
            first = seen.setdefault(unicodedata.normalize("NFC", each).casefold(), each)
            if first != each:
                raise TransferRefused(f"{first!r} and {each!r} would be one file on this disk, which ignores case.")
