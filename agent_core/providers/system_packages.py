"""Shell command that installs packages of the operating system."""

import os
import shutil


def install_command(*packages: str) -> str:
    """A command for apt or dnf, with sudo unless the user is root; apt if neither is found."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    names = " ".join(packages)
    if shutil.which("dnf") and not shutil.which("apt-get"):
        return f"{sudo}dnf install {names}"
    return f"{sudo}apt-get update && {sudo}apt-get install {names}"
