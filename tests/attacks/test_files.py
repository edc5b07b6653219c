"""Attacks on workspaces: paths, links and names that lead out, and files made to hurt whoever reads them."""

import io
import os
import resource
import socket
import threading
import unicodedata
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path, PureWindowsPath

import pytest
from aiohttp import ClientSession

from agent_core.capabilities.documents.document_reader import DocumentReader
from agent_core.capabilities.files.commands import FileCommands
from agent_core.capabilities.files.folder_workspace import FolderFiles
from agent_core.capabilities.files.workspace_paths import Limits
from agent_core.errors import CommandError
from agent_core.model.agent import Finished
from agent_core.model.command import CommandCall
from agent_core.testing.examples import an_agent, keep
from agent_core.testing.language_model import ScriptedModel
from agent_core.testing.stage import Stage
from agent_core.toolset.registry import CommandContext, Commands
from tests.attacks.rows import attack
from tests.scenario.served import served
from tests.standins.documents import WORD_NAMESPACE, archive, compressed_stream, line, pdf, word

# Attacks on the workspace of files: paths and links that lead out, and files made to hurt whoever reads them
COMMANDS = Commands.of(*FileCommands(DocumentReader(refusal=str)).commands)
SECRET = "the secret of the host"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    inside.mkdir()
    return inside


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    beyond = tmp_path / "outside"
    beyond.mkdir()
    (beyond / "secret.txt").write_text(SECRET)
    return beyond


async def told(files: FolderFiles, name: str, **arguments: object) -> str:
    """What the agent reads of a command, whether it ran or not."""
    call = COMMANDS.checked(CommandCall(name, arguments))
    try:
        return (await COMMANDS.get(name).run(call.arguments, CommandContext(agent=an_agent(), files=files))).text
    except CommandError as error:
        return str(error)


OUT = "refused: {!r} is not a path inside the workspace: use a relative path without '..' or links out."


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            "../outside/secret.txt",
            marks=attack("files", "Path traversal: `../outside/secret.txt`", OUT.format("../outside/secret.txt")),
        ),
        pytest.param(
            "/etc/passwd", marks=attack("files", "An absolute path: `/etc/passwd`", OUT.format("/etc/passwd"))
        ),
        pytest.param("a.txt\0/../../x", marks=attack("files", "A null byte in a path", OUT.format("a.txt\0/../../x"))),
        pytest.param(
            "..\\outside\\secret.txt",
            marks=attack(
                "files",
                "Backslashes: `..\\outside\\secret.txt`",
                "refused: '..\\\\outside\\\\secret.txt' cannot be a file's name: "
                "write / between folders, not a backslash.",
            ),
        ),
        pytest.param(
            "report\u202etxt.exe",
            marks=attack(
                "files",
                "A name with a right-to-left override, so that `exe` looks like `txt`",
                "refused: 'report\\u202etxt.exe' cannot be a file's name: it holds a character that cannot be shown.",
            ),
        ),
        pytest.param(
            "a.txt\n",
            marks=attack(
                "files",
                "A name that ends with a line feed",
                "refused: 'a.txt\\n' cannot be a file's name: it holds a character that cannot be shown.",
            ),
        ),
        pytest.param(
            "d/" * 30 + "a.txt",
            marks=attack("files", "Thirty nested folders", "refused: A path may lie at most 20 folders deep."),
        ),
    ],
)
async def test_a_path_is_refused_for_reading_writing_and_deleting(folder: Path, path: str, answer: str) -> None:
    files = FolderFiles(folder)
    said = {await told(files, name, filename=path) for name in ("read_file", "delete_file")}
    said |= {await told(files, name, filename=path, text="x") for name in ("write_to_file", "append_to_file")}
    assert {f"refused: {each}" for each in said} == {answer}
    assert os.listdir(folder) == []  # noqa: PTH208


def device(path: Path) -> None:
    """The machine's memory of zeros, or a socket where nobody may make devices."""
    try:
        os.mknod(path, 0o666 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(os.path.relpath(path))


PLANTED: dict[str, Callable[[Path, Path], None]] = {
    "link": lambda folder, outside: (folder / "link").symlink_to(outside / "secret.txt"),
    "way/secret.txt": lambda folder, outside: (folder / "way").symlink_to(outside),
    "pipe": lambda folder, _: os.mkfifo(folder / "pipe"),
    "zero": lambda folder, _: device(folder / "zero"),
    "hard": lambda folder, outside: os.link(outside / "secret.txt", folder / "hard"),
}


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("link", marks=attack("files", "A symlink to a file outside", OUT.format("link"))),
        pytest.param(
            "way/secret.txt",
            marks=attack("files", "A path through a symlink to a folder outside", OUT.format("way")),
        ),
        pytest.param(
            "pipe",
            marks=attack(
                "files",
                "A named pipe, which would block its reader",
                "refused: pipe is a pipe, a socket or a device, not a file.",
            ),
        ),
        pytest.param(
            "zero",
            marks=attack(
                "files",
                "An endless device (a socket where the tests may not make one)",
                "refused: zero is a pipe, a socket or a device, not a file.",
            ),
        ),
        pytest.param(
            "hard",
            marks=attack(
                "files",
                "A hard link to a file outside",
                "refused: hard is linked to from elsewhere and is left alone.",
            ),
        ),
    ],
)
async def test_what_a_program_planted_is_not_followed(folder: Path, outside: Path, path: str, answer: str) -> None:
    PLANTED[path](folder, outside)
    files = FolderFiles(folder)
    said = {await told(files, "read_file", filename=path)}
    said |= {await told(files, name, filename=path, text="x") for name in ("write_to_file", "append_to_file")}
    assert {f"refused: {each}" for each in said} == {answer}
    assert await told(files, "search_files", query="secret") in ("No file holds 'secret'.", HARD)
    assert (outside / "secret.txt").read_text() == SECRET


HARD = "No file holds 'secret'.\n(1 file was not looked into but for the name: no plain text, too long, or too many.)"


@pytest.mark.slow
@attack(
    "files", "Race condition: a folder repeatedly replaced by a symlink to the outside", "nothing outside is touched"
)
async def test_a_swapped_folder_lets_nothing_out(folder: Path, outside: Path, answer: str) -> None:
    files, over, seen = FolderFiles(folder), threading.Event(), set[str]()

    def swap() -> None:
        for number in count():
            with suppress(FileExistsError):
                (folder / "way").symlink_to(outside)
            if (folder / "way").is_symlink():
                (folder / "way").unlink()
            else:
                (folder / "way").rename(folder / f"old-{number}")
            if over.is_set():
                return

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for number in range(100):
            await told(files, "write_to_file", filename="way/a.txt", text=str(number))
            seen.add(await told(files, "read_file", filename="way/secret.txt"))
    finally:
        over.set()
        swapper.join()
    untouched = os.listdir(outside) == ["secret.txt"] and SECRET not in seen  # noqa: PTH208
    assert ("nothing outside is touched" if untouched else str(seen)) == answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "make"),
    [
        pytest.param(
            "a.docx",
            lambda: word(line("&b;"), before='<!DOCTYPE d [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'),
            marks=attack(
                "files",
                "A Word file with XML entity expansion (billion laughs)",
                "a.docx declares entities as no real document does, so it is left alone.",
            ),
        ),
        pytest.param(
            "b.docx",
            lambda: word(line("&s;"), before='<!DOCTYPE d [<!ENTITY s SYSTEM "file:///etc/passwd">]>'),
            marks=attack(
                "files",
                "A Word file with an XML external entity (XXE)",
                "b.docx declares entities as no real document does, so it is left alone.",
            ),
        ),
        pytest.param(
            "c.docx",
            lambda: word(" " * 110_000_000),
            marks=attack(
                "files",
                "A decompression bomb: a Word file of 100 kB that unpacks to 110 MB",
                "c.docx unpacks to more than can be read.",
            ),
        ),
        pytest.param(
            "d.pdf",
            lambda: pdf(compressed_stream(bytes(1_000_000), 200)),
            marks=attack(
                "files",
                "A PDF of 200 kB with a page that unpacks to 200 MB",
                "d.pdf is damaged, so it cannot be read.",
            ),
        ),
        pytest.param(
            "e.pdf",
            lambda: pdf(tree="<</Type/Pages/Count 9999999/Kids[2 0 R 2 0 R]>>"),
            marks=attack(
                "files",
                "A PDF whose page tree contains itself",
                "e.pdf is damaged, so it cannot be read.",
            ),
        ),
    ],
)
async def test_a_hostile_document_is_answered_with_a_sentence(
    folder: Path, name: str, make: Callable[[], bytes], answer: str
) -> None:
    (folder / name).write_bytes(make())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert await told(FolderFiles(folder), "read_file", filename=name) == answer
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 100_000  # kilobytes of the process that agents live in
    assert os.listdir(folder) == [name]  # noqa: PTH208


@pytest.mark.slow
@attack(
    "files", "Zip slip: a Word file with a member called `../../slipped`", "its text is read and nothing is unpacked"
)
async def test_no_member_of_a_document_slips_out(folder: Path, tmp_path: Path, answer: str) -> None:
    (folder / "a.docx").write_bytes(
        archive({"../../slipped": "x", "word/document.xml": f"<d {WORD_NAMESPACE}>{line('Hi')}</d>"})
    )
    said = await told(FolderFiles(folder), "read_file", filename="a.docx")
    is_alone = [each.name for each in tmp_path.rglob("*")] == ["inside", "a.docx"]  # noqa: ASYNC240
    assert ("its text is read and nothing is unpacked" if (said, is_alone) == ("Hi\n", True) else said) == answer


@pytest.mark.slow
@attack("files", "A sparse file of a terabyte", "huge is too long: at most 25,000,000 bytes can be read.")
async def test_a_sparse_file_is_neither_read_nor_hashed_to_its_end(folder: Path, answer: str) -> None:
    with (folder / "huge").open("wb") as file:
        file.truncate(10**12)
    files = FolderFiles(folder)
    first = await files.fingerprint("huge")
    assert await told(files, "read_file", filename="huge") == answer
    assert await told(files, "write_to_file", filename="huge", text="x") == answer
    os.utime(folder / "huge", (1, 1))
    assert await files.fingerprint("huge") != first
    assert await told(files, "delete_file", filename="huge") == "huge is deleted."


@pytest.mark.slow
@attack(
    "files", "100,000 files made by a program", "(at least 19,600 more; name a folder, or find them by search_files.)"
)
async def test_however_many_files_there_are_a_list_ends(folder: Path, answer: str) -> None:
    for number in range(100_000):
        os.mknod(folder / str(number))
    files = FolderFiles(folder)
    lines = (await told(files, "list_files")).splitlines()
    assert lines[-1] == answer
    assert len(lines) == 401
    assert "may hold at most 2,000 files" in await told(files, "write_to_file", filename="one-more", text="x")


@attack(
    "files",
    "Exceeding the workspace quota in small steps",
    "The workspace may hold at most 250 bytes; c does not fit. Delete files first.",
)
async def test_a_quota_holds_over_many_small_writes(folder: Path, answer: str) -> None:
    files = FolderFiles(folder, Limits(file_bytes=100, workspace_bytes=250, files=9))
    said = [
        await told(files, "append_to_file", filename=name, text=f"{number:09}\n")
        for name in "abc"
        for number in range(10)
    ]
    assert set(said[:25]) == {f"10 characters were added to {name}." for name in "abc"}
    assert set(said[25:]) == {answer}


@attack("files", "ReDoS: a search for the pattern `(a+)+$`", "No file holds '(a+)+$'.")
async def test_a_search_knows_no_patterns(folder: Path, answer: str) -> None:
    (folder / "a.txt").write_text("a" * 1_000_000 + "!")
    assert await told(FolderFiles(folder), "search_files", query="(a+)+$") == answer


# Attacks on the zip of an agent's files: by names that another system reads as something else
PATH = "/c/web/local/general/a/agent-ada"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """The workspace of the agent, in which programs make files of any name."""
    made = tmp_path / "workspaces" / "agent-ada"
    made.mkdir(parents=True)
    return made


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[ClientSession]:
    stages: list[Stage] = []
    async with served(ScriptedModel(waits=True), tmp_path, prepared=stages.append) as base:
        await keep(stages[0].database, replace(an_agent(), status=Finished("done")))
        async with ClientSession(base) as session:
            yield session


async def names_in_zip(page: ClientSession) -> list[str]:
    async with page.get(f"{PATH}/files.zip") as response:
        with zipfile.ZipFile(io.BytesIO(await response.read())) as archive:
            return archive.namelist()


@pytest.mark.slow
async def test_the_zip_has_the_headers_of_every_other_download(page: ClientSession, workspace: Path) -> None:
    """The guard adds them to responses that are not prepared; the zip is a stream."""
    (workspace / "a.txt").write_text("a")
    async with page.get(f"{PATH}/files.zip") as response:
        told = {name: response.headers.get(name) for name in ("X-Content-Type-Options", "Cross-Origin-Resource-Policy")}
    assert told == {"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin"}


@pytest.mark.proves("files:zip")
async def test_no_name_in_the_zip_is_absolute_on_windows(page: ClientSession, workspace: Path) -> None:
    (workspace / "C:" / "Users" / "Public").mkdir(parents=True)
    (workspace / "C:" / "Users" / "Public" / "run.bat").write_text("start")
    (workspace / "report.md:hidden.exe").write_text("an alternate data stream")
    names = await names_in_zip(page)
    assert names == ["C_/Users/Public/run.bat", "report.md_hidden.exe"]
    assert [name for name in names if PureWindowsPath(name).drive] == []


@pytest.mark.slow
@pytest.mark.proves("files:zip")
async def test_no_file_of_the_zip_takes_the_place_of_another_where_it_is_unpacked(
    page: ClientSession, workspace: Path
) -> None:
    """macOS and Windows compare names by case, macOS also in one Unicode form: the last of two wins without a word."""
    for name in ("café.txt", "cafe\u0301.txt", "Plan.md", "plan.md"):
        (workspace / name).write_text(name)
    names = [unicodedata.normalize("NFC", name).casefold() for name in await names_in_zip(page)]
    assert len(names) == len(set(names)), names
