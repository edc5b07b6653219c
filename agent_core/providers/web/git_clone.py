"""Fetches a git repository's newest commit and reads its files out of git's own store.

Nothing is ever checked out: no hook, filter, attribute, link or submodule of a repository can do anything, and a path
in it is a text and nothing more. git gets out by the door alone, sees no setting of anybody's, and is ended with all
that it started.
"""

import asyncio
import os
import shutil
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from agent_core.errors import CommandError
from agent_core.model.sites import Sites
from agent_core.ports.web import Cloned
from agent_core.providers.egress.gateway import EgressGateway
from agent_core.providers.egress.proxy import EgressProxy, open_tunnel
from agent_core.providers.system_packages import install_command

MOST_FILES = 1_000
MOST_FILE = 5_000_000  # what is longer is seldom source
MOST_SAID = 20_000_000  # beyond the files' own bytes: a listing, headings, complaints
CHUNK = 65_536
MOST_MEMORY = 2_000_000_000
LOOK = 0.2
# Only what a clone needs: nothing that runs programs, asks people, or reaches past http.
SETTINGS = {
    "protocol.allow": "never",
    "protocol.http.allow": "always",
    "protocol.https.allow": "always",
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.askPass": "",
    "credential.helper": "",
    "init.templateDir": "",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "transfer.bundleURI": "false",
    "gc.auto": "0",
    "pack.threads": "1",
    "core.bigFileThreshold": "16m",
}


@dataclass(frozen=True, slots=True)
class GitEntry:
    """A file of a commit: its mode, the name of its content, its size and its path."""

    mode: str
    blob: str
    size: int
    path: str

    def fault(self) -> str:
        """Why the file is not taken; "" for one that is."""
        parts = self.path.split("/")
        if any(part.lower() in ("", ".", "..", ".git") for part in parts) or "\\" in self.path:
            return "a path that leads out"
        if self.mode == "120000":
            return "a link"
        if self.mode == "160000":
            return "another repository"
        return "" if self.size <= MOST_FILE else f"{self.size:,} bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class GitCloner:
    """Runs the machine's git."""

    door: EgressGateway
    seconds: float = 180.0

    async def clone(self, url: str, sites: Sites, most: int) -> Cloned:
        """The files of the newest commit, `most` bytes at most; raise CommandError."""
        way = await self.door.admit(url, sites)
        if fault := git_fault():
            raise CommandError(fault)
        with TemporaryDirectory(prefix="signoff-clone-", ignore_cleanup_errors=True) as folder:
            async with open_tunnel(self.door, sites, _room(most)) as proxy:
                git = _Git(folder=Path(folder), proxy=proxy, most=most)
                try:
                    async with asyncio.timeout(self.seconds):
                        await git.fetch(way.target.url)
                        return replace(await git.files(), hosts=tuple(proxy.reached))
                except TimeoutError:
                    said = f"{way.target.url} was not cloned within {self.seconds:g} seconds."
                    raise CommandError(said) from None


def git_fault() -> str:
    """Why nothing can be cloned here, as a sentence; "" where it can."""
    return "" if shutil.which("git") else f"git is not installed. Install it: {install_command('git')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Git:
    folder: Path
    proxy: EgressProxy
    most: int

    async def fetch(self, url: str) -> None:
        """Bring the newest commit into the folder; raise CommandError."""
        options = ("--bare", "--depth=1", "--single-branch", "--no-tags", "--template=", "--quiet")
        fetching = asyncio.create_task(self._ran("clone", *options, "--", url, str(self.folder / "repository")))
        try:
            while not fetching.done():
                await asyncio.wait({fetching}, timeout=LOOK)
                if self.proxy.is_shut or await asyncio.to_thread(_size, self.folder) > _room(self.most):
                    raise CommandError(
                        f"{url} is too large: more than {self.most:,} bytes. Download single files of it."
                    )
        finally:
            fetching.cancel()
            await asyncio.gather(fetching, return_exceptions=True)
        if why := _why_not(url, *fetching.result(), self.proxy.refusals):
            raise CommandError(why)

    async def files(self) -> Cloned:
        """What the commit holds; raise CommandError where there is none."""
        code, commit, _ = await self._ran("rev-parse", "--verify", "HEAD", inside=True)
        if code:
            raise CommandError("The repository is empty.")
        _, listing, _ = await self._ran("ls-tree", "-r", "-z", "--long", "--full-tree", "HEAD", inside=True)
        taken, left_out = _chosen(_entries(listing), self.most)
        wanted = "".join(f"{entry.blob}\n" for entry in taken).encode()
        _, contents, _ = await self._ran("cat-file", "--batch", inside=True, given=wanted)
        return Cloned(commit=commit.decode().strip(), files=_contents(taken, contents), left_out=left_out)

    async def _ran(self, *arguments: str, inside: bool = False, given: bytes = b"") -> tuple[int, bytes, bytes]:
        """The exit code and both streams. Whatever git started is ended with it."""
        where = ("--git-dir", str(self.folder / "repository")) if inside else ()
        settings = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        process = await asyncio.create_subprocess_exec(
            *_bounded(_room(self.most)),
            *("git", *settings, *where, *arguments),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            cwd=self.folder,
            env=self._environment(),
            start_new_session=True,
        )
        most = MOST_SAID + self.most
        reading = [asyncio.create_task(_all_of(stream, most)) for stream in (process.stdout, process.stderr)]
        try:
            await _give(process.stdin, given)
            said, complaint = await asyncio.gather(*reading)
            return await process.wait(), said, complaint
        finally:
            for each in reading:
                each.cancel()
            await asyncio.gather(*reading, return_exceptions=True)
            await _end(process)

    def _environment(self) -> Mapping[str, str]:
        """Nothing of the bot's own. The proxy's password stands here, where other users cannot read it."""
        proxy = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), self.proxy.key_and_address)
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.folder),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_HTTP_USER_AGENT": self.proxy.door.agent,
            "GIT_HTTP_LOW_SPEED_LIMIT": "100",
            "GIT_HTTP_LOW_SPEED_TIME": "30",
            "no_proxy": "",
            **proxy,
        }


def _room(most: int) -> int:
    """Bytes that may come in and lie on disk: packed, but with what is left out, and with git's own files."""
    return MOST_SAID + 2 * most


def _bounded(most_bytes: int) -> tuple[str, ...]:
    """What bounds git's memory and files, where the machine has it: all of Linux does."""
    limits = ("prlimit", f"--as={MOST_MEMORY}", f"--fsize={most_bytes}", "--core=0", "--")
    return limits if shutil.which("prlimit") else ()


async def _all_of(stream: asyncio.StreamReader | None, most: int) -> bytes:
    """What a program says; raise CommandError when it goes on, as a few trees that hold each other can make it."""
    said = bytearray()
    while stream and (chunk := await stream.read(CHUNK)):
        said += chunk
        if len(said) > most:
            raise CommandError("The repository has too many files to list.")
    return bytes(said)


async def _give(stream: asyncio.StreamWriter | None, data: bytes) -> None:
    if stream is None:
        return
    with suppress(ConnectionError):
        stream.write(data)
        await stream.drain()
        stream.close()


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.communicate()


def _why_not(url: str, code: int, _said: bytes, complaint: bytes, refusals: list[str]) -> str:
    """Why git failed, in our words: in its own stands what the other side wrote."""
    if refusals:
        return refusals[0]
    if not code:
        return ""
    if b"could not read Username" in complaint or b"Authentication failed" in complaint:
        return f"{url} wants a login, or there is no such repository."
    if b"not found" in complaint or b"not valid: is this a git repository" in complaint:
        return f"There is no git repository at {url}."
    return f"git could not fetch {url}. Check that it is a repository's address and try again later."


def _entries(listing: bytes) -> list[GitEntry]:
    found = []
    for line in listing.split(b"\0")[:-1]:
        facts, _, path = line.decode("utf-8", "replace").partition("\t")
        mode, _, blob, size = facts.split()
        found.append(GitEntry(mode, blob, int(size) if size.isdecimal() else 0, path))
    return found


def _chosen(entries: list[GitEntry], most: int) -> tuple[list[GitEntry], tuple[str, ...]]:
    """What is taken, in the order of paths, and what is not, with the reason."""
    taken: list[GitEntry] = []
    left_out: list[str] = []
    room = most
    for entry in entries:
        why = entry.fault()
        why = why or ("too many files" if len(taken) >= MOST_FILES else "" if entry.size <= room else "no room")
        if why:
            left_out.append(f"{entry.path} ({why})")
            continue
        taken.append(entry)
        room -= entry.size
    return taken, tuple(left_out)


def _contents(taken: list[GitEntry], data: bytes) -> tuple[tuple[str, bytes], ...]:
    """Each file with its bytes, as `git cat-file --batch` gives them: a line with the size, the bytes, a line end."""
    files, at = [], 0
    for entry in taken:
        start = data.index(b"\n", at) + 1
        at = start + entry.size + 1
        files.append((entry.path, data[start : at - 1]))
    return tuple(files)


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.lstat().st_size
    return total
