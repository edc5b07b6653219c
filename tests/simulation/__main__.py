"""`python -m tests.simulation [STORM] [FIRST] [LAST]` runs these seeds on all cores and prints what went wrong."""

import gc
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from tests.simulation.test_simulation import STORMS, find_complaints, silence

SEEDS_AT_A_TIME = 10

if __name__ == "__main__":
    given = sys.argv[1:]
    storms = [given.pop(0)] if given and given[0] in STORMS else list(STORMS)
    first = int(given[0]) if given else 0
    seeds = range(first, (int(given[1]) if len(given) > 1 else first) + 1)
    with silence(), ProcessPoolExecutor(initializer=gc.freeze) as processes:  # what is loaded is not scanned each time
        for storm in storms:
            begun, bad = time.perf_counter(), 0
            found = processes.map(partial(find_complaints, storm=storm), seeds, chunksize=SEEDS_AT_A_TIME)
            for seed, complaints in zip(seeds, found, strict=True):
                bad += bool(complaints)
                for complaint in complaints:
                    sys.stdout.write(f"{storm}, seed {seed}: {complaint}\n")
            seconds = time.perf_counter() - begun
            sys.stdout.write(f"{storm}: {bad} of {len(seeds)} seeds, {seconds:.1f} s\n")
            sys.stdout.flush()
