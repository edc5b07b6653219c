"""Ends a program that was started: kills it, closes its pipes, and waits for its end."""

from asyncio.subprocess import Process

from agent_core.ports.database import finish_uncancelled


async def end_process(process: Process) -> None:
    """Kill the program if it still runs, close its pipes, and wait for its end, also if this is cancelled meanwhile."""
    close_pipes(process)
    await finish_uncancelled(process.wait())


def close_pipes(process: Process) -> None:
    """Close the pipes, also those that another process holds open, and kill the program if it still runs."""
    transport = getattr(process, "_transport", None)
    if transport:
        transport.close()
