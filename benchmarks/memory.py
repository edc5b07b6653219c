"""Recalling: how long a search of the embedded index takes, what it misses, and what it holds in memory."""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

HERE = Path(__file__).parent
RESULTS = HERE / "results"
SMALL, MIDDLE, LARGE = 1_000, 10_000, 100_000
LONGEST_PART = 1800.0
KINDS = {"clustered": "clustered, 1536", "texts": "real texts, 256"}

Figures: TypeAlias = Mapping[str, float]
Runs: TypeAlias = Mapping[tuple[str, int], Figures]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--long", action="store_true", help="100,000 memories too, for which 2 GB of disk are needed")
    sizes = (SMALL, MIDDLE, LARGE) if parser.parse_args().long else (SMALL, MIDDLE)
    RESULTS.mkdir(exist_ok=True)
    report({(kind, number): measure(kind, number) for kind in KINDS for number in sizes})


def measure(kind: str, number: int) -> Figures:
    """Make so many memories and search them, each in a fresh process."""
    with tempfile.TemporaryDirectory(dir=RESULTS, prefix="memory-") as folder:
        _part("memory_filling", folder, kind, str(number))
        figures: Figures = json.loads(_part("memory_searching", folder))
    return figures


def report(runs: Runs) -> None:
    """Print the tables and what became of the promises."""
    _say("memory · the ten nearest by the embedded index over SQLite; milliseconds of 1,000 searches")
    _say(f"{'':<28}{'p50':>8}{'p99':>8}{'recall@10':>11}{'save':>8}{'then p50':>10}{'first':>9}")
    for (kind, number), run in runs.items():
        name = f"{KINDS[kind]}: {number:,}"
        times = f"{_ms(run['p50']):>8}{_ms(run['p99']):>8}{run['recall']:>11.4f}{_ms(run['save']):>8}"
        rest = f"{_ms(run['search_after']):>10}{_ms(run['first'], 0):>9}"
        _say(times.join((f"{name:<28}", rest)))
    _say(f"{'MB':<28}{'before':>8}{'after':>8}")
    for (kind, number), run in runs.items():
        parts = "".join(f"{run[each] / 10**6:>8,.0f}" for each in ("idle", "held"))
        _say(f"{f'{KINDS[kind]}: {number:,}':<28}{parts}")
    for line in _promises(runs):
        _say(line)


def _promises(runs: Runs) -> Iterator[str]:
    yield _verdict("10,000: p99 at most 25 ms", runs["clustered", MIDDLE]["p99"] * 1000, lambda found: found <= 25)
    recall = min(run["recall"] for run in runs.values())
    yield _verdict("recall@10 at least 0.999", recall, lambda found: found >= 0.999)
    taken = max(run["held"] - run["idle"] for run in runs.values()) / 10**6
    yield _verdict("memory of the index at most 400 MB", taken, lambda found: found <= 400)


def _verdict(promise: str, found: float, holds: Callable[[float], bool]) -> str:
    return f"promise: {promise}: {found:.2f} · {'met' if holds(found) else 'NOT MET'}"


def _ms(seconds: float, places: int = 1) -> str:
    return f"{seconds * 1000:,.{places}f}"


def _part(module: str, *given: str) -> bytes:
    command = [sys.executable, "-m", f"benchmarks.{module}", *given]
    return subprocess.run(command, cwd=HERE.parent, check=True, timeout=LONGEST_PART, stdout=subprocess.PIPE).stdout


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
