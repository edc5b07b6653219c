"""Commands that save files from the web: download a file, clone a repository."""

from dataclasses import dataclass
from functools import partial

from pydantic import Field

from agent_core.capabilities.files.commands import FILE_ALIASES
from agent_core.capabilities.web.pages import URL_ALIASES, UrlArguments, load_sites, reached_hosts_text
from agent_core.errors import CommandError
from agent_core.model.command import Preview
from agent_core.ports.database import Database
from agent_core.ports.web import ClonedRepository, Web
from agent_core.text.lines import counted
from agent_core.toolset.registry import Command, CommandContext, CommandOutput, declare

MAX_FILE_BYTES = 25_000_000  # the limit of a workspace file
MAX_REPOSITORY_BYTES = 50_000_000
MAX_LISTED_FILES, MAX_LISTED_SKIPPED, REPORT_INTERVAL_FILES = 40, 20, 50
FOLDER_ALIASES = ("path", "folder", "directory", "dir", "destination", "local_path", "clone_dir", "to")
REPOSITORY_ALIASES = {
    **URL_ALIASES,
    **dict.fromkeys(("repository_url", "repo_url", "repository", "repo"), "url"),
    **dict.fromkeys(FOLDER_ALIASES, "clone_path"),
}


class UrlAndFile(UrlArguments):
    """Something on the web, and a file for it."""

    filename: str = Field(description="path inside the workspace", min_length=1, max_length=400)


class UrlAndFolder(UrlArguments):
    """A repository, and a folder for it."""

    clone_path: str = Field(description="new folder", min_length=1, max_length=400)


@dataclass(frozen=True, slots=True)
class DownloadCommands:
    """Commands that save files from the web. The files are untrusted content, and none of them is run."""

    web: Web
    database: Database

    async def download_file(self, given: UrlAndFile, context: CommandContext) -> CommandOutput:
        """Download something into a file."""
        fetched = await self.web.fetch(given.url, await load_sites(self.database, context), MAX_FILE_BYTES)
        await context.files.write(given.filename, fetched.data, expected=context.approved_basis)
        kind = f", said to be {fetched.kind[:60]}" if fetched.kind else ""
        text = f"{given.filename} now holds {counted(len(fetched.data), 'byte')}{kind}, from {fetched.url}."
        return CommandOutput(
            text="\n".join(filter(None, (text, reached_hosts_text(fetched.hosts)))), files=(given.filename,)
        )

    async def clone_repository(self, given: UrlAndFolder, context: CommandContext) -> str:
        """Copy the files of a git repository, without its history."""
        folder = await _new_folder(given.clone_path, context)
        cloned = await self.web.clone(given.url, await load_sites(self.database, context), MAX_REPOSITORY_BYTES)
        written, why = await _write(cloned, folder, context)
        return _clone_text(cloned, folder, written, why)

    async def preview_download(self, given: UrlAndFile, context: CommandContext) -> Preview:
        """The host, and whether a file is replaced."""
        basis = await context.files.fingerprint(given.filename)
        where = self.web.host_of(given.url, await load_sites(self.database, context))
        what = f"{'replaces' if basis else 'new file'} {given.filename}"
        return Preview(title=f"{where} · {what}", body="", target=given.filename, basis=basis)

    async def preview_clone(self, given: UrlAndFolder, context: CommandContext) -> Preview:
        """The host, and the new folder."""
        folder = await _new_folder(given.clone_path, context)
        where = self.web.host_of(given.url, await load_sites(self.database, context))
        return Preview(title=f"{where} · new folder {folder}", body="", target=folder)

    @property
    def commands(self) -> tuple[Command, ...]:
        fetch = partial(declare, risks=("network", "write"), category="web", outside=True)
        return (
            fetch(
                UrlAndFile,
                self.download_file,
                self.preview_download,
                label="Download",
                synonyms=("download", "fetch_file", "save_url", "wget", "curl"),
                aliases={**URL_ALIASES, **FILE_ALIASES},
            ),
            fetch(
                UrlAndFolder,
                self.clone_repository,
                self.preview_clone,
                label="Clone repository",
                synonyms=("git_clone", "clone_repo", "clone"),
                aliases=REPOSITORY_ALIASES,
            ),
        )


async def _new_folder(path: str, context: CommandContext) -> str:
    """The normalised path; raise CommandError if it is invalid or already exists."""
    await context.files.fingerprint(f"{path}/any")  # raises for an invalid path, also one below a file
    folder = "/".join(part for part in path.split("/") if part not in ("", "."))
    if not folder:
        raise CommandError("Name a new folder for the repository.")
    if any(entry.path == folder or entry.path.startswith(f"{folder}/") for entry in await context.files.list_files()):
        raise CommandError(f"{folder} is there already. Name a new folder for the repository.")
    return folder


async def _write(cloned: ClonedRepository, folder: str, context: CommandContext) -> tuple[int, str]:
    """Write the files; return the number of written files, and the reason why the others were not written."""
    for number, (path, data) in enumerate(cloned.files):
        try:
            await context.files.write(f"{folder}/{path}", data)
        except CommandError as error:
            return number, str(error)
        if number % REPORT_INTERVAL_FILES == 0:
            context.report(f"{number:,} of {len(cloned.files):,} files written")
    return len(cloned.files), ""


def _clone_text(cloned: ClonedRepository, folder: str, written: int, why: str) -> str:
    size = sum(len(data) for _, data in cloned.files[:written])
    number = f"{counted(written, 'file')} ({counted(size, 'byte')})"
    lines = [f"{number} of commit {cloned.commit[:12]}, without .git, now in {folder}."]
    lines += filter(None, [reached_hosts_text(cloned.hosts)])
    if why:
        lines.append(f"{len(cloned.files) - written:,} more were not written: {why}")
    lines += _names_line("Files", [path for path, _ in cloned.files[:written]], MAX_LISTED_FILES)
    lines += _names_line("Left out", cloned.left_out, MAX_LISTED_SKIPPED)
    return "\n".join(lines)


def _names_line(heading: str, names: "list[str] | tuple[str, ...]", limit: int) -> list[str]:
    if not names:
        return []
    more = f", and {len(names) - limit:,} more" if len(names) > limit else ""
    return [f"{heading}: {', '.join(' '.join(name.split()) for name in names[:limit])}{more}."]
