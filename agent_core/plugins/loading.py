"""Finds and loads plugins: packages that the operator names, and files in the operator's folder. Nothing else."""

import ast
import hashlib
import importlib.util
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from agent_core.plugins.loaded import NOT_OF_PLUGINS, LoadedPlugin, one_line, reason_of
from agent_core.plugins.plugin import Plugin
from agent_core.plugins.plugin_set import PluginSet, is_plugin_name

logger = logging.getLogger(__name__)
ENTRY_POINTS = "signoff.plugins"
MODULE_PREFIX = "signoff_plugins_"
BASE_MODULE = Plugin.__module__.rpartition(".")[0]
HASH_DIGITS, MAX_VERSION_CHARACTERS = 12, 60
NO_PLUGIN = f"it derives no class from {BASE_MODULE}.Plugin"
Find = Callable[[], Iterator[LoadedPlugin]]


def load_plugins(packages: Sequence[str] = (), folder: Path | None = None) -> PluginSet:
    """Load the packages, then the files of the folder in the order of their names. Never raises.

    What cannot be loaded is a line of `PluginSet.faults`, and nothing of it takes part. A file or folder whose source
    does not name `agent_core.plugins` is not imported.
    """
    found = PluginSet()
    for package in packages:
        _add(found, f"package {package}", partial(_of_package, package))
    for path in _paths(found, folder) if folder else ():
        _add(found, f"file {path.name}", partial(_of_file, path))
    return found


def _add(found: PluginSet, source: str, find: Find) -> None:
    try:
        plugins = [*find()]
    except NOT_OF_PLUGINS:
        raise
    except BaseException as failure:
        found.faults.append(f"{source}: {type(failure).__name__}: {reason_of(failure)}")
        logger.exception("a plugin could not be loaded", extra={"source": source})
        return
    if not plugins:
        found.faults.append(f"{source}: {NO_PLUGIN}")
    for each in plugins:
        if not is_plugin_name(each.name):
            found.faults.append(f"{source}: {str(each.name)[:40]!a} is no name of a plugin")
        elif any(each.name == other.name for other in found.loaded):
            found.faults.append(f"{source}: there is a plugin {each.name} already")
        else:
            found.loaded.append(each)


def _of_package(package: str) -> Iterator[LoadedPlugin]:
    """The plugins that an installed package declares as entry points; without one, those that its module defines."""
    declared = [each for each in metadata.entry_points(group=ENTRY_POINTS) if each.module.split(".")[0] == package]
    classes: list[Any] = [each.load() for each in declared] or _classes_in(import_module(package))
    for each in classes:
        yield _made(each, f"package {package}", _version_of(package))


def _of_file(path: Path) -> Iterator[LoadedPlugin]:
    """The plugins of a Python file, or of a folder with an `__init__.py`."""
    main = path / "__init__.py" if path.is_dir() else path
    source = main.read_bytes()
    if not _names_base(source):
        return
    digest = _hash_of(path)
    for each in _classes_in(_imported(f"{MODULE_PREFIX}{path.stem}", main, is_folder=path.is_dir())):
        yield _made(each, f"file {path.name}", digest)


def _paths(found: PluginSet, folder: Path) -> Iterator[Path]:
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        found.faults.append(f"{folder}: {error.strerror or 'it cannot be read'}")
        return
    for path in paths:
        if not path.name.startswith((".", "_")) and (path.suffix == ".py" or (path / "__init__.py").is_file()):
            yield path


def _names_base(source: bytes) -> bool:
    """Whether the source imports the base class, found without running it."""
    names = [name for node in ast.walk(ast.parse(source)) for name in _names_imported(node)]
    return any(name == BASE_MODULE or name.startswith(f"{BASE_MODULE}.") for name in names)


def _names_imported(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (each.name for each in names)
        case ast.ImportFrom(module=str(module), names=names, level=0):
            yield from (module, *(f"{module}.{each.name}" for each in names))
        case _:
            return


def _imported(name: str, main: Path, *, is_folder: bool) -> ModuleType:
    places = [str(main.parent)] if is_folder else None
    spec = importlib.util.spec_from_file_location(name, main, submodule_search_locations=places)
    if spec is None or spec.loader is None:
        raise ImportError(f"{main.name} is no Python source")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _classes_in(module: ModuleType) -> list[type[Plugin]]:
    """The plugins that a module, or one of its own submodules, defines; not those that it imports from elsewhere."""
    own = f"{module.__name__}."
    classes = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Plugin)]
    return [each for each in dict.fromkeys(classes) if f"{each.__module__}.".startswith(own)]


def _made(kind: Any, source: str, version: str) -> LoadedPlugin:
    if not isinstance(kind, type) or not issubclass(kind, Plugin):
        raise TypeError(f"{getattr(kind, '__name__', kind)!a} is no {BASE_MODULE}.Plugin")
    plugin = kind()
    name = plugin.name or kind.__module__.removeprefix(MODULE_PREFIX).rpartition(".")[2]
    own = one_line(str(plugin.version), MAX_VERSION_CHARACTERS)
    return LoadedPlugin(name=name, version=own or version, source=source, plugin=plugin)


def _version_of(package: str) -> str:
    """The version of the package's distribution, or the hash of its files if it is of none."""
    if names := metadata.packages_distributions().get(package, []):
        return one_line(metadata.version(names[0]), MAX_VERSION_CHARACTERS)
    main = Path(import_module(package).__file__ or "")
    return _hash_of(main.parent if main.name == "__init__.py" else main)


def _hash_of(path: Path) -> str:
    """The beginning of a SHA-256 over all sources of a plugin."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
        digest.update(file.read_bytes())
    return f"sha256:{digest.hexdigest()[:HASH_DIGITS]}"
