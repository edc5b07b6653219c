"""A fake `docker` program: runs the container's command on this machine, in new namespaces, without images.

It records its command lines in the file `recorded_lines` of its folder. It isolates far less than the real one.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

BWRAP_OPTIONS = ("bwrap", "--unshare-pid", "--die-with-parent")
FLAGS = ("--rm", "--init", "--read-only")  # options without a value


def install(folder: Path, *, runtimes: str = "runc io.containerd.runc.v2", images: tuple[str, ...] = ()) -> str:
    """Install it into the folder; return the PATH that finds it."""
    folder.mkdir()
    (folder / "told.json").write_text(json.dumps({"runtimes": runtimes, "images": images}))
    program = folder / "docker"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__)} {folder} "$@"\n')
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def recorded_lines(folder: Path) -> list[list[str]]:
    """The command lines it was called with, in order."""
    return [json.loads(line) for line in (folder / "lines").read_text().splitlines()]


def execute(folder: Path, words: list[str]) -> int:
    """Execute one command line; return its exit code."""
    told = json.loads((folder / "told.json").read_text())
    with (folder / "lines").open("a") as kept:
        kept.write(json.dumps(words) + "\n")
    match words:
        case ["info", *_]:
            sys.stdout.write(f"{told['runtimes']}\n")
        case ["image", "inspect", *_, image]:
            return 0 if image in told["images"] else 1
        case ["ps", *_]:
            found = ((path.stem, path.with_suffix(".process")) for path in folder.glob("*.pid"))
            sys.stdout.writelines(f"{name} {who.read_text() if who.exists() else ''}\n" for name, who in found)
        case ["rm", "--force", *names]:
            for name in names:
                remove(folder / f"{name}.pid")
        case ["run", *options]:
            return run(folder, options)
        case _:
            return 1
    return 0


def run(folder: Path, words: list[str]) -> int:
    """Run the command after the image, in the mounted folder."""
    options, line = parse_options(words)
    volumes = [words[place + 1].split(":") for place, word in enumerate(words) if word == "--volume"]
    (source, *_), *others = volumes
    shown = [*root(), "--bind", source, source, "--chdir", source]
    for there, inside, _ in others:
        shown += ["--ro-bind", there, inside]
    limited = ("prlimit", f"--as={options['--memory']}")
    process = subprocess.Popen([*limited, *BWRAP_OPTIONS, *shown, "--", *line[1:]])
    state = folder / f"{options['--name']}.pid"
    state.write_text(str(process.pid))
    code = process.wait()
    state.unlink(missing_ok=True)
    return code if code >= 0 else 128 - code


def root() -> list[str]:
    """The options that mount this machine's top-level folders into a new root, where more can be mounted."""
    shown = ["--dev", "/dev", "--proc", "/proc"]
    for path in sorted(Path("/").iterdir()):
        if path.is_symlink():
            shown += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir() and path.name not in ("dev", "proc"):
            shown += ["--ro-bind-try", str(path), str(path)]
    return shown


def parse_options(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """The options with their last values, and the arguments from the image on."""
    options, place = {}, 0
    while words[place].startswith("--"):
        width = 1 if words[place] in FLAGS else 2
        options[words[place]] = words[place + width - 1]
        place += width
    return options, words[place:]


def remove(state: Path) -> None:
    """Kill a running container."""
    with suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int(state.read_text()), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(execute(Path(sys.argv[1]), sys.argv[2:]))
