"""Clones the newest commit of a git repository and reads the files from git's object store.

No file is checked out, so hooks, filters, attributes, symlinks and submodules have no effect, and paths are only text.
git reaches the network only through the egress proxy, reads no configuration, and is killed with its process tree.
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
from agent_core.model.channel_settings import Sites
from agent_core.ports.web import ClonedRepository
from agent_core.providers.egress.gateway import EgressGateway
from agent_core.providers.egress.proxy import EgressProxy, open_tunnel
from agent_core.providers.process_end import end_process
from agent_core.providers.system_packages import install_command

MAX_FILES = 1_000
MAX_FILE_BYTES = 5_000_000  # longer files are seldom source code
OVERHEAD_BYTES = 20_000_000  # output besides the files: listing, headers, errors
CHUNK_BYTES = 65_536
MAX_MEMORY_BYTES = 2_000_000_000
WATCH_SECONDS = 0.2
# Nothing that runs programs, prompts, or uses other protocols than http and https.
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
    """A file of a commit: mode, blob hash, size in bytes, path."""

    mode: str
    blob: str
    size: int
    path: str

    def fault(self) -> str:
        """Why the file must be skipped: its path, kind or size; "" if it need not be."""
        parts = self.path.split("/")
        if any(part.lower() in ("", ".", "..", ".git") for part in parts) or "\\" in self.path:
            return "a path that leads out"
        if self.mode == "120000":
            return "a link"
        if self.mode == "160000":
            return "another repository"
        return "" if self.size <= MAX_FILE_BYTES else f"{self.size:,} bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class GitCloner:
    """Clones with the installed git. `seconds`: the timeout of one clone."""

    gateway: EgressGateway
    seconds: float = 180.0

    async def clone(self, url: str, sites: Sites, most: int) -> ClonedRepository:
        """Files of the newest commit, at most `most` bytes in all; raise CommandError."""
        admitted = await self.gateway.admit(url, sites)
        if fault := git_fault():
            raise CommandError(fault)
        with TemporaryDirectory(prefix="signoff-clone-", ignore_cleanup_errors=True) as folder:
            async with open_tunnel(self.gateway, sites, _max_repository_bytes(most)) as proxy:
                git = _Git(folder=Path(folder), proxy=proxy, most=most)
                try:
                    async with asyncio.timeout(self.seconds):
                        await git.fetch(admitted.target.url)
                        return replace(await git.files(), hosts=tuple(proxy.reached))
                except TimeoutError:
                    said = f"{admitted.target.url} was not cloned within {self.seconds:g} seconds."
                    raise CommandError(said) from None


def git_fault() -> str:
    """Why git cannot be used here, as a sentence; "" if it can."""
    return "" if shutil.which("git") else f"git is not installed. Install it: {install_command('git')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Git:
    folder: Path
    proxy: EgressProxy
    most: int

    async def fetch(self, url: str) -> None:
        """Clone the newest commit into the folder; raise CommandError if git fails or the clone is too large."""
        options = ("--bare", "--depth=1", "--single-branch", "--no-tags", "--template=", "--quiet")
        cloning = asyncio.create_task(self._run("clone", *options, "--", url, str(self.folder / "repository")))
        try:
            while not cloning.done():
                await asyncio.wait({cloning}, timeout=WATCH_SECONDS)
                if self.proxy.is_over_limit or await asyncio.to_thread(_size, self.folder) > _max_repository_bytes(
                    self.most
                ):
                    raise CommandError(
                        f"{url} is too large: more than {self.most:,} bytes. Download single files of it."
                    )
        finally:
            cloning.cancel()
            await asyncio.gather(cloning, return_exceptions=True)
        if why := _clone_fault(url, *cloning.result(), self.proxy.refusals):
            raise CommandError(why)

    async def files(self) -> ClonedRepository:
        """The files of the commit; raise CommandError if there is none."""
        code, commit, _ = await self._run("rev-parse", "--verify", "HEAD", inside=True)
        if code:
            raise CommandError("The repository is empty.")
        _, listing, _ = await self._run("ls-tree", "-r", "-z", "--long", "--full-tree", "HEAD", inside=True)
        taken, left_out = _select(_entries(listing), self.most)
        wanted = "".join(f"{entry.blob}\n" for entry in taken).encode()
        _, contents, _ = await self._run("cat-file", "--batch", inside=True, given=wanted)
        return ClonedRepository(commit=commit.decode().strip(), files=_contents(taken, contents), left_out=left_out)

    async def _run(self, *arguments: str, inside: bool = False, given: bytes = b"") -> tuple[int, bytes, bytes]:
        """Run git; return exit code, stdout and stderr. The process group is killed afterwards."""
        where = ("--git-dir", str(self.folder / "repository")) if inside else ()
        settings = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        process = await asyncio.create_subprocess_exec(
            *_limited(_max_repository_bytes(self.most)),
            *("git", *settings, *where, *arguments),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            cwd=self.folder,
            env=self._environment(),
            start_new_session=True,
        )
        most = OVERHEAD_BYTES + self.most
        reading = [asyncio.create_task(_read_all(stream, most)) for stream in (process.stdout, process.stderr)]
        try:
            await _write_all(process.stdin, given)
            said, complaint = await asyncio.gather(*reading)
            return await process.wait(), said, complaint
        finally:
            for each in reading:
                each.cancel()
            await asyncio.gather(*reading, return_exceptions=True)
            await _end(process)

    def _environment(self) -> Mapping[str, str]:
        """The environment of git, without the bot's variables. It holds the proxy's password: others cannot read it."""
        proxy = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), self.proxy.url_with_credentials)
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.folder),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_HTTP_USER_AGENT": self.proxy.gateway.user_agent,
            "GIT_HTTP_LOW_SPEED_LIMIT": "100",
            "GIT_HTTP_LOW_SPEED_TIME": "30",
            "no_proxy": "",
            **proxy,
        }


def _max_repository_bytes(most: int) -> int:
    """The limit of received bytes and of the folder's size: objects, skipped files and git's own files count too."""
    return OVERHEAD_BYTES + 2 * most


def _limited(most_bytes: int) -> tuple[str, ...]:
    """A prlimit prefix that limits memory and file size, if prlimit is installed."""
    limits = ("prlimit", f"--as={MAX_MEMORY_BYTES}", f"--fsize={most_bytes}", "--core=0", "--")
    return limits if shutil.which("prlimit") else ()


async def _read_all(stream: asyncio.StreamReader | None, most: int) -> bytes:
    """All output; raise CommandError if it is longer than `most` bytes.

    The list of files of even a small repository can be huge, if its trees contain one subtree many times.
    """
    said = bytearray()
    while stream and (chunk := await stream.read(CHUNK_BYTES)):
        said += chunk
        if len(said) > most:
            raise CommandError("The repository has too many files to list.")
    return bytes(said)


async def _write_all(stream: asyncio.StreamWriter | None, data: bytes) -> None:
    if stream is None:
        return
    with suppress(ConnectionError):
        stream.write(data)
        await stream.drain()
        stream.close()


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await end_process(process)


def _clone_fault(url: str, code: int, _said: bytes, complaint: bytes, refusals: list[str]) -> str:
    """Why git failed, as our own sentence: git's stderr contains text from the remote."""
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


def _select(entries: list[GitEntry], most: int) -> tuple[list[GitEntry], tuple[str, ...]]:
    """The files that fit into `most` bytes, and the skipped ones as "path (reason)"."""
    taken: list[GitEntry] = []
    left_out: list[str] = []
    left = most
    for entry in entries:
        why = entry.fault()
        why = why or ("too many files" if len(taken) >= MAX_FILES else "" if entry.size <= left else "no room")
        if why:
            left_out.append(f"{entry.path} ({why})")
            continue
        taken.append(entry)
        left -= entry.size
    return taken, tuple(left_out)


def _contents(taken: list[GitEntry], data: bytes) -> tuple[tuple[str, bytes], ...]:
    """Each file with its bytes from `git cat-file --batch`: a header line with the size, the bytes, a newline."""
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
