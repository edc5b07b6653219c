"""What S3-compatible storage adds to the contract of files: other machines, lost answers, faults, its own limits."""

import asyncio
import logging
from dataclasses import replace
from urllib.request import Request, urlopen

import pytest

from agent_core.capabilities.files.s3_storage import ObjectChanged, S3Bucket, S3Storage, StorageAway
from agent_core.capabilities.files.s3_workspace import S3Files, S3Workspaces
from agent_core.capabilities.files.workspace_paths import Limits
from agent_core.errors import CommandError
from agent_core.model.files import content_fingerprint
from agent_core.model.ids import AgentId
from agent_core.testing.examples import an_agent
from tests.standins.s3 import S3Gate

ADA = an_agent(id=AgentId("0ada"))


def files_at(bucket: S3Bucket, limits: Limits | None = None) -> S3Files:
    """The files as one machine uses them, with connections of its own."""
    return S3Workspaces(S3Storage(bucket=bucket), limits or Limits()).of(ADA)


async def is_program(storage: S3Storage, key: str) -> bool:
    found = await storage.get(key, 100)
    assert found
    return found.is_program


@pytest.mark.slow
async def test_an_object_is_replaced_or_deleted_only_as_it_was_read(s3_bucket: S3Bucket) -> None:
    storage = S3Storage(bucket=s3_bucket)
    first = await storage.replace("0ada/a", b"first", None)
    second = await storage.replace("0ada/a", b"second", first)
    for condition in (None, first):
        with pytest.raises(ObjectChanged):
            await storage.replace("0ada/a", b"third", condition)
    with pytest.raises(ObjectChanged):
        await storage.replace("0ada/none", b"third", second)
    with pytest.raises(ObjectChanged):
        await storage.delete("0ada/a", first)
    await storage.delete("0ada/a", second)
    with pytest.raises(ObjectChanged):
        await storage.delete("0ada/a", second)
    assert [each async for each in storage.list_objects("")] == []


@pytest.mark.slow
@pytest.mark.parametrize("append", [False, True])
async def test_a_write_whose_answer_is_lost_is_done_once_and_is_no_conflict(s3_gate: S3Gate, append: bool) -> None:
    files = files_at(s3_gate.bucket)
    await files.write("a.txt", b"one")
    s3_gate.loses_answers = 1
    await files.write("a.txt", b" two", append=append, expected=content_fingerprint(b"one"))
    assert await files.read("a.txt") == (b"one two" if append else b" two")


@pytest.mark.slow
async def test_a_storage_that_does_not_answer_is_told_without_its_keys(
    s3_gate: S3Gate, caplog: pytest.LogCaptureFixture
) -> None:
    files = files_at(replace(s3_gate.bucket, secret_access_key="hush-hush", session_token="hush-too"))
    await files.write("a.txt", b"a")
    s3_gate.refuses = True
    with caplog.at_level(logging.DEBUG, "agent_core"):
        for act in (
            files.read("a.txt"), files.write("a.txt", b"b"), files.write("a.txt", b"b", append=True),
            files.write("a.txt", b"b", expected=""), files.delete("a.txt"), files.fingerprint("a.txt"),
            files.list_files(),
        ):  # fmt: skip
            with pytest.raises(StorageAway, match=r"^The storage of the agents' files does not answer\.$"):
                await act
    assert caplog.records
    assert "hush" not in f"{caplog.text} {[vars(record) for record in caplog.records]} {files!r}"
    s3_gate.refuses = False
    assert await files.read("a.txt") == b"a"


async def test_a_bucket_that_is_not_there_is_told(s3_bucket: S3Bucket, caplog: pytest.LogCaptureFixture) -> None:
    files = files_at(replace(s3_bucket, bucket="not-there"))
    with caplog.at_level(logging.DEBUG, "agent_core"), pytest.raises(StorageAway, match="has no such bucket"):
        await files.write("a.txt", b"a")
    [why] = {record.why for record in caplog.records}  # type: ignore[attr-defined]
    assert why.endswith("404 Not Found: NoSuchBucket: The specified bucket does not exist")
    assert "\n" not in why
    with pytest.raises(StorageAway):
        await files.read("a.txt")


async def test_a_file_too_long_to_read_changes_its_fingerprint_with_its_content(s3_bucket: S3Bucket) -> None:
    files, small = files_at(s3_bucket), files_at(s3_bucket, Limits(file_bytes=100))
    prints = set[str]()
    for letter in (b"x", b"y"):
        await files.write("big", letter * 101)
        prints.add(await small.fingerprint("big"))
        with pytest.raises(CommandError, match="too long: at most 100 bytes"):
            await small.read("big")
    assert len(prints) == 2


@pytest.mark.parametrize(
    "path", ["d/" * 15 + "x" * 250 + "/" + "y" * 250 + "/" + "z" * 250 + "/" + "é" * 120, "a\ufffe"]
)
async def test_a_path_that_is_no_key_is_refused(s3_bucket: S3Bucket, path: str) -> None:
    files = files_at(s3_bucket)
    for act in (files.read(path), files.write(path, b""), files.delete(path), files.fingerprint(path)):
        with pytest.raises(CommandError, match="the storage of files does not take"):
            await act


async def test_an_appended_program_stays_one_and_a_replaced_one_does_not(s3_bucket: S3Bucket) -> None:
    storage = S3Storage(bucket=s3_bucket)
    files = S3Workspaces(storage).of(ADA)
    await storage.replace("0ada/tool", b"#!", None, is_program=True)
    await files.write("tool", b"/bin/sh", append=True)
    assert await is_program(storage, "0ada/tool")
    await files.write("tool", b"text", expected=content_fingerprint(b"#!/bin/sh"))
    assert not await is_program(storage, "0ada/tool")


@pytest.mark.slow
async def test_objects_that_others_put_there_with_odd_names_are_not_listed(s3_bucket: S3Bucket) -> None:
    storage = S3Storage(bucket=s3_bucket)
    for key in ("0ada/back\\slash", "0ada/.signoff-unfinished-1", "0ada/fine", "0ada2/other", "workspace.id"):
        await storage.put(key, b"x")
    files = S3Workspaces(storage).of(ADA)
    assert [entry.path for entry in await files.list_files()] == ["fine"]
    await S3Workspaces(storage).remove(ADA)
    assert [each.key async for each in storage.list_objects("")] == ["0ada2/other", "workspace.id"]


async def test_a_folder_that_another_tool_made_is_a_folder(s3_bucket: S3Bucket) -> None:
    """Amazon's console makes an empty object whose key ends with a slash."""
    files = files_at(s3_bucket)
    await files.write("sub/a.txt", b"a")
    url = f"{s3_bucket.endpoint}/{s3_bucket.bucket}/{s3_bucket.prefix}/0ada/sub/"
    await asyncio.to_thread(lambda: urlopen(Request(url, method="PUT", data=b"")).close())
    assert [entry.path for entry in await files.list_files()] == ["sub/a.txt"]
    await files.write("sub/b.txt", b"b")


@pytest.mark.slow
async def test_more_objects_than_one_answer_holds_are_listed_counted_and_removed(s3_bucket: S3Bucket) -> None:
    storage = S3Storage(bucket=s3_bucket)
    workspaces = S3Workspaces(storage, Limits(files=2_500))
    for hundred in range(25):  # not all at once, which outlasts the time limits of requests on a slow machine
        await asyncio.gather(*(storage.put(f"0ada/{hundred:02}{number:02}", b"x") for number in range(100)))
    files = workspaces.of(ADA)
    assert [entry.path for entry in await files.list_files()] == [f"{number:04}" for number in range(2_500)]
    with pytest.raises(CommandError, match="at most 2,500 files"):
        await files.write("one-more", b"x")
    await workspaces.remove(ADA)
    assert await files.list_files() == ()
