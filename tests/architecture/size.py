"""Counts the lines of code by room: `make size`. Blank lines, comments and docstrings do not count."""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.sources import ROOT


@dataclass(frozen=True, slots=True)
class Room:
    """A part of the house: its folders and modules, and the most lines of code that it may have."""

    most: int
    paths: tuple[str, ...]


KERNEL = "agent_core/memory", "agent_core/providers"  # what several features share
# The longest path that fits a module names its room. A limit is lowered when code goes; raising it needs a decision.
ROOMS: Mapping[str, Room] = {
    "model": Room(2_850, ("agent_core/model", "agent_core/text", "agent_core/errors.py")),
    "rules": Room(1_015, ("agent_core/oversight", "agent_core/spending")),
    "store": Room(3_185, ("agent_core/persistence",)),
    "loop": Room(2_279, ("agent_core/loop",)),
    "replies": Room(890, ("agent_core/replies",)),
    "prompt": Room(1_365, ("agent_core/prompt",)),
    "service": Room(3_510, ("agent_core/service",)),
    "engine": Room(404, ("agent_core/engines",)),
    "ports": Room(715, ("agent_core/ports",)),
    "toolset": Room(1_270, ("agent_core/toolset", "agent_core/plugins")),
    "capabilities": Room(16_415, ("agent_core/capabilities", *KERNEL, "adapters/mcp")),
    "testing": Room(865, ("agent_core/testing",)),
    "assembly": Room(305, ("agent_core",)),
    "screens": Room(5_190, ("adapters",)),
    "slack and discord": Room(6_315, ("adapters/slack", "adapters/discord")),
    "web and terminal": Room(4_300, ("adapters/web", "adapters/terminal")),
    "bot": Room(4_110, ("bot",)),
    "tests": Room(73_820, ("tests",)),
    "benchmarks": Room(2_850, ("benchmarks",)),
}
SUPPORT = ("tests", "benchmarks")  # what is no part of the product


def code_lines(source: str) -> int:
    """The number of lines of a module that hold code."""
    docstrings = set(_docstring_lines(ast.parse(source)))
    lines = enumerate(source.split("\n"), start=1)
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") and at not in docstrings for at, line in lines)


def sizes(root: Path = ROOT) -> dict[str, int]:
    """The lines of code of each room."""
    found = dict.fromkeys(ROOMS, 0)
    for top in ("agent_core", "adapters", "bot", "tests", "benchmarks"):
        for module in (path for path in (root / top).rglob("*.py") if ".venv" not in path.parts):
            found[room_of(module.relative_to(root).as_posix())] += code_lines(module.read_text(encoding="utf-8"))
    return found


def room_of(module: str) -> str:
    """The room of a module, by its path from the project's folder."""
    fitting = (
        (len(path), name) for name, room in ROOMS.items() for path in room.paths if f"{module}/".startswith(f"{path}/")
    )
    return max(fitting)[1]


def table(found: Mapping[str, int]) -> str:
    """The rooms with their lines and limits, and the sum of the product."""
    rows = {room: (lines, ROOMS[room].most) for room, lines in found.items()}
    now, most = (sum(row[at] for room, row in rows.items() if room not in SUPPORT) for at in (0, 1))
    heading = f"{'lines of code':<20}{'now':>8}{'most':>8}\n"
    named = (*rows.items(), ("product", (now, most)))
    return heading + "".join(f"{room:<20}{lines:>8,}{limit:>8,}\n" for room, (lines, limit) in named)


def _docstring_lines(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
            ast.get_docstring(node, clean=False) is not None
        ):
            first = node.body[0]
            yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)


if __name__ == "__main__":
    sys.stdout.write(table(sizes()))
