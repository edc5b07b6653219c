"""`python -m tests.simulation [STORM] [FIRST] [LAST]` runs these seeds and prints what went wrong."""

import sys
import time

from tests.simulation.test_simulation import STORMS, run_seed

if __name__ == "__main__":
    given = sys.argv[1:]
    storms = [given.pop(0)] if given and given[0] in STORMS else list(STORMS)
    first = int(given[0]) if given else 0
    last = int(given[1]) if len(given) > 1 else first
    for storm in storms:
        begun, bad = time.perf_counter(), 0
        for seed in range(first, last + 1):
            complaints = run_seed(seed, storm).complaints()
            bad += bool(complaints)
            for complaint in complaints:
                sys.stdout.write(f"{storm}, seed {seed}: {complaint}\n")
        seconds = time.perf_counter() - begun
        sys.stdout.write(f"{storm}: {bad} of {last - first + 1} seeds, {seconds:.1f} s\n")
