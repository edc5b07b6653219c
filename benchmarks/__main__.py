"""Runs the benches: `python -m benchmarks [name…] [--long]`, each in a process of its own, one table each.

A bench is a module here with a `main()`; one whose name holds an underscore is a part of another.
"""

import argparse
import ast
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    """Run the benches that are named, or all; the exit code tells whether they ran, not whether promises are met."""
    benches = list_benches()
    given = _parse_arguments(benches)
    codes = [_run(name, long=given.long) for name in given.name or benches]
    return max(codes, default=0)


def list_benches() -> Mapping[str, str]:
    """Every bench by its name, with the first line of its docstring."""
    trees = {
        path.stem: ast.parse(path.read_text("utf-8")) for path in sorted(HERE.glob("*.py")) if "_" not in path.stem
    }
    return {name: (ast.get_docstring(tree) or name).splitlines()[0] for name, tree in trees.items() if _is_bench(tree)}


def _is_bench(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body)


def _parse_arguments(benches: Mapping[str, str]) -> argparse.Namespace:
    listed = "\n".join(f"  {name:<10} {what}" for name, what in benches.items())
    parser = argparse.ArgumentParser(
        prog="benchmarks", epilog=f"benches:\n{listed}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", nargs="*", help="which ones; all when none is named")
    parser.add_argument("--long", action="store_true", help="the long forms, which take minutes and gigabytes")
    given = parser.parse_args()
    if unknown := [name for name in given.name if name not in benches]:
        parser.error(f"there is no bench {unknown[0]}; there are {', '.join(benches)}")
    return given


def _run(name: str, *, long: bool) -> int:
    sys.stdout.write("\n")
    sys.stdout.flush()
    flags = ["--long"] if long else []
    return subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *flags], cwd=HERE.parent, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
