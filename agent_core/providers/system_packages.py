"""Shell commands that install what is missing: packages of the operating system, and extras of Signoff."""

import os
import shutil
from importlib.util import find_spec

from agent_core.text.own_commands import install_text


def install_command(*packages: str) -> str:
    """A command for apt or dnf, with sudo unless the user is root; apt if neither is found."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    names = " ".join(packages)
    if shutil.which("dnf") and not shutil.which("apt-get"):
        return f"{sudo}dnf install {names}"
    return f"{sudo}apt-get update && {sudo}apt-get install {names}"


def missing_text(package: str, extra: str, *, module: str = "") -> str:
    """What to do to have a package of an extra, to follow the name of what needs it; "" if it is installed."""
    return (
        ""
        if find_spec(module or package)
        else f"needs the package {package}: run {install_text(extra)}, then start again."
    )
