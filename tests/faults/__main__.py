"""`python -m tests.faults SEED SECONDS [PAUSE] [FOLDER] [--sqlite] [--turns=N]` prints a storm's faults.

It ends after SECONDS or, if that is earlier, after N turns.
"""

import asyncio
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

from tests.faults.storm import run_storm
from tests.standins.postgres import serving_postgres

if __name__ == "__main__":
    given = [each for each in sys.argv[1:] if not each.startswith("--")]
    enough = next((int(each.partition("=")[2]) for each in sys.argv if each.startswith("--turns=")), None)
    seed, seconds = int(given[0]), float(given[1])
    pause = float(given[2]) if len(given) > 2 else 3
    folder = Path(given[3] if len(given) > 3 else tempfile.mkdtemp(prefix="signoff-faults-"))
    with nullcontext() if "--sqlite" in sys.argv else serving_postgres() as server:
        storm = asyncio.run(run_storm(folder, server, seed, seconds, pause, enough=enough))
    sys.stdout.write("\n".join((*storm.machines.history, *storm.complaints(), storm.report(), f"in {folder}", "")))
