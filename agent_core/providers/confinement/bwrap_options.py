"""Options of bubblewrap (namespaces, another user, read-only system, Python, scratch folders), and missing tools."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent_core.providers.confinement.interpreter import PYTHON_ROOT, USR, Interpreter
from agent_core.providers.system_packages import install_command

PATHS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# The package that a program is part of.
PACKAGES = {"bwrap": "bubblewrap", "prlimit": "util-linux", "setpriv": "util-linux", "nice": "coreutils", "sh": "dash"}
NAMESPACES = tuple(f"--unshare-{kind}" for kind in ("ipc", "pid", "net", "uts", "cgroup-try"))
# Capabilities that root keeps inside to switch to another user; `switch_user` then drops them.
USER_SWITCH_CAPABILITIES = (
    "--cap-drop",
    "ALL",
    *(part for name in ("SETUID", "SETGID", "SETPCAP") for part in ("--cap-add", f"CAP_{name}")),
)
PROCESS_OPTIONS = ("--die-with-parent", "--new-session", "--clearenv")
TOP_LEVEL_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
# Folders below /usr and /usr/local that may hold local settings and programs.
HIDDEN_FOLDERS = ("etc", "src", "app", "srv", "var", "www", "home")


def find_program(name: str) -> str:
    """Path of a system program; its name if it is not installed."""
    return shutil.which(name, path=PATHS) or name


def is_installed(name: str) -> bool:
    return shutil.which(name, path=PATHS) is not None


def missing_tools(names: Sequence[str]) -> str:
    """Names the first missing program and the command that installs all missing ones. Return "" if none is missing."""
    missing = [name for name in names if not is_installed(name)]
    if not missing:
        return ""
    packages = dict.fromkeys(PACKAGES[name] for name in missing)
    return f"{missing[0]} is not installed. Install it: {install_command(*packages)}"


def switch_user(user: int) -> tuple[str, ...]:
    """Command prefix that switches to the user and drops all privileges."""
    rights = ("--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--")
    return ("/usr/bin/setpriv", f"--reuid={user}", f"--regid={user}", *rights)


def system_view(usr: Path = USR) -> Iterator[str]:
    """Options that mount `/usr` and the top-level folders read-only, and cover hidden folders with an empty tmpfs."""
    yield from ("--ro-bind", str(usr), str(USR))
    for folder in hidden_folders(usr):
        yield from ("--tmpfs", folder, "--remount-ro", folder)
    for path in (Path("/", name) for name in TOP_LEVEL_FOLDERS):
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    yield from ("--perms", "0755", "--dir", "/etc", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache")
    yield from ("--ro-bind-try", "/etc/alternatives", "/etc/alternatives")


def hidden_folders(usr: Path = USR) -> list[str]:
    """Paths, inside the sandbox, of the folders to hide. Symlinks are skipped: their targets are missing there."""
    places = [Path(*place, name) for place in ((), ("local",)) for name in HIDDEN_FOLDERS]
    return [str(USR / place) for place in places if (usr / place).is_dir() and not (usr / place).is_symlink()]


def python_view(interpreter: Interpreter | None) -> Iterator[str]:
    """Options that mount the Python interpreter, unless /usr has one, and set the environment variables."""
    own = interpreter if interpreter and interpreter.mounts else Interpreter()
    for folder in ("/opt", PYTHON_ROOT, f"{PYTHON_ROOT}/bin", f"{PYTHON_ROOT}/lib") if own.mounts else ():
        yield from ("--perms", "0755", "--dir", folder)
    for source, target in own.mounts:
        yield from ("--ro-bind", str(source), target)
    for target in own.hidden:
        yield from ("--tmpfs", target, "--remount-ro", target)
    python_path = f"{PYTHON_ROOT}/bin:" if own.mounts else ""
    environment = {"PATH": f"{python_path}/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/tmp"}  # noqa: S108
    libraries = {"LD_LIBRARY_PATH": f"{PYTHON_ROOT}/lib"} if own.mounts else {}
    for name, value in (environment | libraries).items():
        yield from ("--setenv", name, value)


def scratch_view(max_bytes: int) -> Iterator[str]:
    """Options for a private `/proc` and `/dev`, and a writable `/tmp` and `/dev/shm` of at most `max_bytes` each."""
    yield from ("--proc", "/proc", "--dev", "/dev")
    for scratch in ("/dev/shm", "/tmp"):  # noqa: S108 - the sandbox's own /tmp
        yield from ("--perms", "1777", "--size", str(max_bytes), "--tmpfs", scratch)
