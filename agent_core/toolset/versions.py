"""The versions of a workspace, for forks: which files were there before each command that may change files.

A version is one zip archive, named by its turn. It lists every file with its size, time, SHA-256 and the turn whose
archive holds its content: that of the version, or an earlier one if the file has not changed since.
"""

import asyncio
import io
import json
import logging
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from agent_core.errors import CommandError
from agent_core.model.files import FileEntry, content_fingerprint
from agent_core.ports.files import Files

logger = logging.getLogger(__name__)

MAX_FILES, MAX_SECONDS = 1_000, 10.0  # of a workspace, and for one version; beyond, none is kept
MAX_CONTENT_BYTES = 20_000_000  # of all contents in one archive; larger files before smaller ones are left out
QUICK_BYTES = 500_000  # of contents that are compressed in about 10 ms, which is no work for another thread
MAX_STORE_BYTES = 100_000_000  # the oldest versions make room
COARSE_TIME = timedelta(seconds=2)  # storages with whole seconds give two changes the same time
LIST, NOWHERE = "files.json", 0

Listed: TypeAlias = tuple[int, str, str, int]  # size, when it changed, SHA-256, the turn whose archive has its content


@dataclass(frozen=True, slots=True)
class Restored:
    """How many files were copied, and the paths of those whose content is not kept."""

    copied: int
    lost: tuple[str, ...]


async def keep_version(files: Files, turn: int, *, distrusts_times: bool) -> None:
    """Keep what the files are before the command of this turn; log why if that fails.

    `distrusts_times`: read also files of the same size and time: programs ran since, and can set the time of a file.
    """
    try:
        async with asyncio.timeout(MAX_SECONDS):
            await _keep(files, turn, distrusts_times=distrusts_times)
    except (CommandError, OSError, TimeoutError) as fault:
        logger.warning("no version of an agent's files is kept", extra={"turn": turn, "why": str(fault)})


async def restore_version(files: Files, turn: int, into: Files) -> Restored | None:
    """Copy the files as they were before the command of this turn; None if they are not kept."""
    store = files.versions
    if (listed := await _list_of(store, turn)) is None:
        return None
    lost, archives = [], {at: await _open(store, at) for at in {at for *_, at in listed.values()} if at}
    for path, (_, _, digest, at) in listed.items():
        data = _content(archives.get(at), digest)
        data = await _read_as(files, path, digest) if data is None else data
        if data is None or not await _is_written(into, path, data):
            lost.append(path)
    return Restored(len(listed) - len(lost), tuple(lost))


async def _read_as(files: Files, path: str, digest: str) -> bytes | None:
    """The file, if it has this content."""
    with suppress(CommandError):
        data = await files.read(path)
        return data if content_fingerprint(data) == digest else None
    return None


async def _is_written(into: Files, path: str, data: bytes) -> bool:
    try:
        await into.write(path, data)
    except CommandError:
        return False
    return True


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
    """Delete the versions that were kept before this time."""
    old = [each for each in await store.list_files() if each.changed_at < before]
    for each in old:
        await store.delete(each.path)
    return len(old)


async def _keep(files: Files, turn: int, *, distrusts_times: bool) -> None:
    entries, store = await files.list_files(), files.versions
    if len(entries) > MAX_FILES:
        raise CommandError(f"{len(entries):,} files are more than {MAX_FILES:,}.")
    kept = {int(each.path): each for each in await store.list_files() if each.path.isdigit()}
    last = max((number for number in kept if number < turn), default=NOWHERE)
    known = (await _list_of(store, last) if last else None) or {}
    trusted = kept[last].changed_at - COARSE_TIME if last and not distrusts_times else None
    listed: dict[str, Listed] = {}
    contents: dict[str, bytes] = {}
    room = MAX_CONTENT_BYTES
    for each in sorted(entries, key=lambda entry: entry.size):
        before = known.get(each.path)
        if before and before[3] in kept and trusted and each.changed_at < trusted and _is_same(each, before):
            listed[each.path] = before
            continue
        data = await files.read(each.path)
        digest, fits = content_fingerprint(data), len(data) <= room
        if before and before[2] == digest and before[3] in kept:
            listed[each.path] = (each.size, each.changed_at.isoformat(), digest, before[3])
            continue
        listed[each.path] = (each.size, each.changed_at.isoformat(), digest, turn if fits else NOWHERE)
        if fits:
            contents[digest], room = data, room - len(data)
    archive = await _pack(listed, contents, MAX_CONTENT_BYTES - room)
    await _make_room(store, [each for number, each in sorted(kept.items()) if number != turn], len(archive))
    await store.write(_name(turn), archive)


def _is_same(entry: FileEntry, listed: Listed) -> bool:
    return (entry.size, entry.changed_at.isoformat()) == listed[:2]


async def _pack(listed: Mapping[str, Listed], contents: Mapping[str, bytes], size: int) -> bytes:
    """The archive of a version whose contents have this size in bytes."""
    return _archive(listed, contents) if size < QUICK_BYTES else await asyncio.to_thread(_archive, listed, contents)


def _archive(listed: Mapping[str, Listed], contents: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(LIST, json.dumps(listed))
        for digest, data in contents.items():
            archive.writestr(digest, data)
    return made.getvalue()


async def _make_room(store: Files, kept: Sequence[FileEntry], size: int) -> None:
    """Delete the oldest versions until one of this size fits."""
    taken = size + sum(each.size for each in kept)
    for each in kept:
        if taken <= MAX_STORE_BYTES:
            return
        await store.delete(each.path)
        taken -= each.size


async def _list_of(store: Files, turn: int) -> dict[str, Listed] | None:
    """The list of a version; None if it is not kept, or damaged."""
    archive = await _open(store, turn)
    try:
        found = json.loads(archive.read(LIST)) if archive else None
        return (
            None if found is None else {path: (size, at, digest, of) for path, (size, at, digest, of) in found.items()}
        )
    except (KeyError, ValueError, AttributeError, TypeError, zipfile.BadZipFile):
        return None


async def _open(store: Files, turn: int) -> zipfile.ZipFile | None:
    try:
        return zipfile.ZipFile(io.BytesIO(await store.read(_name(turn))))
    except (CommandError, zipfile.BadZipFile):
        return None


def _content(archive: zipfile.ZipFile | None, digest: str) -> bytes | None:
    try:
        data = archive.read(digest) if archive else None
    except (KeyError, zipfile.BadZipFile):
        return None
    return data if data is not None and content_fingerprint(data) == digest else None


def _name(turn: int) -> str:
    return f"{turn:010}"
