"""All files of an agent as one zip: from a folder and from S3-compatible storage."""

import asyncio
import io
import random
import sys
import zipfile
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_core.capabilities.files.folder_workspace import FolderFiles, FolderWorkspaces
from agent_core.capabilities.files.s3_storage import S3Bucket, S3Storage
from agent_core.capabilities.files.s3_workspace import S3Workspaces
from agent_core.errors import CommandError
from agent_core.model.files import FileEntry
from agent_core.service.reading.zips import zip_stream
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


async def whole(pieces: AsyncIterator[bytes]) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(b"".join([piece async for piece in pieces])))


@pytest.mark.slow
@pytest.mark.proves("files:zip")
@pytest.mark.parametrize("place", ["folder", "s3"])
async def test_all_files_come_as_one_zip_under_their_own_names(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    bucket: S3Bucket | None = request.getfixturevalue("s3_bucket") if place == "s3" else None
    workspaces = S3Workspaces(S3Storage(bucket=bucket)) if bucket else FolderWorkspaces(tmp_path)
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")), workspaces=workspaces)
    agent = await stage.create()
    given = {"notes/مرحبا 1.md": b"salam", "é/天気.bin": bytes(range(256)) * 5_000, "empty": b"", " a b .txt": b"x"}
    for path, data in given.items():
        await workspaces.of(agent).write(path, data)
    _, pieces = await stage.views.agent_files.archive(agent.channel, agent.id)
    archive = await whole(pieces)
    assert archive.testzip() is None
    assert {name: archive.read(name) for name in archive.namelist()} == given
    assert {member.compress_type for member in archive.infolist()} == {zipfile.ZIP_DEFLATED}


@pytest.mark.proves("files:zip")
async def test_no_name_in_a_zip_leads_out_of_the_folder_where_it_is_unpacked(tmp_path: Path) -> None:
    """Programs can make files with names that another system reads as a path, and links."""
    for name in ("..\\evil.bat", "C:\\evil.bat", "fine.txt"):
        (tmp_path / name).write_text("x")
    (tmp_path / "link").symlink_to("/etc/passwd")
    files = FolderFiles(tmp_path)
    archive = await whole(zip_stream(await files.list_files(), files.read))
    assert archive.namelist() == ["fine.txt"]


async def test_a_file_that_is_gone_is_named_in_the_zip_and_the_others_are_there() -> None:
    async def read(path: str) -> bytes:
        if path == "b":
            raise CommandError("There is no file b.")
        return path.encode()

    names = ("a", "b", "c", "not in this zip.txt")
    archive = await whole(zip_stream([FileEntry(name, 1, NOON) for name in names], read))
    assert archive.namelist() == ["a", "c", "not in this zip.txt", "not in this zip (2).txt"]
    assert archive.read("not in this zip (2).txt") == b"b: There is no file b.\n"


@pytest.mark.parametrize("year", [1970, 2200])
async def test_a_file_of_a_year_that_a_zip_cannot_name_is_there(year: int) -> None:
    async def read(_path: str) -> bytes:
        return b"x"

    archive = await whole(zip_stream([FileEntry("a", 1, NOON.replace(year=year))], read))
    assert archive.read("a") == b"x"


async def test_a_reader_that_goes_away_ends_the_zip() -> None:
    async def read(_path: str) -> bytes:
        return random.Random(1).randbytes(2_000_000)

    async with aclosing(zip_stream([FileEntry("a", 1, NOON)], read)) as pieces:  # type: ignore[type-var]
        assert await anext(pieces)


@pytest.mark.slow
@pytest.mark.proves("files:zip")
async def test_a_zip_of_60_megabytes_takes_less_than_20_of_memory(tmp_path: Path) -> None:
    """Measured in a process of its own, whose peak memory nothing else raised."""
    for number in range(12):
        (tmp_path / f"{number}.bin").write_bytes(random.Random(number).randbytes(5_000_000))
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.contract.zip_memory", str(tmp_path)),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await program.communicate()
    size, grown = map(int, output.split())
    assert size > 60_000_000
    assert grown < 20 * 2**20
