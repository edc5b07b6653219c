"""Ends the process of a test that runs on after its time limit, and prints all stacks; other tests go on in a new one.

The limit itself raises an exception once, which an event loop can swallow; faulthandler ends a process even if Python
is stuck. Setting its timer takes a switch to another thread, so that is done every few seconds and not for each test.
"""

import faulthandler
import time
from threading import Event, Thread

AFTER_SECONDS = 60.0  # how long a test may run on after its limit, or tidy up after its failure
LOOK_SECONDS = 5.0


class HardEnd:
    """The end of the test that runs, if one does. `output`: the descriptor on which the stacks are printed."""

    def __init__(self, output: int) -> None:
        self._output = output
        self._ends_at: float | None = None
        Thread(target=self._watch, daemon=True).start()

    def set(self, seconds: float) -> None:
        """Let the process end in so many seconds."""
        self._ends_at = time.monotonic() + seconds

    def take_back(self) -> None:
        """Let it live on."""
        self._ends_at = None

    def _watch(self) -> None:
        while not Event().wait(LOOK_SECONDS):
            if (ends_at := self._ends_at) is None:
                faulthandler.cancel_dump_traceback_later()
            else:
                seconds = max(ends_at - time.monotonic(), 0.001)
                faulthandler.dump_traceback_later(seconds, exit=True, file=self._output)
