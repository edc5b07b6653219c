"""The one command that installs packages of the operating system."""

import os
import shutil


def install_command(*packages: str) -> str:
    """What to type in a shell of this machine; apt's on a machine with no package manager that is known here."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    names = " ".join(packages)
    if shutil.which("dnf") and not shutil.which("apt-get"):
        return f"{sudo}dnf install {names}"
    return f"{sudo}apt-get update && {sudo}apt-get install {names}"
