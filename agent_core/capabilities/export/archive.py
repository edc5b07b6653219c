"""Writes and reads the file of an export: a zip with a member for each table and file, and a manifest of checksums.

`rows/NAME.jsonl` has the rows of a table, `workspaces/…` the files, `manifest.json` is the last member.
"""

import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO, Literal
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from pydantic import TypeAdapter

from agent_core.capabilities.export.member_paths import require_safe
from agent_core.errors import TransferRefused

MANIFEST = "manifest.json"
CHUNK_BYTES = 1 << 20
FILE_MODE, FOLDER_MODE = (stat.S_IFREG | 0o600) << 16, (stat.S_IFDIR | 0o700) << 16
PERMITTED_TYPES = (0, stat.S_IFREG, stat.S_IFDIR)  # 0: the program that wrote the zip stored no type


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSum:
    """Number of rows, bytes and SHA-256 of the lines of a table."""

    rows: int
    size: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSum:
    """Bytes and SHA-256 of a file, whether it is executable, and when it was changed (nanoseconds since 1970)."""

    size: int
    digest: str
    is_program: bool
    modified: int


@dataclass(slots=True, kw_only=True)
class Manifest:
    """What an export has. `schema`: the revision of the tables. Paths begin with the name of a workspace's folder."""

    format: Literal[1] = 1
    schema: str
    tables: dict[str, TableSum] = field(default_factory=dict)
    files: dict[str, FileSum] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(each.rows for each in self.tables.values())

    @property
    def members(self) -> Mapping[str, TableSum | FileSum]:
        """The members with content, by name."""
        tables = {_table_member(name): each for name, each in self.tables.items()}
        return {**tables, **{_file_member(path): each for path, each in self.files.items()}}


_MANIFESTS = TypeAdapter(Manifest)


class ArchiveWriter:
    """Writes an export. Without its manifest, which comes last, the file is no export."""

    def __init__(self, opened: ZipFile, schema: str) -> None:
        self.manifest = Manifest(schema=schema)
        self._zip = opened

    def add_table(self, name: str, lines: Iterable[bytes]) -> None:
        rows, size, digest = 0, 0, sha256()
        with self._member(_table_member(name)) as member:
            for line in lines:
                member.write(line)
                digest.update(line)
                rows, size = rows + 1, size + len(line)
        self.manifest.tables[name] = TableSum(rows=rows, size=size, digest=digest.hexdigest())

    def add_file(self, path: str, content: IO[bytes], *, is_program: bool, modified: int) -> None:
        size, digest = 0, sha256()
        with self._member(_file_member(path)) as member:
            while chunk := content.read(CHUNK_BYTES):
                member.write(chunk)
                digest.update(chunk)
                size += len(chunk)
        self.manifest.files[path] = FileSum(
            size=size, digest=digest.hexdigest(), is_program=is_program, modified=modified
        )

    def add_folder(self, path: str) -> None:
        info = ZipInfo(_folder_member(path))
        info.external_attr = FOLDER_MODE
        self._zip.writestr(info, b"")
        self.manifest.folders.append(path)

    def add_manifest(self) -> None:
        with self._member(MANIFEST) as member:
            member.write(_MANIFESTS.dump_json(self.manifest, indent=1))

    def _member(self, name: str) -> IO[bytes]:
        info = ZipInfo(name)
        info.compress_type, info.external_attr = ZIP_DEFLATED, FILE_MODE
        return self._zip.open(info, "w", force_zip64=True)


class ArchiveReader:
    """An export that is open for reading."""

    def __init__(self, opened: ZipFile, manifest: bytes) -> None:
        self._zip = opened
        self.manifest = _MANIFESTS.validate_json(manifest)

    def require_whole(self, progress: Callable[[int], None]) -> None:
        """Compare every member with the manifest; raise TransferRefused. `progress` is told of bytes."""
        for name, each in self.manifest.members.items():
            with _refuse_damaged(name):
                size, rows, digest = 0, 0, sha256()
                with self._zip.open(name) as member:
                    while (chunk := member.read(CHUNK_BYTES)) and size <= each.size:
                        digest.update(chunk)
                        size, rows = size + len(chunk), rows + chunk.count(b"\n")
                        progress(len(chunk))
                if (size, digest.hexdigest()) != (each.size, each.digest):
                    raise BadZipFile
                if isinstance(each, TableSum) and rows != each.rows:
                    raise BadZipFile

    def lines(self, table: str) -> Iterator[bytes]:
        name = _table_member(table)
        with _refuse_damaged(name), self._zip.open(name) as member:
            yield from member

    @contextmanager
    def content(self, path: str) -> Iterator[IO[bytes]]:
        name = _file_member(path)
        with _refuse_damaged(name), self._zip.open(name) as member:
            yield member

    def require_members(self, tables: Sequence[str]) -> None:
        """Raise TransferRefused unless the members are those of the manifest, with safe paths."""
        require_safe(self.manifest.files, self.manifest.folders)
        folders = map(_folder_member, self.manifest.folders)
        expected = sorted((MANIFEST, *self.manifest.members, *folders))
        if set(self.manifest.tables) != set(tables) or sorted(self._zip.namelist()) != expected:
            raise TransferRefused("The file is not an export: it has other members than its manifest.")


@contextmanager
def open_archive(file: Path, schema: str, tables: Sequence[str]) -> Iterator[ArchiveReader]:
    """Open an export of this revision and these tables; raise TransferRefused for anything else."""
    try:
        opened = ZipFile(file)
    except OSError as fault:
        raise TransferRefused(f"{file} cannot be read: {fault.strerror}.") from fault
    except BadZipFile as fault:
        raise TransferRefused(f"{file} is not an export, or is damaged: it is no zip file.") from fault
    with opened:
        _require_plain(opened)
        try:
            reader = ArchiveReader(opened, opened.read(MANIFEST))
        except (KeyError, *DAMAGES) as fault:
            raise TransferRefused(f"{file} is not an export, or is damaged: it has no readable manifest.") from fault
        _require_schema(reader.manifest.schema, schema)
        reader.require_members(tables)
        yield reader


def _require_plain(opened: ZipFile) -> None:
    for info in opened.infolist():
        if stat.S_IFMT(info.external_attr >> 16) not in PERMITTED_TYPES:
            raise TransferRefused(f"The file is not an export: {info.filename!r} is a link or a device.")
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise TransferRefused(f"The file is not an export: {info.filename!r} is compressed in another way.")


# What zipfile raises for bytes that are not as they should be; RuntimeError for members with a password.
DAMAGES = (BadZipFile, zlib.error, EOFError, RuntimeError, ValueError)


@contextmanager
def _refuse_damaged(name: str) -> Iterator[None]:
    try:
        yield
    except DAMAGES as fault:
        raise TransferRefused(f"The file is damaged: {name} is not as it was written.") from fault


def _require_schema(found: str, known: str) -> None:
    if found != known:
        age = "a newer" if found > known else "an older"
        raise TransferRefused(
            f"The file was made by {age} release (tables {found}; this one has {known}): import it with that release."
        )


def _table_member(name: str) -> str:
    return f"rows/{name}.jsonl"


def _file_member(path: str) -> str:
    return f"workspaces/{path}"


def _folder_member(path: str) -> str:
    return f"workspaces/{path}/"
