"""Finds the Python interpreter for programs in the sandbox: the system's, or the running one."""

import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

SYSTEM_PYTHONS = (Path("/usr/local/bin/python3"), Path("/usr/bin/python3"))
USR = Path("/usr")
PYTHON_ROOT = "/opt/python"


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python for the sandbox. `mounts`: (source, target) paths that must be mounted; empty for a Python in /usr."""

    mounts: tuple[tuple[Path, str], ...] = ()

    @classmethod
    def find(cls) -> "Interpreter | None":
        """The system's Python in /usr, else the running one; None if neither can be used."""
        if any(path.exists() and path.resolve().is_relative_to(USR) for path in SYSTEM_PYTHONS):
            return cls()
        return cls.running()

    @classmethod
    def running(cls) -> "Interpreter | None":
        """The running Python with its standard library only, without site-packages and virtual environment."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        base = Path(sys.base_prefix)
        program, library = base / "bin" / version, Path(sysconfig.get_path("stdlib"))
        if not program.is_file() or not (library / "os.py").is_file():
            return None
        mounts = [(program.resolve(), f"{PYTHON_ROOT}/bin/python3"), (library, f"{PYTHON_ROOT}/lib/{version}")]
        libraries = sorted((base / "lib").glob("libpython3*.so*"))
        return cls((*mounts, *((path.resolve(), f"{PYTHON_ROOT}/lib/{path.name}") for path in libraries)))

    @property
    def hidden(self) -> tuple[str, ...]:
        """Paths of site-packages inside the sandbox, which an empty folder must cover."""
        return tuple(f"{target}/site-packages" for source, target in self.mounts if (source / "site-packages").is_dir())
