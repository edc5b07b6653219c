"""Tokens of a scripted run through the real loop and the OpenAI SDK, beside what other systems take for the same work.

A stub on this machine plays the replies and logs every request. What a provider could bill as repeated is the longest
beginning that a prompt shares with any earlier one, in steps of 128 tokens from 1,024 on (OpenAI's prompt caching).
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmarks.tokens_figures import Figures, figures_of
from benchmarks.tokens_run import record_calls
from benchmarks.tokens_script import Script, script_from

PRICES = (0.10, 0.25, 0.50)
# Measured once with those systems on a run of this kind, tokens by cl100k_base: prompt, effective at 10 %, share, seen.
OTHERS: Mapping[str, tuple[int, int, float, str]] = {
    "AutoGPT 0.2.2": (156_722, 156_722, 0.0, "0.63"),
    "AutoGPT 0.3.1": (256_675, 256_675, 0.0, "-"),
    "LangGraph 1.2": (1_140_714, 153_911, 0.96, "all"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--long", action="store_true", help="300 turns as well")
    parser.add_argument("--seed", default="", help="another run of the same kind")
    parser.add_argument("--script", type=Path, help="a Python file with a class Transcript, instead of our own script")
    parser.add_argument(
        "--times", type=int, default=0, help="approve this many at a time: fewer clicks, the same prompts"
    )
    given = parser.parse_args()
    script = script_from(given.script, given.seed) if given.script else Script(given.seed)
    short = figures_of(asyncio.run(record_calls(script, 60)))
    report(short)
    if given.long:
        long = figures_of(asyncio.run(record_calls(script, 300)))
        _say("")
        for line in growth_lines(long):
            _say(line)


def report(figures: Figures) -> None:
    """Print what the run took, what others took, and what became of the promises."""
    _say(
        f"tokens · {figures.chats} turns, {figures.summaries} summaries, {figures.other_calls} other calls, cl100k_base"
    )
    _say(f"{'':<18}{'prompt':>10}{'effective at 10 %':>20}{'25 %':>10}{'50 %':>10}{'repeated':>10}{'turns seen':>12}")
    effective = "".join(f"{figures.effective(price):>{20 if price == 0.10 else 10},.0f}" for price in PRICES)
    _say(f"{'Signoff':<18}{figures.prompt:>10,}{effective}{figures.share:>10.0%}{figures.visible:>12.2f}")
    for name, (prompt, at_ten, share, visible) in OTHERS.items():
        _say(f"{name:<18}{prompt:>10,}{at_ten:>20,}{'':>20}{share:>10.0%}{visible:>12}")
    _say(
        f"standing prompt {figures.standing:,} · completion {figures.completion:,} · embeddings "
        f"{figures.embeddings} calls, {figures.embedded:,} tokens · largest prompt {max(figures.sizes):,}"
    )
    for line in promises(figures):
        _say(line)


def promises(figures: Figures) -> Iterator[str]:
    """A line for each promise."""
    ours = figures.effective(0.10)
    yield verdict("effective tokens at 10 % at most 44,000", ours, lambda found: found <= 44_000)
    yield verdict("… 3.6 × better than AutoGPT 0.2.2", OTHERS["AutoGPT 0.2.2"][1] / ours, lambda found: found >= 3.55)
    yield verdict("… 4.9 × better than AutoGPT 0.3.1", OTHERS["AutoGPT 0.3.1"][1] / ours, lambda found: found >= 4.9)
    yield verdict("at 50 % at most 90,000", figures.effective(0.50), lambda found: found <= 90_000)
    yield verdict("repeated at least 75 %", figures.share * 100, lambda found: found >= 75)
    yield verdict("earlier turns in sight, on average at least 5", figures.visible, lambda found: found >= 5)
    yield verdict("earlier turns in sight, never 0", figures.fewest_visible, lambda found: found > 0)
    yield verdict("embedding calls a turn at most 1", figures.embeddings / figures.chats, lambda found: found <= 1)
    yield verdict("embedding tokens at most 40,000", figures.embedded, lambda found: found <= 40_000)


def growth_lines(figures: Figures) -> Iterator[str]:
    """What a turn takes later on."""
    early, late = figures.around(60), figures.around(300)
    yield f"tokens · a prompt around turn 60 takes {early:,.0f}, around turn 300 {late:,.0f}"
    yield verdict("tokens of a turn at 300 at most 1.1 × those at 60", late / early, lambda found: found <= 1.1)


def verdict(promise: str, found: float, is_met: Callable[[float], bool]) -> str:
    """The promise, what was found, and whether that meets it."""
    shown = f"{found:,.0f}" if abs(found) >= 1_000 else f"{found:,.2f}"
    return f"{'met' if is_met(found) else 'NOT MET':<8} {promise}: {shown}"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
