"""Sealed Python programs: follows a script's imports to every workspace module, for the text that people approve.

The preview shows all of the source, and people approve a digest of it. The program runs from a sealed copy, which is
made from the shown text and not from the files' bytes, so that Python reads what people read.

    workspace ─► read once ─► text ─► shown (preview) ─► approved digest
                               └────► UTF-8 copy, compared with the approved digest, then run from /sealed
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from agent_core.capabilities.programs.python_imports import (
    ModuleParts,
    PythonImport,
    PythonSource,
    module_files,
    package_of,
    python_bytes,
)
from agent_core.errors import CommandError, OutsideWorkspace
from agent_core.ports.files import Files
from agent_core.text.lines import counted

MAX_SOURCE_CHARACTERS = 100_000  # people must be able to read all of it
MAX_MODULES, MAX_NAMES = 100, 2_000


@dataclass(frozen=True, slots=True)
class SealedProgram:
    """The script's path, and the texts of all files by their paths in the workspace, the script first."""

    script: str
    texts: Mapping[str, str]

    @property
    def files(self) -> Mapping[str, bytes]:
        """The files as they run: UTF-8 with a byte order mark."""
        return {path: python_bytes(text) for path, text in self.texts.items()}

    @property
    def digest(self) -> str:
        """A SHA-256 over the paths and contents of all files: the basis of an approval."""
        lines = [f"{hashlib.sha256(data).hexdigest()} {path}" for path, data in sorted(self.files.items())]
        return hashlib.sha256("\n".join([self.script, *lines]).encode()).hexdigest()

    @property
    def size(self) -> str:
        """The numbers of lines and of imported files, in words."""
        lines = sum(len(text.splitlines()) for text in self.texts.values())
        modules = len(self.texts) - 1
        more = f" with {counted(modules, 'imported file')}" if modules else ""
        return f"{counted(lines, 'line')}{more}"

    @property
    def shown(self) -> str:
        """All of the source; with imports, first a list of files, then each file under its name."""
        if len(self.texts) == 1:
            return self.texts[self.script]
        named = [f"{path} ({self._length(path)})" for path in self.texts]
        parts = [f"── {path} ({self._length(path)}) ──\n{text}" for path, text in self.texts.items()]
        return "\n\n".join((f"Runs {named[0]} and imports {', '.join(named[1:])}.", *parts))

    def _length(self, path: str) -> str:
        lines = len(self.texts[path].splitlines())
        return f"{counted(len(self.texts[path].encode()), 'byte')}, {counted(lines, 'line')}"


async def read_program(script: str, files: Files) -> SealedProgram:
    """Read a script and its imports, each file once.

    Raise CommandError if a file is missing or is not Python, or if the source is too long to be shown.
    """
    if not script.casefold().endswith(".py"):
        raise CommandError(f"{script} is no Python file: its name has to end in .py.")
    path = "/".join(part for part in script.split("/") if part not in ("", "."))
    reader = _ImportFollower(script=path, folder=path.rpartition("/")[0], files=files)
    await reader.read(path, ())
    while reader.wanted:
        await reader.resolve(reader.wanted.pop())
    return SealedProgram(path, reader.texts)


@dataclass(slots=True, kw_only=True)
class _ImportFollower:
    """Reads the files that a script imports. `folder` is the script's folder, where Python looks for modules first."""

    script: str
    folder: str
    files: Files
    texts: dict[str, str] = field(default_factory=dict)
    wanted: list[PythonImport] = field(default_factory=list)
    known: set[PythonImport] = field(default_factory=set)
    packages: dict[ModuleParts, str] = field(default_factory=dict)
    listed: tuple[str, ...] | None = None

    async def read(self, path: str, package: ModuleParts) -> None:
        """Read one file and queue its imports."""
        data = await self.files.read(path)
        if len(data) > 4 * MAX_SOURCE_CHARACTERS:
            raise self._too_long(len(data), "bytes")
        source = PythonSource.of(data, path)
        self.texts[path] = source.text
        if (length := sum(map(len, self.texts.values()))) > MAX_SOURCE_CHARACTERS:
            raise self._too_long(length, "characters")
        if len(self.texts) > 1 + MAX_MODULES:
            raise CommandError(f"{self.script} imports more than {MAX_MODULES} files of the workspace. Use fewer.")
        new = {each for each in source.imports(package) if each not in self.known}
        self.known |= new
        self.wanted += sorted(new, key=lambda each: (each.parts, each.is_star), reverse=True)
        if len(self.known) > MAX_NAMES:
            raise CommandError(f"{self.script} imports more than {MAX_NAMES:,} names. Use fewer.")

    async def resolve(self, wanted: PythonImport) -> None:
        """Read each file that Python would run to import a module: its parent packages, then the module."""
        for depth in range(1, len(wanted.parts) + 1):
            if not await self._enter(wanted.parts[:depth]):
                return
        if wanted.is_star:
            held = {PythonImport((*wanted.parts, name)) for name in await self._names_in(wanted.parts)} - self.known
            self.known |= held
            self.wanted += sorted(held, key=lambda each: each.parts)

    async def _enter(self, parts: ModuleParts) -> bool:
        """Read a module's file; return whether the module is a package or folder, which can contain modules."""
        if parts in self.packages:
            return bool(self.packages[parts])
        for path in (self._path(each) for each in module_files(parts)):
            if path in self.texts or await self._is_file(path):
                is_package = path != self._path(module_files(parts)[1])
                self.packages[parts] = path if is_package else ""
                if path not in self.texts:
                    await self.read(path, package_of(parts, path))
                return is_package
        is_folder = any(True for _ in await self._names_in(parts))
        self.packages[parts] = self._path("/".join(parts)) if is_folder else ""
        return is_folder

    async def _is_file(self, path: str) -> bool:
        """Whether the file exists; raise CommandError if its path has a symlink."""
        try:
            return bool(await self.files.fingerprint(path))
        except OutsideWorkspace:
            raise CommandError(f"{path} is a link or lies behind one, so {self.script} cannot import it.") from None
        except CommandError:
            return False

    async def _names_in(self, parts: ModuleParts) -> set[str]:
        if self.listed is None:
            self.listed = tuple(entry.path for entry in await self.files.list_files(self.folder))
        inside = f"{self._path('/'.join(parts))}/" if parts else self._path("")
        names = (path.removeprefix(inside) for path in self.listed if path.startswith(inside) and path.endswith(".py"))
        return {name.partition("/")[0].removesuffix(".py") for name in names} - {"__init__"}

    def _path(self, inside: str) -> str:
        return f"{self.folder}/{inside}" if self.folder else inside

    def _too_long(self, length: int, what: str) -> CommandError:
        files = self.script if len(self.texts) <= 1 else f"{self.script} with what it imports"
        limit = f"{MAX_SOURCE_CHARACTERS:,}"
        return CommandError(
            f"{files} has {length:,} {what} of source. People can be shown at most {limit} characters, and "
            "what cannot be shown cannot be approved. Split the program, or move its data into files that it opens."
        )
