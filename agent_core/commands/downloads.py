"""Commands that bring files of the web into the agent's workspace."""

from dataclasses import dataclass
from functools import partial

from pydantic import Field

from agent_core.commands.files import FILE
from agent_core.commands.pages import URL, UrlArguments, reached
from agent_core.commands.registry import Command, CommandContext, CommandOutput, declared
from agent_core.errors import CommandError
from agent_core.model.command import Preview
from agent_core.model.sites import SITES_KEY, Sites, parse_sites
from agent_core.ports.database import Database
from agent_core.ports.web import ClonedRepository, Web

MOST_FILE = 25_000_000  # what one file of a workspace may hold
MOST_REPOSITORY = 50_000_000
TOLD_FILES, TOLD_LEFT_OUT, TELL_EVERY = 40, 20, 50
FOLDER = ("path", "folder", "directory", "dir", "destination", "local_path", "clone_dir", "to")
REPOSITORY = {
    **URL,
    **dict.fromkeys(("repository_url", "repo_url", "repository", "repo"), "url"),
    **dict.fromkeys(FOLDER, "clone_path"),
}


class UrlAndFile(UrlArguments):
    """Something on the web, and a file for it."""

    filename: str = Field(description="path inside the workspace", min_length=1, max_length=400)


class UrlAndFolder(UrlArguments):
    """A repository, and a folder for it."""

    clone_path: str = Field(description="new folder", min_length=1, max_length=400)


@dataclass(frozen=True, slots=True)
class DownloadCommands:
    """What an agent can fetch. Files come from anybody, and nothing of them is ever run by fetching them."""

    web: Web
    database: Database

    async def download_file(self, given: UrlAndFile, context: CommandContext) -> CommandOutput:
        """Download something into a file."""
        fetched = await self.web.fetch(given.url, await self._sites(context), MOST_FILE)
        await context.files.write(given.filename, fetched.data, expected=context.approved_basis)
        kind = f", said to be {fetched.kind[:60]}" if fetched.kind else ""
        said = f"{given.filename} now holds {len(fetched.data):,} bytes{kind}, from {fetched.url}."
        return CommandOutput(text="\n".join(filter(None, (said, reached(fetched.hosts)))), files=(given.filename,))

    async def clone_repository(self, given: UrlAndFolder, context: CommandContext) -> str:
        """Copy the files of a git repository, without its history."""
        folder = await _new_folder(given.clone_path, context)
        cloned = await self.web.clone(given.url, await self._sites(context), MOST_REPOSITORY)
        written, why = await _write(cloned, folder, context)
        return _told(cloned, folder, written, why)

    async def preview_download(self, given: UrlAndFile, context: CommandContext) -> Preview:
        """Where it comes from, and whether a file is replaced."""
        basis = await context.files.fingerprint(given.filename)
        where = self.web.host_of(given.url, await self._sites(context))
        what = f"{'replaces' if basis else 'new file'} {given.filename}"
        return Preview(title=f"{where} · {what}", body="", target=given.filename, basis=basis)

    async def preview_clone(self, given: UrlAndFolder, context: CommandContext) -> Preview:
        """Where it comes from and goes to."""
        folder = await _new_folder(given.clone_path, context)
        where = self.web.host_of(given.url, await self._sites(context))
        return Preview(title=f"{where} · new folder {folder}", body="", target=folder)

    @property
    def commands(self) -> tuple[Command, ...]:
        """Both."""
        fetch = partial(declared, risks=("network", "write"), category="web", outside=True)
        return (
            fetch(
                UrlAndFile,
                self.download_file,
                self.preview_download,
                label="Download",
                synonyms=("download", "fetch_file", "save_url", "wget", "curl"),
                aliases={**URL, **FILE},
            ),
            fetch(
                UrlAndFolder,
                self.clone_repository,
                self.preview_clone,
                label="Clone repository",
                synonyms=("git_clone", "clone_repo", "clone"),
                aliases=REPOSITORY,
            ),
        )

    async def _sites(self, context: CommandContext) -> Sites:
        async with self.database.begin() as work:
            return parse_sites(await work.preferences.get(context.agent.channel, SITES_KEY))


async def _new_folder(path: str, context: CommandContext) -> str:
    """The folder's plain path; raise CommandError where it is none, or holds something."""
    await context.files.fingerprint(f"{path}/any")  # says what is wrong with a path, also one through a file
    folder = "/".join(part for part in path.split("/") if part not in ("", "."))
    if not folder:
        raise CommandError("Name a new folder for the repository.")
    if any(entry.path == folder or entry.path.startswith(f"{folder}/") for entry in await context.files.list_files()):
        raise CommandError(f"{folder} is there already. Name a new folder for the repository.")
    return folder


async def _write(cloned: ClonedRepository, folder: str, context: CommandContext) -> tuple[int, str]:
    """How many files were written, and why not all of them."""
    for number, (path, data) in enumerate(cloned.files):
        try:
            await context.files.write(f"{folder}/{path}", data)
        except CommandError as fault:
            return number, str(fault)
        if number % TELL_EVERY == 0:
            context.report(f"{number:,} of {len(cloned.files):,} files written")
    return len(cloned.files), ""


def _told(cloned: ClonedRepository, folder: str, written: int, why: str) -> str:
    size = sum(len(data) for _, data in cloned.files[:written])
    number = "1 file" if written == 1 else f"{written:,} files"
    lines = [f"{number} ({size:,} bytes) of commit {cloned.commit[:12]}, without .git, now in {folder}."]
    lines += filter(None, [reached(cloned.hosts)])
    if why:
        lines.append(f"{len(cloned.files) - written:,} more were not written: {why}")
    lines += _listed("Files", [path for path, _ in cloned.files[:written]], TOLD_FILES)
    lines += _listed("Left out", cloned.left_out, TOLD_LEFT_OUT)
    return "\n".join(lines)


def _listed(heading: str, names: "list[str] | tuple[str, ...]", most: int) -> list[str]:
    if not names:
        return []
    more = f", and {len(names) - most:,} more" if len(names) > most else ""
    return [f"{heading}: {', '.join(' '.join(name.split()) for name in names[:most])}{more}."]
