"""Finds the plugins of AutoGPT that may run: looks into zips, folders and packages, applies the operator's lists."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_core.capabilities.autogpt.class_search import TEMPLATE, PluginClass, is_native, plugin_classes
from agent_core.capabilities.autogpt.sources import (
    UNREADABLE,
    PluginSource,
    source_of_folder,
    source_of_package,
    source_of_zip,
)
from agent_core.plugins.loaded import one_line, reason_of

MAX_PARSED_BYTES = 5_000_000  # of one source; parsing takes memory many times as large


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which plugins may run. `allowed`, `denied`: names of classes, folders, zips or packages, in any case.

    `setting`: the operator's setting that allows plugins, for messages.
    """

    allowed: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    setting: str = "the list of allowed plugins"

    @classmethod
    def of(cls, allowed: Sequence[str], denied: Sequence[str], setting: str = setting) -> "Choice":
        folded = (frozenset(map(str.casefold, names)) for names in (allowed, denied))
        return cls(allowed=next(folded), denied=next(folded), setting=setting)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPlugin:
    """A plugin that may run: its class, and what it is loaded from."""

    kind: PluginClass
    source: PluginSource

    @property
    def title(self) -> str:
        return f"{self.kind.name} ({self.source.title})"


@dataclass(slots=True, kw_only=True)
class Discovery:
    """What was found. `faults`: a line on each source that cannot be used, and on plugins that are not allowed.

    `packages`: the named packages that hold plugins of AutoGPT, so that nothing else imports them.
    `seen`: all names by which plugins that were found can be chosen, also those that may not run; in lower case.
    """

    choice: Choice
    plugins: list[FoundPlugin] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def look_into(self, folder: Path) -> None:
        """Look at each zip and each folder in the folder; pass by what is one of Signoff's own plugins. Blocking."""
        try:
            paths = sorted(folder.iterdir())
        except OSError:
            return  # what loads Signoff's own plugins says so
        for path in paths:
            if not path.name.startswith((".", "_")):
                self._add_path(path)

    def look_at(self, packages: Sequence[str], folders: Sequence[str], own: Sequence[str] = ()) -> None:
        """Look at installed packages, which the operator allows by naming them. Blocking.

        `folders`: where the Python of plugins has packages. `own`: where Signoff's own has some; a plugin of AutoGPT
        that is only there is not run.
        """
        for name in packages:
            try:
                theirs = source_of_package(name, folders)
                source = theirs or source_of_package(name, own)
            except UNREADABLE as fault:
                self.faults.append(f"package {name}: {reason_of(fault)}")
                continue
            if source is None or any(map(is_native, source.files.values())):
                continue
            if found := [*plugin_classes(source.files, is_installed=True)]:
                self.packages.append(name)
                if theirs:
                    self._choose(source, found, is_named=True)
                else:
                    self.faults.append(f"{source.title}: the Python of plugins does not have it")

    def unmatched(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of the names that no plugin has which was found."""
        return tuple(name for name in names if name.casefold() not in self.seen)

    def _add_path(self, path: Path) -> None:
        try:
            if path.suffix.casefold() == ".zip" and path.is_file():
                source = source_of_zip(path)
            elif path.is_dir():
                source = source_of_folder(path)
            else:
                return
        except UNREADABLE as fault:
            self.faults.append(f"{path.name}: {reason_of(fault)}")
            return
        if _python_bytes(source) > MAX_PARSED_BYTES:
            self.faults.append(
                f"{source.title}: not looked at, as its Python files have over {MAX_PARSED_BYTES:,} bytes"
            )
            return
        found = [*plugin_classes(source.files)]
        if source.title.startswith("folder") and (not found or any(map(is_native, source.files.values()))):
            return
        if not found:
            template = any(f"class {TEMPLATE}".encode() in data for data in source.files.values())
            why = "it holds only a copy of the template" if template else "it holds no plugin of AutoGPT"
            self.faults.append(f"{source.title}: {why}")
        self._choose(source, found)

    def _choose(self, source: PluginSource, found: Sequence[PluginClass], *, is_named: bool = False) -> None:
        left_out = []
        for kind in found:
            names = {name.casefold() for name in (kind.name, kind.folder, *source.names)}
            self.seen |= names
            if names & self.choice.denied:
                continue
            if is_named or names & self.choice.allowed:
                self.plugins.append(FoundPlugin(kind=kind, source=source))
            else:
                left_out.append(one_line(kind.name, 40))
        if left_out:
            why = f"{', '.join(left_out)} not allowed; {self.choice.setting} names what may run"
            self.faults.append(f"{source.title}: {why}")


def _python_bytes(source: PluginSource) -> int:
    return sum(len(data) for path, data in source.files.items() if path.endswith(".py"))
