"""Stops all processes of a worker by signals between its questions, and lets them go on: a stopped one does nothing."""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from agent_core.providers.confinement.bwrap_process import BwrapProcess
from agent_core.providers.confinement.resource_use import ProcessTree

MAX_ROUNDS = 20  # of looking for processes that were started meanwhile


async def stop(process: BwrapProcess) -> bool:
    """Stop the process and all below it; False if they grow too fast to be stopped. Raise OSError if it ended."""
    return await _in_thread(_stop_all, process)


async def go_on(process: BwrapProcess) -> None:
    """Let the process and all below it go on; raise OSError if it ended."""
    await _in_thread(_wake_all, process)


async def _in_thread(tell: Callable[[int, int], bool], process: BwrapProcess) -> bool:
    """Tell the tree of the process, whose pidfd may be closed meanwhile, and whose number may be another one's then."""
    return await asyncio.shield(asyncio.to_thread(_tell, tell, process.root_pid, os.dup(process.pidfd)))


def _tell(tell: Callable[[int, int], bool], root: int, pidfd: int) -> bool:
    try:
        return tell(root, pidfd)
    finally:
        os.close(pidfd)


def _stop_all(root: int, pidfd: int) -> bool:
    stopped: set[int] = set()
    for _ in range(MAX_ROUNDS):
        found = _signal_all(root, pidfd, signal.SIGSTOP)
        if found <= stopped:  # each was told at least twice: none of them can have woken another one
            return True
        stopped |= found
    return False


def _wake_all(root: int, pidfd: int) -> bool:
    return bool(_signal_all(root, pidfd, signal.SIGCONT))


def _signal_all(root: int, pidfd: int, number: signal.Signals) -> set[int]:
    """Signal the tree, but no process that got the number of one that ended; return whom. Nobody if the root ended."""
    below = set(ProcessTree.below(root).processes)
    try:
        signal.pidfd_send_signal(pidfd, number)
    except OSError:
        return set()
    return {root} | {each for each in below - {root} if _signal(each, below, number)}


def _signal(process: int, parents: set[int], number: signal.Signals) -> bool:
    with suppress(OSError):
        pidfd = os.pidfd_open(process)
        try:
            fields = Path(f"/proc/{process}/stat").read_text("utf-8", "replace")
            if int(fields.rpartition(")")[2].split()[1]) in parents:  # the name before may contain any character
                signal.pidfd_send_signal(pidfd, number)
                return True
        finally:
            os.close(pidfd)
    return False
