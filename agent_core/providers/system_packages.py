"""Shell commands that install what is missing: packages of the operating system, and extras of Signoff."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

IS_CLONE = (Path(__file__).parents[2] / "pyproject.toml").is_file()  # not a package that was installed away from one


def install_command(*packages: str) -> str:
    """A command for apt or dnf, with sudo unless the user is root; apt if neither is found."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    names = " ".join(packages)
    if shutil.which("dnf") and not shutil.which("apt-get"):
        return f"{sudo}dnf install {names}"
    return f"{sudo}apt-get update && {sudo}apt-get install {names}"


def install_text(extra: str, *, is_clone: bool = IS_CLONE) -> str:
    """The command that installs an extra of Signoff."""
    return f"make extras EXTRAS={extra}" if is_clone else f"pip install 'signoff[{extra}]'"


def missing_text(package: str, extra: str, *, module: str = "") -> str:
    """What to do to have a package of an extra, to follow the name of what needs it; "" if it is installed."""
    return (
        ""
        if find_spec(module or package)
        else f"needs the package {package}: run {install_text(extra)}, then start again."
    )
