"""Whatever a program and others do to the same files, the storage keeps what others did, and nothing is lost."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_core.model.ids import AgentId
from agent_core.providers.workspace.s3_storage import S3Bucket, S3Storage
from agent_core.providers.workspace.s3_workspace import S3Workspaces
from agent_core.providers.workspace.workspace_copies import WorkspaceCopies
from agent_core.testing.examples import an_agent
from tests.example_counts import tried

ADA = an_agent(id=AgentId("0ada"))
PATHS = ("a.txt", "b", "d/a.txt", "d/e/c.txt")
CONTENT = st.sampled_from([b"", b"one", b"two", b"three"])
FILES = st.dictionaries(st.sampled_from(PATHS), CONTENT)
CHANGES = st.dictionaries(st.sampled_from(PATHS), st.none() | CONTENT)  # None: deleted


async def act_out(
    bucket: S3Bucket, folder: Path, before: Mapping[str, bytes], here: Mapping[str, bytes | None],
    elsewhere: Mapping[str, bytes | None],
) -> tuple[dict[str, bytes], str]:  # fmt: skip
    """Change files in a copy and in the storage at once; return what is stored afterwards, and what is told."""
    stored = S3Workspaces(S3Storage(bucket=bucket))
    files, copies = stored.of(ADA), WorkspaceCopies(stored, folder)
    for path, content in before.items():
        await files.write(path, content)
    lent = await copies.lend(ADA)
    for path, data in here.items():
        target = lent.files.folder / path
        if data is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        elif path in before:
            target.unlink()
    for path, data in elsewhere.items():
        if data is not None:
            await files.write(path, data)
        elif path in before:
            await files.delete(path)
    note = await lent.give_back()
    return {entry.path: await files.read(entry.path) for entry in await files.list_files()}, note


@pytest.mark.proves("programs:conflict")
@settings(max_examples=tried(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=FILES, here=CHANGES, elsewhere=CHANGES)
def test_what_others_did_stays_and_what_the_program_did_is_there_too(
    s3_bucket: S3Bucket,
    before: dict[str, bytes],
    here: dict[str, bytes | None],
    elsewhere: dict[str, bytes | None],
) -> None:
    with TemporaryDirectory() as folder:
        bucket = replace(s3_bucket, prefix=uuid4().hex)
        after, note = asyncio.run(act_out(bucket, Path(folder), before, here, elsewhere))
    expected: dict[str, bytes | None] = {}
    for path in PATHS:
        first = before.get(path)
        mine, theirs = here.get(path, first), elsewhere.get(path, first)
        expected[path] = theirs if theirs != first else mine
        if mine not in (first, theirs) and theirs != first and mine is not None:
            stem, dot, suffix = path.rpartition(".")
            expected[f"{stem}.from-program{dot}{suffix}" if dot else f"{path}.from-program"] = mine
            assert path in note
    assert after == {path: content for path, content in expected.items() if content is not None}
