"""An export from a bucket is imported into a folder, and back."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.capabilities.export.transfer import Transfer
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.files.s3_storage import S3Bucket, S3Storage
from agent_core.capabilities.files.s3_transfer import S3WorkspaceTransfer
from agent_core.capabilities.files.s3_workspace import S3Workspaces
from agent_core.capabilities.files.workspace_transfer import WorkspaceTransfer
from agent_core.errors import TransferRefused
from agent_core.model.ids import AgentId
from agent_core.persistence import schema
from agent_core.persistence.database import SqlDatabase
from agent_core.testing.examples import an_agent, keep
from agent_core.toolset.trash import move_to_trash
from tests.contract.transfers import files_in, transfer, write_files
from tests.standins.s3 import S3Gate

ADA = an_agent(id=AgentId("agent-ada"))
FILES = {
    "agent-ada/poem.txt": b"Roses are red",
    "agent-ada/b/c/\u00e9\U0001f986.bin": bytes(range(256)) * 900,
    "agent-ada/run.sh": b"#!/bin/sh\n",
    "agent-ada/.git/refs/tags/": b"",
    "agent-bob/empty": b"",
}


@pytest.fixture
def urls(tmp_path: Path) -> Iterator[str]:
    """Addresses of SQLite files that do not exist."""
    return (f"sqlite:///{tmp_path}/{number}/signoff.db" for number in range(9))


def to_bucket(url: str, bucket: S3Bucket) -> Transfer:
    return Transfer(url=url, workspaces=S3WorkspaceTransfer(S3Storage(bucket=bucket)), tell=lambda _: None)


@pytest.fixture
async def exported(urls: Iterator[str], tmp_path: Path) -> Path:
    """An export of an agent and FILES from a folder."""
    url = next(urls)
    await schema.upgrade(url)
    database = SqlDatabase(url)
    await keep(database, ADA)
    await database.close()
    write_files(tmp_path / "from", FILES)
    await transfer(url, tmp_path / "from").export_to(tmp_path / "first.zip")
    return tmp_path / "first.zip"


@pytest.mark.slow
async def test_files_go_from_a_folder_to_a_bucket_and_back(
    exported: Path, urls: Iterator[str], tmp_path: Path, s3_bucket: S3Bucket
) -> None:
    url = next(urls)
    done = await to_bucket(url, s3_bucket).import_from(exported)
    assert (done.agents, done.files) == (1, 4)
    files = S3Workspaces(S3Storage(bucket=s3_bucket)).of(ADA)
    assert await files.read("poem.txt") == b"Roses are red"
    assert await files.list_files(".git/refs/tags") == ()
    await S3Workspaces(files.storage).identify()
    done = await to_bucket(url, s3_bucket).export_to(tmp_path / "second.zip")
    assert (done.agents, done.files, done.left_out) == (1, 4, ())
    await transfer(next(urls), tmp_path / "to").import_from(tmp_path / "second.zip")
    assert _without_times(tmp_path / "to") == _without_times(tmp_path / "from")


@pytest.mark.slow
async def test_an_import_into_a_bucket_goes_on_and_overwrites_nothing(
    exported: Path, urls: Iterator[str], s3_bucket: S3Bucket
) -> None:
    storage = S3Storage(bucket=s3_bucket)
    await storage.put("agent-ada/poem.txt", b"Violets are blue")
    with pytest.raises(TransferRefused, match=r"^agent-ada/poem.txt is there already with other content\.$"):
        await to_bucket(next(urls), s3_bucket).import_from(exported)
    await storage.put("agent-ada/poem.txt", b"Roses are red")
    await to_bucket(next(urls), s3_bucket).import_from(exported)


@pytest.mark.slow
async def test_a_bucket_that_does_not_answer_refuses_export_and_import(
    exported: Path, urls: Iterator[str], tmp_path: Path, s3_gate: S3Gate
) -> None:
    away = replace(s3_gate.bucket, bucket="not-there")
    url = next(urls)
    await schema.upgrade(url)
    for act in (
        to_bucket(url, away).export_to(tmp_path / "third.zip"),
        to_bucket(next(urls), away).import_from(exported),
    ):
        with pytest.raises(TransferRefused, match=r"The storage of the agents' files has no such bucket\.$"):
            await asyncio.to_thread(asyncio.run, act)
    assert not (tmp_path / "third.zip").exists()


@pytest.mark.slow
async def test_what_agents_cannot_use_is_left_out_and_told(
    urls: Iterator[str], tmp_path: Path, s3_bucket: S3Bucket
) -> None:
    url, storage = next(urls), S3Storage(bucket=s3_bucket)
    await schema.upgrade(url)
    for key in ("0ada/fine", "0ada/back\\slash", "0ada/.signoff-unfinished-1", "stray", ".probe-1"):
        await storage.put(key, b"x")
    done = await to_bucket(url, s3_bucket).export_to(tmp_path / "x.zip")
    assert done.files == 1
    assert sorted(done.left_out) == ["0ada/.signoff-unfinished-1", "0ada/back\\slash", "stray"]


@pytest.mark.proves("trash:kept")
@pytest.mark.parametrize("place", ["folder", "bucket"])
async def test_the_trash_is_left_out_of_an_export(place: str, tmp_path: Path, s3_bucket: S3Bucket) -> None:
    storage = S3Storage(bucket=s3_bucket)
    files = (S3Workspaces(storage) if place == "bucket" else FolderWorkspaces(tmp_path)).of(ADA)
    for name in ("kept.txt", "gone.txt"):
        await files.write(name, b"x")
    await move_to_trash(files, "gone.txt", expected=None)
    stored = S3WorkspaceTransfer(storage) if place == "bucket" else WorkspaceTransfer(tmp_path)
    exported = await asyncio.to_thread(lambda: [each.path for each in stored.files() if each.content])
    assert (exported, stored.left_out) == (["agent-ada/kept.txt"], [])


def _without_times(home: Path) -> dict[str, tuple[bytes, int] | None]:
    return {path: file and file[:2] for path, file in files_in(home).items() if "/" in path or file}
