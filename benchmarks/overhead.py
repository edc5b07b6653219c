"""Time and disk of an approved turn, saved durably, beside LangGraph with its SqliteSaver.

A model that answers at once plays the same replies to both, and every proposal is approved. Each part runs in a fresh
process; rounds alternate, so that what else the machine does falls on both.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any, TypeAlias

HERE = Path(__file__).parent
RESULTS = HERE / "results"
ENVIRONMENT = HERE / ".venv"
PACKAGES = ("langgraph>=1.2,<2", "langgraph-checkpoint-sqlite>=3,<4")
ROUNDS = 3
POINTS, LONG_POINTS = (10, 60, 300), (10, 60, 300, 1000)
AROUND = 10
POSTGRES_TURNS = 160
WARM_UP = 20  # turns
DISK_NEEDED = 5 * 10**9
LONGEST_PART = 1800.0

NOUNS = (
    "market report supplier segment customer price margin channel product forecast survey region contract warranty "
    "shipment retailer brand licence battery sensor platform invoice budget roadmap risk audit dataset dashboard"
)
KINDS = "quarterly regional premium wholesale verified missing outdated average annual early detailed public"
VERBS = "compare estimate verify collect summarise rank filter review validate outline extract reconcile"
CITIES = "Berlin Austin Osaka Lagos Lima Oslo"

Figures: TypeAlias = Mapping[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--long", action="store_true", help="to turn 1,000, for which LangGraph writes 4 GB")
    points = LONG_POINTS if parser.parse_args().long else POINTS
    RESULTS.mkdir(exist_ok=True)
    langgraph = langgraph_python()
    if langgraph and points[-1] == LONG_POINTS[-1] and shutil.disk_usage(RESULTS).free < DISK_NEEDED:
        _say(f"LangGraph is left out: it needs {DISK_NEEDED / 10**9:.0f} GB of free disk.")
        langgraph = ""
    ours, on_postgres, theirs = measure(langgraph, list(replies(points[-1] + AROUND)))
    report(points, Runs(ours), Runs(theirs) if theirs else None)
    report_cpu(Runs(ours), Runs(on_postgres))


def measure(langgraph: str, script: Sequence[Figures]) -> tuple[list[Figures], list[Figures], list[Figures]]:
    """Every round on SQLite, on PostgreSQL, and of LangGraph; none of LangGraph's without its interpreter."""
    ours, on_postgres, theirs = [], [], []
    signoff = [sys.executable, "-m", "benchmarks.overhead_signoff"]
    for _ in range(ROUNDS):
        ours.append(_part(signoff, script))
        on_postgres.append(_part(signoff, script[:POSTGRES_TURNS], "postgres"))
        if langgraph:
            theirs.append(_part([langgraph, str(HERE / "overhead_langgraph.py")], script))
    return ours, on_postgres, theirs


def langgraph_python() -> str:
    """The interpreter that has LangGraph, which is installed when missing; "" when that cannot be."""
    named = os.environ.get("SIGNOFF_BENCH_LANGGRAPH", "")
    python = Path(named or ENVIRONMENT / "bin" / "python")
    if _has_langgraph(python):
        return str(python)
    if named:
        _say(f"{named} has no LangGraph, so Signoff is measured alone.")
        return ""
    _say(f"Installing LangGraph into {ENVIRONMENT} (once)…")
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True, timeout=120)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True, timeout=600)
    except (subprocess.SubprocessError, OSError) as error:
        _say(f"LangGraph cannot be installed, so Signoff is measured alone ({type(error).__name__}).")
        return ""
    return str(python)


def replies(turns: int) -> Iterator[Figures]:
    """The same replies every time, about 330 tokens each: files are written, added to and read."""
    chance = random.Random(60)
    for turn in range(turns):
        yield {"thoughts": _thoughts(chance), "command": _command(turn, chance)}


@dataclass(frozen=True, slots=True)
class Runs:
    """The rounds of one part."""

    rounds: Sequence[Figures]

    def at(self, turn: int, measure: str) -> float:
        """The median in milliseconds of the turns around this one, in all rounds."""
        seconds: list[float] = [second for each in self.rounds for second in _around(each[measure], turn)]
        return float(median(seconds)) * 1000

    def spread(self, turn: int, measure: str) -> str:
        """The medians of the fastest and of the slowest round."""
        medians = [median(_around(each[measure], turn)) * 1000 for each in self.rounds]
        return f"{min(medians):.1f}-{max(medians):.1f}"

    @property
    def cpu(self) -> float:
        """Milliseconds of CPU of a turn: the median of the rounds' means, in which every third turn embeds memories."""
        means: list[float] = [mean(each["cpu"][WARM_UP:]) for each in self.rounds]
        return median(means) * 1000

    @property
    def typical(self) -> float:
        """The median in milliseconds of all turns to the next card."""
        seconds: list[float] = [second for each in self.rounds for second in each["shown"][WARM_UP:]]
        return median(seconds) * 1000

    @property
    def disk(self) -> float:
        """Megabytes of the database."""
        largest: int = max(each["disk"] for each in self.rounds)
        return largest / 10**6


def report(points: Sequence[int], ours: Runs, theirs: Runs | None) -> None:
    """Print the table and what became of the promises."""
    _say(f"overhead · milliseconds of an approved turn, fsynced: p50 of {ROUNDS} rounds (fastest-slowest round)")
    name = f"LangGraph {theirs.rounds[0]['version']}" if theirs else "LangGraph"
    _say(f"{'':<12}{'to next card':>20}{'all recorded':>20}{name:>26}{'ratio':>8}")
    for turn in points:
        line = f"turn {turn:<7,}{_cell(ours, turn, 'shown'):>20}{_cell(ours, turn, 'whole'):>20}"
        beside = f"{_cell(theirs, turn, 'whole'):>26}{_ratio(theirs, ours, turn):>8.1f}" if theirs else f"{'-':>26}"
        _say(line + beside)
    last = points[-1]
    growths = [f"{_growth(runs, last, measure):.2f}×" if runs else "-" for runs, measure in _columns(ours, theirs)]
    _say(f"{f'{last:,} / 10':<12}{growths[0]:>20}{growths[1]:>20}{growths[2]:>26}")
    beside = f"{theirs.disk:>23,.0f} MB{theirs.disk / ours.disk:>8.0f}" if theirs else f"{'-':>26}"
    _say(f"{'disk':<12}{'':>20}{ours.disk:>17,.1f} MB{beside}")
    for line in _promises(points, ours, theirs):
        _say(line)


def report_cpu(ours: Runs, on_postgres: Runs) -> None:
    """Print a turn's time and CPU on both databases. PostgreSQL's own processes are not in it, and do not fsync."""
    _say(f"{'':<12}{'median, to next card':>22}{'CPU, mean':>12}")
    for name, runs in (("SQLite", ours), ("PostgreSQL", on_postgres)):
        _say(f"{name:<12}{runs.typical:>19.1f} ms{runs.cpu:>9.1f} ms")
    _say(_verdict("a turn on SQLite at most 15 ms", ours.typical, lambda found: found <= 15))
    _say(_verdict("on PostgreSQL at most 25 ms", on_postgres.typical, lambda found: found <= 25))


def _promises(points: Sequence[int], ours: Runs, theirs: Runs | None) -> Iterator[str]:
    last = points[-1]
    yield _verdict(f"turn {last:,} at most 1.2 × turn 10", _growth(ours, last, "shown"), lambda found: found <= 1.2)
    if theirs is None:
        return
    yield _verdict("LangGraph as long at turn 60", _ratio(theirs, ours, 60), lambda found: found >= 1)
    yield _verdict("LangGraph at least 2.5 × at turn 300", _ratio(theirs, ours, 300), lambda found: found >= 2.5)
    if last == LONG_POINTS[-1]:
        yield _verdict("LangGraph at least 10 × at turn 1,000", _ratio(theirs, ours, last), lambda found: found >= 10)
        yield _verdict("at least 100 × less disk", theirs.disk / ours.disk, lambda found: found >= 100)


def _verdict(promise: str, found: float, holds: Callable[[float], bool]) -> str:
    return f"promise: {promise}: {found:.2f} · {'met' if holds(found) else 'NOT MET'}"


def _columns(ours: Runs, theirs: Runs | None) -> tuple[tuple[Runs | None, str], ...]:
    return (ours, "shown"), (ours, "whole"), (theirs, "whole")


def _cell(runs: Runs, turn: int, measure: str) -> str:
    return f"{runs.at(turn, measure):.1f} ({runs.spread(turn, measure)})"


def _ratio(theirs: Runs, ours: Runs, turn: int) -> float:
    return theirs.at(turn, "whole") / ours.at(turn, "shown")


def _growth(runs: Runs, turn: int, measure: str) -> float:
    return runs.at(turn, measure) / runs.at(10, measure)


def _around(seconds: Sequence[float], turn: int) -> Sequence[float]:
    return seconds[max(0, turn - AROUND) : turn + AROUND - 1]


def _part(command: Sequence[str], script: Sequence[Figures], *options: str) -> Figures:
    with tempfile.TemporaryDirectory(dir=RESULTS, prefix="overhead-") as folder:
        (Path(folder) / "replies.json").write_text(json.dumps(script), "utf-8")
        done = subprocess.run(
            [*command, folder, *options], cwd=HERE.parent, check=True, timeout=LONGEST_PART, stdout=subprocess.PIPE
        )
    figures: Figures = json.loads(done.stdout)
    return figures


def _has_langgraph(python: Path) -> bool:
    probe = [str(python), "-c", "import langgraph.graph, langgraph.checkpoint.sqlite"]
    return python.exists() and subprocess.run(probe, check=False, stderr=subprocess.DEVNULL).returncode == 0


def _command(turn: int, chance: random.Random) -> Figures:
    file, facts = f"notes_{turn // 10 + 1}.md", " ".join(_fact(chance) for _ in range(8))
    match turn % 10:
        case 0:
            return {"name": "write_to_file", "args": {"filename": file, "text": facts}}
        case 1 | 4 | 7:
            return {"name": "append_to_file", "args": {"filename": file, "text": f"\n{facts[:450]}"}}
        case 6:
            return {"name": "list_files", "args": {"directory": ""}}
        case step:
            return {"name": "read_file", "args": {"filename": file, "start": 100 * step}}


def _thoughts(chance: random.Random) -> Figures:
    return {
        "text": f"{_sentence(chance)} {_sentence(chance)}",
        "reasoning": " ".join(_sentence(chance) for _ in range(3)),
        "plan": "\n".join(f"- {_sentence(chance)}" for _ in range(5)),
        "criticism": f"{_sentence(chance)} I need to avoid repeating earlier steps.",
        "speak": _sentence(chance),
    }


def _sentence(chance: random.Random) -> str:
    verb, kind, noun, other = (chance.choice(words.split()) for words in (VERBS, KINDS, NOUNS, NOUNS))
    count = chance.randint(2, 97)
    return f"I will {verb} the {kind} {noun} for the {other} team and go through {count} of its entries today."


def _fact(chance: random.Random) -> str:
    kind, noun, city = (chance.choice(words.split()) for words in (KINDS, NOUNS, CITIES))
    return f"The {kind} {noun} shows {chance.randint(3, 9800) / 10} units in {city} in Q{chance.randint(1, 4)}."


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
