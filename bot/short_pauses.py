"""Keeps short what stops the whole process: searches for garbage, and threads that hold the interpreter's lock.

A search stops the whole process: for 5 to 20 ms among new objects, for 70 to 250 ms among all that a burst of clicks
set to work (measured with 1,200 agents at work).
"""

import gc
import sys
import time
from collections.abc import Callable

from agent_core.ports.clock import Clock

NEW_OBJECTS = 5_000  # more objects made than freed, after which new ones are searched; Python's default is 700
SEARCHES_BEFORE_LONG_ONE = 20  # Python's default is 10
SEARCHES_BEFORE_WHOLE_ONE = 20  # long ones, before one among all objects
THRESHOLDS = (NEW_OBJECTS, 20 * SEARCHES_BEFORE_LONG_ONE, 50)  # a process that is never quiet searches all the same
SWITCH_SECONDS = 0.0005
LOOK_SECONDS = 1.0
QUIET_SHARE = 0.2  # of a second, for which the event loop's thread computes at most in a quiet one


def prefer_short_pauses() -> None:
    """Let the event loop wait less for others.

    Searches are rare, and leave out what is loaded by now, because scanning it stops the process for 80 ms. A thread
    that computes hands over the interpreter's lock after half a millisecond, not after Python's 5 ms.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


async def search_in_quiet_moments(clock: Clock, computed: Callable[[], float] = time.thread_time) -> None:
    """Do the long searches after a second in which little was computed. Runs until it is cancelled.

    `computed`: seconds of CPU of this thread.
    """
    before = computed()
    while True:
        await clock.sleep(LOOK_SECONDS)
        if computed() - before < QUIET_SHARE * LOOK_SECONDS:
            _, short_searches, long_searches = gc.get_count()
            if long_searches >= SEARCHES_BEFORE_WHOLE_ONE:
                gc.collect()
            elif short_searches >= SEARCHES_BEFORE_LONG_ONE:
                gc.collect(1)
        before = computed()
