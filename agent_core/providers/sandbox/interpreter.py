"""The Python that programs in the sandbox run on: the system's, or the one that runs this."""

import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SYSTEM = (Path("/usr/local/bin/python3"), Path("/usr/bin/python3"))
SHOWN = Path("/usr")
INSIDE = "/opt/python"


@dataclass(frozen=True, slots=True)
class Interpreter:
    """What has to be shown in the sandbox so that `python3` runs there: (path here, path there)."""

    shown: tuple[tuple[Path, str], ...] = ()

    @classmethod
    def found(cls) -> "Interpreter | None":
        """The system's if it has one, else this process's own; None when that is not where it should be."""
        if any(path.exists() and path.resolve().is_relative_to(SHOWN) for path in SYSTEM):
            return cls()
        return cls.own()

    @classmethod
    def own(cls) -> "Interpreter | None":
        """The one that runs this, alone with its standard library: nothing that was installed beside it, no venv."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        base = Path(sys.base_prefix)
        program, library = base / "bin" / version, Path(sysconfig.get_path("stdlib"))
        if not program.is_file() or not (library / "os.py").is_file():
            return None
        places = [(program.resolve(), f"{INSIDE}/bin/python3"), (library, f"{INSIDE}/lib/{version}")]
        return cls((*places, *_shared(base)))

    @property
    def hidden(self) -> tuple[str, ...]:
        """Folders of what was installed, which are covered."""
        return tuple(f"{there}/site-packages" for here, there in self.shown if (here / "site-packages").is_dir())


def _shared(base: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted((base / "lib").glob("libpython3*.so*")):
        yield path.resolve(), f"{INSIDE}/lib/{path.name}"
