"""How people run Signoff's own commands here (in a clone or installed), and what they know this process by."""

import os
import socket
from pathlib import Path

IS_CLONE = (Path(__file__).parents[2] / "pyproject.toml").is_file()  # not a package that was installed away from one
MADE = ("run", "address", "doctor")  # the Makefile has them, and sets up what is missing first


def command_text(line: str, *, is_clone: bool = IS_CLONE) -> str:
    """The line for a shell that runs a command of Signoff, such as `address` or `solo --name Clerk`."""
    if not is_clone:
        return f"signoff {line}"
    return f"make {line}" if line in MADE else f"python -m bot {line}"


def install_text(extra: str, *, is_clone: bool = IS_CLONE) -> str:
    """The line for a shell that installs an extra of Signoff."""
    return f"make extras EXTRAS={extra}" if is_clone else f"pip install 'signoff[{extra}]'"


def process_text() -> str:
    """This process as an operator finds it: its id, and the machine."""
    return f"Process {os.getpid()} on {socket.gethostname()}"
