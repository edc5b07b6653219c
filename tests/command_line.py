"""Runs commands of `python -m bot` in forks of a process that has loaded the code: that takes longer than most runs."""

import asyncio
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "bot.__main__",
        "bot.bootstrap",
        "bot.commands",
        "bot.findings.doctor",
        "agent_core.capabilities.export",
        "alembic.command",
    ]
)


async def said(folder: Path, *arguments: str, **environ: str) -> tuple[int | None, str]:
    """The exit code and everything printed by `python -m bot` in this folder, with no other variables."""
    return await asyncio.to_thread(_run, folder, arguments, {"PATH": "", **environ})


def _run(folder: Path, arguments: Sequence[str], environ: Mapping[str, str]) -> tuple[int | None, str]:
    with tempfile.NamedTemporaryFile() as output:
        process = FORKS.Process(target=_execute, args=(folder, arguments, environ, output.name))
        process.start()
        process.join()
        code = process.exitcode
        process.close()
        return code, output.read().decode()


def _execute(folder: Path, arguments: Sequence[str], environ: Mapping[str, str], output: str) -> None:
    from bot.__main__ import main

    descriptor = os.open(output, os.O_WRONLY | os.O_APPEND)
    for each in (1, 2):
        os.dup2(descriptor, each)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    sys.exit(main(arguments))
