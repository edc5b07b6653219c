"""Reads what a plugin consists of: a zip, a folder, or an installed package. Bounded; nothing of it is run."""

import hashlib
import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath

MAX_FILES, MAX_BYTES = 3_000, 50_000_000
LEFT_OUT = (".git", "__pycache__", "__MACOSX", "node_modules", ".venv")
HASH_DIGITS = 12
UNREADABLE = (
    *(OSError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError),
    *(EOFError, ValueError, MemoryError),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSource:
    """What plugins are loaded from. `title`: such as `zip tea.zip`. `names`: by which it can be allowed or denied.

    `files`: bytes by path. `archive`: a zip of them for the worker; empty for an installed package.
    """

    title: str
    names: tuple[str, ...]
    version: str
    files: Mapping[str, bytes]
    archive: bytes = b""


def source_of_zip(path: Path) -> PluginSource:
    """The files of a zip; raise one of UNREADABLE with what is wrong with it."""
    with zipfile.ZipFile(path) as archive:
        files = dict(_unpacked(archive))
    if "__init__.py" in files:  # the zip is the package itself
        files = {f"{path.stem}/{name}": data for name, data in files.items()}
    return _packed(f"zip {path.name}", path.stem, files)


def source_of_folder(path: Path) -> PluginSource:
    """The files of a folder, without links; raise one of UNREADABLE. A folder is a package below the root."""
    files = {f"{path.name}/{name}": data for name, data in _read(path)}
    return _packed(f"folder {path.name}", path.name, files)


def source_of_package(name: str, folders: Sequence[str]) -> PluginSource | None:
    """An installed package in one of the folders; None if it is in none of them. Raise one of UNREADABLE."""
    place = name.replace(".", "/")
    for folder in map(Path, folders):
        if (module := folder / f"{place}.py").is_file():
            files = {f"{place}.py": module.read_bytes()}
        elif (package := folder / place).is_dir():
            files = {f"{place}/{path}": data for path, data in _read(package) if path.endswith(".py")}
        else:
            continue
        version = _version_of(name.partition(".")[0], str(folder)) or _hash_of(files)
        return PluginSource(title=f"package {name}", names=(name,), version=version, files=files)
    return None


def _packed(title: str, name: str, files: dict[str, bytes]) -> PluginSource:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return PluginSource(title=title, names=(name,), version=_hash_of(files), files=files, archive=packed.getvalue())


def _unpacked(archive: zipfile.ZipFile) -> Iterator[tuple[str, bytes]]:
    left = MAX_BYTES
    entries = [each for each in archive.infolist() if not each.is_dir() and _is_kept(each.filename)]
    _require_few(len(entries))
    for entry in entries:
        with archive.open(entry) as opened:
            data = opened.read(left + 1)
        left -= len(data)
        _require_small(left)
        yield str(PurePosixPath(entry.filename)), data


def _read(folder: Path) -> Iterator[tuple[str, bytes]]:
    left, count = MAX_BYTES, 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if each not in LEFT_OUT)
        for path in (Path(place, name) for name in sorted(names)):
            if path.is_symlink() or not path.is_file() or not _is_kept(path.name):
                continue
            count += 1
            _require_few(count)
            with path.open("rb") as opened:
                data = opened.read(left + 1)
            left -= len(data)
            _require_small(left)
            yield path.relative_to(folder).as_posix(), data


def _is_kept(path: str) -> bool:
    """Whether a path stays below its folder and is no by-product."""
    parts = PurePosixPath(path).parts
    is_inside = bool(parts) and not path.startswith("/") and "\\" not in path and "\0" not in path and ".." not in parts
    return is_inside and not any(part in LEFT_OUT for part in parts) and not path.endswith(".pyc")


def _require_few(count: int) -> None:
    if count > MAX_FILES:
        raise ValueError(f"it has more than {MAX_FILES:,} files")


def _require_small(left: int) -> None:
    if left < 0:
        raise ValueError(f"it has more than {MAX_BYTES:,} bytes")


def _hash_of(files: Mapping[str, bytes]) -> str:
    """The beginning of a SHA-256 over all files."""
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(hashlib.sha256(path.encode(errors="surrogateescape")).digest())
        digest.update(hashlib.sha256(files[path]).digest())
    return f"sha256:{digest.hexdigest()[:HASH_DIGITS]}"


def _version_of(package: str, folder: str) -> str:
    """The version of the distribution in this folder that has the package; "" if there is none."""
    for each in metadata.distributions(path=[folder]):
        if any(file.parts[:1] in ((package,), (f"{package}.py",)) for file in each.files or ()):
            return each.version
    return ""
