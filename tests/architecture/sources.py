"""The files of the repository, and what stands in its modules."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHIPPED = ("bot", "adapters", "agent_core")
SLOW, IN_A_BROWSER = "pytest.mark.slow", "IN_A_BROWSER"  # tests/browser/browsing.py: the latter stands for the first
FOLDERS = (*SHIPPED, "tests", "benchmarks", "examples", "docs", ".ci")


@dataclass(frozen=True, slots=True)
class Source:
    """A module's path and its syntax tree."""

    path: Path
    nodes: Sequence[ast.AST]


def sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from (path for path in (ROOT / folder).rglob("*.py") if ".venv" not in path.parts)


def parse(*folders: str, word: str = "") -> Iterator[Source]:
    """All modules in these folders in which this word stands."""
    for path in sources(*folders):
        if word in (text := path.read_text()):
            yield Source(path.relative_to(ROOT), [*ast.walk(ast.parse(text))])


def of_core(shipped: Sequence[Source]) -> Sequence[Source]:
    return [source for source in shipped if source.path.parts[0] == "agent_core"]


def imported(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def proved(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "proves":
            yield from (str(ast.literal_eval(argument)) for argument in node.args)


def without_slow_tests(source: Source) -> Source:
    """A test module without what is marked slow: a test, a class, or all of it. A slow case of a test is left in."""
    module = source.nodes[0]
    return Source(source.path, [] if any(map(_marks_module_slow, ast.iter_child_nodes(module))) else [*_quick(module)])


def _marks_module_slow(node: ast.AST) -> bool:
    is_slow = isinstance(node, ast.Assign) and any(mark in ast.unparse(node.value) for mark in (SLOW, IN_A_BROWSER))
    return is_slow and "pytestmark" in ast.unparse(node)


def _quick(node: ast.AST) -> Iterator[ast.AST]:
    if SLOW not in map(ast.unparse, getattr(node, "decorator_list", [])):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _quick(child)


def texts() -> Iterator[tuple[Path, str]]:
    tops = (path for path in ROOT.iterdir() if path.is_file() and path.name not in (".env", ".coverage"))
    below = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file())
    for path in (*tops, *below):
        if {".venv", "results", "__pycache__"} & set(path.parts):
            continue
        try:
            yield path.relative_to(ROOT), path.read_text()
        except UnicodeDecodeError:
            continue
