"""The versions of a workspace: after each turn which files were there, with a copy of each content, for forks.

A version is a list of paths with the fingerprints of their contents; each content is kept once, under its fingerprint.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from agent_core.errors import CommandError
from agent_core.model.files import FileEntry, content_fingerprint
from agent_core.ports.files import Files

MAX_FILE_BYTES = 5_000_000  # the content of a larger file is not kept
MAX_KEPT_BYTES, MAX_KEPT_FILES = 100_000_000, 1_000  # the oldest versions make room
LISTS = "turns"
TOO_LARGE = ""  # in the place of a fingerprint

Listed: TypeAlias = tuple[int, str, str]  # size, when it changed, fingerprint


@dataclass(frozen=True, slots=True)
class Restored:
    """How many files of a version were copied, and the paths of those whose content is not kept."""

    copied: int
    lost: tuple[str, ...]


async def keep_version(files: Files, turn: int, *, distrusts_times: bool) -> None:
    """Keep which files are there after this turn, and what is in those that changed.

    `distrusts_times`: read also files of the same size and time, since a program can set the time of a file.
    """
    entries, store = await files.list_files(), files.versions
    numbers = await _turns(store)
    if not entries and not numbers:
        return
    known = await _read(store, numbers[-1]) if numbers else {}
    listed = {each.path: await _keep(files, each, {} if distrusts_times else known) for each in entries}
    if listed == known:
        return
    await store.write(_name(turn), json.dumps(listed).encode("utf-8", "surrogatepass"))
    await _make_room(store)


async def restore_version(files: Files, turn: int, into: Files) -> Restored | None:
    """Copy the files as they were after this turn; None if no version is as old as that."""
    store = files.versions
    numbers = [each for each in await _turns(store) if each <= turn]
    if not numbers:
        return None
    lost, now = [], {each.path: (each.size, each.changed_at.isoformat()) for each in await files.list_files()}
    listed = await _read(store, numbers[-1])
    for path, (size, at, content) in listed.items():
        try:
            is_unchanged = content == TOO_LARGE and now.get(path) == (size, at)
            await into.write(path, await (files.read(path) if is_unchanged else store.read(content)))
        except CommandError:
            lost.append(path)
    return Restored(len(listed) - len(lost), tuple(lost))


async def copy_files(files: Files, into: Files) -> Restored:
    """Copy the files as they are now."""
    entries, lost = await files.list_files(), []
    for each in entries:
        try:
            await into.write(each.path, await files.read(each.path))
        except CommandError:
            lost.append(each.path)
    return Restored(len(entries) - len(lost), tuple(lost))


async def forget_versions(store: Files, before: datetime) -> int:
    """Delete versions that were kept before this time, but for the newest, and contents that none has any more."""
    at = {each.path: each.changed_at for each in await store.list_files(LISTS)} if await _turns(store) else {}
    old = [name for name in sorted(at)[:-1] if at[name] < before]
    for name in old:
        await store.delete(name)
    if old:
        await _forget_unlisted(store, before)
    return len(old)


async def _keep(files: Files, entry: FileEntry, known: Mapping[str, Listed]) -> Listed:
    """What the version says of a file, whose content is kept."""
    changed_at, (size, at, content) = entry.changed_at.isoformat(), known.get(entry.path, (-1, "", TOO_LARGE))
    if (size, at) == (entry.size, changed_at):
        return size, at, content
    content = TOO_LARGE
    if entry.size <= MAX_FILE_BYTES:
        with suppress(CommandError):  # a background program may remove it meanwhile
            data = await files.read(entry.path)
            content = content_fingerprint(data)
            if not await files.versions.fingerprint(content):
                await files.versions.write(content, data)
    return entry.size, changed_at, content


async def _make_room(store: Files) -> None:
    kept, numbers = await store.list_files(), await _turns(store)
    while len(numbers) > 1 and (len(kept) > MAX_KEPT_FILES or sum(each.size for each in kept) > MAX_KEPT_BYTES):
        await store.delete(_name(numbers.pop(0)))
        await _forget_unlisted(store)
        kept = await store.list_files()


async def _forget_unlisted(store: Files, before: datetime | None = None) -> None:
    """Delete the contents that no version lists; with `before`, only older ones, as a version may be in the making."""
    listed = {content for turn in await _turns(store) for _, _, content in (await _read(store, turn)).values()}
    for each in await store.list_files():
        is_new = before is not None and each.changed_at >= before
        if "/" not in each.path and each.path not in listed and not is_new:
            await store.delete(each.path)


async def _turns(store: Files) -> list[int]:
    """The numbers of the turns with a version, in order."""
    names = [each.path.rpartition("/")[2] for each in await store.list_files() if each.path.startswith(f"{LISTS}/")]
    return sorted(int(name) for name in names if name.isdigit())


async def _read(store: Files, turn: int) -> dict[str, Listed]:
    listed: dict[str, tuple[int, str, str]] = json.loads(await store.read(_name(turn)))
    return {path: (size, at, content) for path, (size, at, content) in listed.items()}


def _name(turn: int) -> str:
    return f"{LISTS}/{turn:010}"
