"""A file that is no export, or is damaged, or has paths that lead out, is refused before anything is written."""

import json
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from agent_core.capabilities.export.member_paths import require_distinct, require_safe
from agent_core.capabilities.export.progress import Progress
from agent_core.errors import TransferRefused
from agent_core.persistence.row_transfer import NAMES
from agent_core.persistence.schema import HEAD, upgrade
from agent_core.testing.clock import FakeClock
from tests.contract.transfers import transfer

Manifest = dict[str, Any]


def an_export(folder: Path, *changes: Callable[[Manifest, dict[str, bytes]], None]) -> Path:
    """A file like an export with two files; each change may spoil its manifest and its members."""
    contents = {"agent-ada/poem.txt": b"Roses are red", "agent-ada/b/c": b"\x00\xff"}
    empty = {"rows": 0, "size": 0, "digest": sha256().hexdigest()}
    manifest: Manifest = {
        "format": 1,
        "schema": HEAD,
        "tables": dict.fromkeys(NAMES, empty),
        "files": {path: file_sum(content) for path, content in contents.items()},
        "folders": ["agent-ada", "agent-ada/b"],
    }
    members = {f"rows/{name}.jsonl": b"" for name in NAMES} | {
        "workspaces/agent-ada/": b"",
        "workspaces/agent-ada/b/": b"",
    }
    members |= {f"workspaces/{path}": content for path, content in contents.items()}
    for change in changes:
        change(manifest, members)
    file = folder / "x.zip"
    with zipfile.ZipFile(file, "w") as opened:
        for name, content in members.items():
            opened.writestr(name, content)
        opened.writestr("manifest.json", json.dumps(manifest))
    return file


def file_sum(content: bytes) -> dict[str, object]:
    return {"size": len(content), "digest": sha256(content).hexdigest(), "is_program": False, "modified": 0}


def file_at(path: str) -> Callable[[Manifest, dict[str, bytes]], None]:
    """A change that adds a file at this path, with the right checksum."""

    def change(manifest: Manifest, members: dict[str, bytes]) -> None:
        manifest["files"][path] = file_sum(b"evil")
        members[f"workspaces/{path}"] = b"evil"

    return change


async def imported(file: Path) -> str:
    """What the import says if it is refused, and "" if it is not."""
    home = file.parent / "home"
    try:
        await transfer(f"sqlite:///{home}/signoff.db", home).import_from(file)
    except TransferRefused as refused:
        return str(refused)
    return ""


def written(folder: Path) -> list[str]:
    """Everything below the folder but the export, and the empty folder of workspaces."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix != ".zip")


@pytest.mark.slow
async def test_the_example_is_imported(tmp_path: Path) -> None:
    assert await imported(an_export(tmp_path)) == ""
    assert "home/workspaces/agent-ada/b/c" in written(tmp_path)


OUTSIDE = ["../evil", "agent-ada/../../evil", "/etc/evil", "agent-ada//evil", "agent-ada/./evil", "agent-ada\\..\\evil"]


@pytest.mark.proves("transfer:paths")
@pytest.mark.parametrize("path", [*OUTSIDE, "agent-ada/a\u202eb", "agent-ada/.signoff-unfinished-x", ""])
async def test_a_path_that_leaves_the_workspaces_is_refused(tmp_path: Path, path: str) -> None:
    assert "is not a path inside the workspaces" in await imported(an_export(tmp_path, file_at(path)))
    assert written(tmp_path) == []


@pytest.mark.proves("transfer:paths")
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("evil", "is in no workspace"),
        ("agent-ada/b", "is both a file and a folder"),
        ("agent-ada/poem.txt/evil", "is both a file and a folder"),
    ],
)
async def test_a_path_that_cannot_be_is_refused(tmp_path: Path, path: str, said: str) -> None:
    assert said in await imported(an_export(tmp_path, file_at(path)))
    assert written(tmp_path) == []


@pytest.mark.proves("transfer:paths")
@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
async def test_a_link_or_device_is_refused(tmp_path: Path, kind: int) -> None:
    file = an_export(tmp_path)
    with zipfile.ZipFile(file) as opened:
        members = {info.filename: opened.read(info) for info in opened.infolist()}
    with zipfile.ZipFile(file, "w") as opened:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (kind if name.endswith("poem.txt") else 0) << 16
            opened.writestr(info, content)
    assert "'workspaces/agent-ada/poem.txt' is a link or a device" in await imported(file)
    assert written(tmp_path) == []


async def test_a_member_compressed_in_another_way_is_refused(tmp_path: Path) -> None:
    file = an_export(tmp_path)
    with zipfile.ZipFile(file, "a") as opened:
        opened.writestr("rows/more.jsonl", "text", zipfile.ZIP_BZIP2)
    assert "'rows/more.jsonl' is compressed in another way" in await imported(file)


@pytest.mark.proves("transfer:paths")
async def test_a_link_in_the_folder_is_not_followed(tmp_path: Path) -> None:
    link_to_outside(tmp_path)
    assert "agent-ada/b/c is there already and cannot be read" in await imported(an_export(tmp_path))
    assert list((tmp_path / "outside").iterdir()) == []


def link_to_outside(folder: Path) -> None:
    (folder / "outside").mkdir()
    (folder / "home/workspaces/agent-ada").mkdir(parents=True)
    (folder / "home/workspaces/agent-ada/b").symlink_to(folder / "outside")


@pytest.mark.parametrize("pair", [("a/Poem", "a/poem"), ("A/x", "a/y"), ("a/\u00e9", "a/e\u0301")])
def test_names_that_are_one_file_on_a_disk_without_case_are_refused_there(pair: tuple[str, str]) -> None:
    require_safe(pair, ())
    require_distinct(pair[:1])
    with pytest.raises(TransferRefused, match="would be one file on this disk"):
        require_distinct(pair)


def without_a_member(_: Manifest, members: dict[str, bytes]) -> None:
    del members["rows/turns.jsonl"]


def with_one_more_member(_: Manifest, members: dict[str, bytes]) -> None:
    members["workspaces/agent-ada/other"] = b""


def without_a_table(manifest: Manifest, members: dict[str, bytes]) -> None:
    del manifest["tables"]["turns"], members["rows/turns.jsonl"]


@pytest.mark.parametrize("change", [without_a_member, with_one_more_member, without_a_table])
async def test_other_members_than_those_of_the_manifest_are_refused(tmp_path: Path, change: Any) -> None:
    assert "other members than its manifest" in await imported(an_export(tmp_path, change))
    assert written(tmp_path) == []


def changed_content(_: Manifest, members: dict[str, bytes]) -> None:
    members["workspaces/agent-ada/poem.txt"] = b"Roses are bad"


def longer_content(_: Manifest, members: dict[str, bytes]) -> None:
    members["workspaces/agent-ada/poem.txt"] += b" " * 5_000_000


def another_row(manifest: Manifest, members: dict[str, bytes]) -> None:
    members["rows/turns.jsonl"] = b"{}\n"
    manifest["tables"]["turns"] = {"rows": 2, "size": 3, "digest": sha256(b"{}\n").hexdigest()}


@pytest.mark.parametrize("change", [changed_content, longer_content, another_row])
async def test_content_that_is_not_of_the_manifest_is_refused(tmp_path: Path, change: Any) -> None:
    assert (await imported(an_export(tmp_path, change))).startswith("The file is damaged: ")
    assert written(tmp_path) == ["home", "home/workspaces"][: len(written(tmp_path))]


@pytest.mark.slow
@pytest.mark.parametrize("line", [b"{}", b"[]", b"1", b"{", b"\xff", b'"text"', b'{"id":"x"}'])
async def test_a_line_that_is_no_row_is_refused(tmp_path: Path, line: bytes) -> None:
    def change(manifest: Manifest, members: dict[str, bytes]) -> None:
        members["rows/deliveries.jsonl"] = line + b"\n"
        digest = sha256(line + b"\n").hexdigest()
        manifest["tables"]["deliveries"] = {"rows": 1, "size": len(line) + 1, "digest": digest}

    assert await imported(an_export(tmp_path, change)) == "The file is damaged: deliveries has a line that is no row."


@pytest.mark.slow
async def test_a_row_that_the_database_rejects_is_refused(tmp_path: Path) -> None:
    line = b'{"agent_id":"no such agent","channel":"c","added":1,"removed":1}\n'

    def change(manifest: Manifest, members: dict[str, bytes]) -> None:
        members["rows/memory_changes.jsonl"] = line
        digest = sha256(line).hexdigest()
        manifest["tables"]["memory_changes"] = {"rows": 1, "size": len(line), "digest": digest}

    said = await imported(an_export(tmp_path, change))
    assert said == "The file is damaged: memory_changes has a row that cannot be stored."


@pytest.mark.parametrize(("schema", "age"), [("9999", "a newer"), ("0003", "an older")])
async def test_a_file_of_another_release_is_refused(tmp_path: Path, schema: str, age: str) -> None:
    def change(manifest: Manifest, _: dict[str, bytes]) -> None:
        manifest["schema"] = schema

    said = await imported(an_export(tmp_path, change))
    assert said.startswith(f"The file was made by {age} release (tables {schema}; this one has {HEAD})")
    assert written(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("byte", range(5, 100, 5))
async def test_any_damaged_byte_is_found(tmp_path: Path, byte: int) -> None:
    """The bytes at this percentage of the file, and all after it, are others."""
    file = an_export(tmp_path)
    content = bytearray(file.read_bytes())
    at = len(content) * byte // 100
    content[at] ^= 0xFF
    file.write_bytes(content)
    said = await imported(file)
    assert "\n" not in said
    assert said or intact(tmp_path)


def intact(folder: Path) -> bool:
    """Whether a byte was changed that has no meaning, such as one of a time stamp."""
    home = folder / "home/workspaces/agent-ada"
    return (home / "poem.txt").read_bytes() == b"Roses are red" and (home / "b/c").read_bytes() == b"\x00\xff"


@pytest.mark.parametrize(
    ("content", "said"), [(b"", "is no zip file"), (b"text", "is no zip file"), (None, "cannot be read: No such file")]
)
async def test_what_is_no_zip_file_is_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    file = tmp_path / "x.zip"
    if content is not None:
        file.write_bytes(content)
    assert said in await imported(file)


async def test_a_zip_file_without_a_manifest_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.zip"
    with zipfile.ZipFile(file, "w") as opened:
        opened.writestr("other.txt", "text")
    assert "it has no readable manifest" in await imported(file)


@pytest.mark.slow
async def test_links_and_names_that_agents_cannot_use_are_left_out_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "workspaces/agent-ada"
    await upgrade(f"sqlite:///{tmp_path}/x.db")
    with planted(tmp_path, folder):
        done = await transfer(f"sqlite:///{tmp_path}/x.db", tmp_path).export_to(tmp_path / "x.zip")
    assert sorted(done.left_out) == [
        "agent-ada/a\\b", "agent-ada/hard", "agent-ada/link", "agent-ada/pipe", "agent-ada/to", "stray",
    ]  # fmt: skip
    with zipfile.ZipFile(tmp_path / "x.zip") as opened:
        assert not any(b"secret" in opened.read(name) for name in opened.namelist())


@contextmanager
def planted(outside: Path, folder: Path) -> Iterator[None]:
    """What a program may leave in its workspace."""
    import os

    folder.mkdir(parents=True)
    (outside / "secret").write_bytes(b"secret")
    (outside / "workspaces/stray").write_bytes(b"")
    (folder / "link").symlink_to(outside / "secret")
    (folder / "to").symlink_to(outside)
    (folder / "hard").hardlink_to(outside / "secret")
    (folder / "a\\b").write_bytes(b"")
    (folder / ".signoff-unfinished-1").write_bytes(b"")
    os.mkfifo(folder / "pipe")
    yield


def test_progress_is_told_at_most_every_two_seconds() -> None:
    clock, told = FakeClock(), list[str]()
    progress = Progress(clock, told.append)
    progress.start("rows imported", 5_000)
    progress.add(1_000)
    clock.advance(1.9)
    progress.add()
    assert told == []
    clock.advance(0.1)
    progress.add()
    progress.add()
    assert told == ["1,002 of 5,000 rows imported"]
    clock.advance(2)
    progress.start("files imported")
    assert list(progress.counted("abc")) == ["a", "b", "c"]
    assert told[1:] == ["1 files imported"]
