"""Finds plugins of AutoGPT in Python sources by parsing them; nothing of them is run."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from agent_core.plugins.plugin import Plugin

TEMPLATE = "AutoGPTPluginTemplate"
NATIVE_BASE = Plugin.__module__.rpartition(".")[0]
MAX_SOURCE_BYTES = 1_000_000
HOOKS = (
    *("post_prompt", "on_planning", "post_planning", "pre_instruction", "on_instruction", "post_instruction"),
    *("pre_command", "post_command", "on_response"),
)
MIN_HOOKS = 2  # of a class that does not name the template as its base
COLLECTION = "autogpt_plugins"  # the package that holds the plugins of AutoGPT's own collection
TESTS = ("test", "tests")


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginClass:
    """A plugin's class. `module`: its module below `root`, with slashes. `folder`: the name of its package."""

    name: str
    root: str
    module: str
    folder: str


def plugin_classes(sources: Mapping[str, bytes], *, is_installed: bool = False) -> Iterator[PluginClass]:
    """The plugin classes in sources by their paths: packages first, each class name once, tests left out.

    `is_installed`: the paths begin where Python looks for packages. Raise no error: a file that is no Python is passed
    over.
    """
    seen: set[str] = set()
    for path in sorted(sources, key=lambda each: (PurePosixPath(each).name != "__init__.py", each)):
        if path.endswith(".py") and not _is_test(PurePosixPath(path)):
            for name in _classes_in(sources[path]):
                if name not in seen:
                    seen.add(name)
                    yield _placed(PurePosixPath(path), name, sources, is_installed)


def is_native(source: bytes) -> bool:
    """Whether a source imports the base class of Signoff's own plugins."""
    names = [name for node in ast.walk(_parsed(source)) for name in _imported(node)]
    return any(name == NATIVE_BASE or name.startswith(f"{NATIVE_BASE}.") for name in names)


def _is_test(path: PurePosixPath) -> bool:
    return path.name.startswith("test_") or any(part in TESTS for part in path.parts[:-1])


def _parsed(source: bytes) -> ast.Module:
    if len(source) > MAX_SOURCE_BYTES:
        return ast.Module([], [])
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _classes_in(source: bytes) -> list[str]:
    """The names of a source's plugin classes, without those that only serve as bases of others there."""
    tree = _parsed(source)
    bases = _template_names(tree)
    found: dict[str, list[str]] = {}
    for each in _top_level_classes(tree):
        own = [_dotted(base) for base in each.bases]
        if each.name != TEMPLATE and (any(base in bases or base in found for base in own) or _is_duck(each)):
            found[each.name] = own
    used = {base for own in found.values() for base in own}
    return [name for name in found if name not in used]


def _dotted(base: ast.expr) -> str:
    """How a base is written, if it is a name or an attribute of a name; else ""."""
    parts: list[str] = []
    while isinstance(base, ast.Attribute):
        parts.append(base.attr)
        base = base.value
    return ".".join((base.id, *reversed(parts))) if isinstance(base, ast.Name) else ""


def _template_names(tree: ast.Module) -> set[str]:
    """How the source may write the template's class."""
    names = {TEMPLATE}
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=imported):
                names |= {each.asname or each.name for each in imported if each.name == TEMPLATE}
            case ast.Import(names=imported):
                names |= {f"{each.asname or each.name}.{TEMPLATE}" for each in imported}
            case _:
                pass
    return names


def _top_level_classes(tree: ast.Module) -> Iterator[ast.ClassDef]:
    waiting: list[ast.stmt] = list(reversed(tree.body))
    while waiting:
        match waiting.pop():
            case ast.ClassDef() as found:
                yield found
            case ast.If(body=body, orelse=others) | ast.Try(body=body, orelse=others):
                waiting += reversed([*body, *others])
            case _:
                pass


def _is_duck(found: ast.ClassDef) -> bool:
    """Whether a class without the template as its base has the methods of several hooks."""
    methods = {each.name for each in found.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
    return sum({hook, f"can_handle_{hook}"} <= methods for hook in HOOKS) >= MIN_HOOKS


def _placed(path: PurePosixPath, name: str, sources: Mapping[str, bytes], is_installed: bool) -> PluginClass:
    """The class with its module's place: below `autogpt_plugins` if it is there, else in its topmost package."""
    folders = [*path.parts[:-1]]
    parts = folders if path.name == "__init__.py" else [*folders, path.stem]
    if is_installed:
        start = 0
    elif COLLECTION in folders:
        start = len(folders) - 1 - folders[::-1].index(COLLECTION)
    else:
        start = len(parts) - 1
        while start > 0 and "/".join((*parts[:start], "__init__.py")) in sources:
            start -= 1
    root, module = "/".join(parts[:start]) or ".", "/".join(parts[start:])
    return PluginClass(name=name, root=root, module=module, folder=folders[-1] if folders else parts[-1])


def _imported(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (each.name for each in names)
        case ast.ImportFrom(module=str(module), names=names, level=0):
            yield from (module, *(f"{module}.{each.name}" for each in names))
        case _:
            return
