"""`python -m tests.crash.import_killer FILE`: the real import, killed just before or just after a step.

A step is a file that is written, a batch of two rows, or what is done before and after all rows. DIES_AT is the number
of the step and DIES the moment. A program that comes to its end says how many steps it made.
"""

import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from typing import Any

from agent_core.capabilities.files.workspace_transfer import WorkspaceTransfer
from agent_core.persistence import row_transfer
from bot.__main__ import main


def run(at: int, moment: str, arguments: list[str]) -> int:
    """The command line, with a killer in it."""
    made, numbers = list[int](), count(1)

    def killing(step: Callable[..., Any]) -> Callable[..., Any]:
        def killed(*given: Any, **named: Any) -> Any:
            number = next(numbers)
            die(number == at and moment == "before")
            result = step(*given, **named)
            die(number == at and moment == "after")
            made.append(number)
            return result

        return killed

    setattr(row_transfer, "BATCH_ROWS", 2)  # noqa: B010 (mypy would have it no other way)
    for name in ("_require_empty", "_require_going_on", "put_all_texts"):
        setattr(row_transfer, name, killing(getattr(row_transfer, name)))
    setattr(WorkspaceTransfer, "restore", killing(WorkspaceTransfer.restore))  # noqa: B010
    code = main(["import", *arguments])
    sys.stdout.write(f"It made {len(made)} steps.\n")
    return code


def die(is_time: bool) -> None:
    """Die, if it is time: no handler runs and nothing is flushed or closed."""
    if is_time:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(run(int(os.environ["DIES_AT"]), os.environ["DIES"], sys.argv[1:]))
