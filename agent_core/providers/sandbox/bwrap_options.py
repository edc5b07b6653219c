"""Options that bubblewrap is always started with: namespaces, another user, and the system without its own settings."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent_core.providers.sandbox.interpreter import INSIDE, SHOWN, Interpreter
from agent_core.providers.system_packages import install_command

PATHS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# The package that a program is part of.
PACKAGES = {"bwrap": "bubblewrap", "prlimit": "util-linux", "setpriv": "util-linux", "nice": "coreutils", "sh": "dash"}
NAMESPACES = tuple(f"--unshare-{kind}" for kind in ("ipc", "pid", "net", "uts", "cgroup-try"))
# What root keeps inside until it has become another user; `become` then drops all of it.
TO_BECOME = (
    "--cap-drop",
    "ALL",
    *(part for name in ("SETUID", "SETGID", "SETPCAP") for part in ("--cap-add", f"CAP_{name}")),
)
ENDED_WITH_US = ("--die-with-parent", "--new-session", "--clearenv")
TOP = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
# Folders below /usr and /usr/local that are no part of the system: settings, and programs with their settings.
HIDDEN = ("etc", "src", "app", "srv", "var", "www", "home")


def tool(name: str) -> str:
    """Where a program of the system is; its name where it is not installed."""
    return shutil.which(name, path=PATHS) or name


def is_installed(name: str) -> bool:
    """Whether the system has the program."""
    return shutil.which(name, path=PATHS) is not None


def missing_tools(names: Sequence[str]) -> str:
    """The first of these programs that is not installed, and the command that installs all that are missing; or ""."""
    missing = [name for name in names if not is_installed(name)]
    if not missing:
        return ""
    packages = dict.fromkeys(PACKAGES[name] for name in missing)
    return f"{missing[0]} is not installed. Install it: {install_command(*packages)}"


def become(user: int) -> tuple[str, ...]:
    """What is run inside, before anything else, to be that user and nobody again."""
    rights = ("--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--")
    return ("/usr/bin/setpriv", f"--reuid={user}", f"--regid={user}", *rights)


def system_view(usr: Path = SHOWN) -> Iterator[str]:
    """`/usr` and the old names of its folders. An empty folder lies over each that is hidden."""
    yield from ("--ro-bind", str(usr), str(SHOWN))
    for folder in hidden_folders(usr):
        yield from ("--tmpfs", folder, "--remount-ro", folder)
    for path in (Path("/", name) for name in TOP):
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    yield from ("--perms", "0755", "--dir", "/etc", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache")
    yield from ("--ro-bind-try", "/etc/alternatives", "/etc/alternatives")


def hidden_folders(usr: Path = SHOWN) -> list[str]:
    """Those of the hidden folders that there are, by their paths inside the sandbox. A link leads nowhere there."""
    places = [Path(*place, name) for place in ((), ("local",)) for name in HIDDEN]
    return [str(SHOWN / place) for place in places if (usr / place).is_dir() and not (usr / place).is_symlink()]


def python_view(interpreter: Interpreter | None) -> Iterator[str]:
    """The Python that programs run on, where the system has none of its own."""
    own = interpreter if interpreter and interpreter.shown else Interpreter()
    for folder in ("/opt", INSIDE, f"{INSIDE}/bin", f"{INSIDE}/lib") if own.shown else ():
        yield from ("--perms", "0755", "--dir", folder)
    for here, there in own.shown:
        yield from ("--ro-bind", str(here), there)
    for there in own.hidden:
        yield from ("--tmpfs", there, "--remount-ro", there)
    first = f"{INSIDE}/bin:" if own.shown else ""
    told = {"PATH": f"{first}/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/tmp"}  # noqa: S108
    libraries = {"LD_LIBRARY_PATH": f"{INSIDE}/lib"} if own.shown else {}
    for name, value in (told | libraries).items():
        yield from ("--setenv", name, value)


def scratch_view(most_bytes: int) -> Iterator[str]:
    """`/proc` and `/dev` of the sandbox's own, and the two places that anything may be written to, each limited."""
    yield from ("--proc", "/proc", "--dev", "/dev")
    for scratch in ("/dev/shm", "/tmp"):  # noqa: S108 - inside the sandbox it is its own
        yield from ("--perms", "1777", "--size", str(most_bytes), "--tmpfs", scratch)
