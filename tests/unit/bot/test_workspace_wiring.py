"""Where the agents' files are, as the settings say, and what is told about it."""

import asyncio
import logging
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.capabilities.export.transfer import Transfer
from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.files.s3_storage import S3Bucket, S3Storage
from agent_core.capabilities.files.workspace_paths import OWNER_NAME
from agent_core.capabilities.programs.capability import IN_A_BUCKET
from agent_core.errors import FilesTaken, SettingsError, UnusableReply
from agent_core.model.files import StorageIdentity
from agent_core.model.ids import AgentId
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import upgrade
from agent_core.service.housekeeping.shared_storage import record_storage
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import an_agent
from bot.bootstrap import assemble, probes
from bot.capabilities import Capabilities
from bot.findings.doctor import findings, report
from bot.settings import Settings, load
from bot.transfer_commands import export_data
from bot.wiring.workspaces import check_storage, find_workspaces_fault, make_workspaces, stored_files
from tests.standins.s3 import S3Gate

ADA = an_agent(id=AgentId("0ada"))
SHARED = "postgresql://signoff@localhost/signoff"


def settings_for(home: Path, bucket: S3Bucket | None = None, **given: str) -> Settings:
    s3 = {}
    if bucket:
        s3 = {
            "WORKSPACE_URL": f"s3://{bucket.bucket}/{bucket.prefix}/",
            "WORKSPACE_ENDPOINT": bucket.endpoint,
            "AWS_ACCESS_KEY_ID": bucket.access_key_id,
            "AWS_SECRET_ACCESS_KEY": bucket.secret_access_key,
            "AWS_SESSION_TOKEN": "a-session",
            "AWS_REGION": bucket.region,
        }
    return load({"SIGNOFF_HOME": str(home), **s3, **given}, None)


async def test_files_are_in_the_data_folder_unless_a_setting_says_otherwise(tmp_path: Path) -> None:
    for url, folder in (("", "home/workspaces"), (f"file://{tmp_path}/shared/", "shared")):
        workspaces = make_workspaces(settings_for(tmp_path / "home", WORKSPACE_URL=url))
        assert workspaces == FolderWorkspaces(tmp_path / folder)


@pytest.mark.parametrize(
    "url",
    ["s3://", "s3:///prefix", "s3://b", "s3://bucket//x", "s3://bucket/../x", "s3://user:pass@bucket/x", "file://",
     "file://host/path", "file:///", "gs://bucket", "/srv/files", "https://bucket.s3.amazonaws.com"],
)  # fmt: skip
def test_another_address_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(SettingsError, match=r"^WORKSPACE_URL: must be the address of a folder"):
        settings_for(tmp_path, WORKSPACE_URL=url)


def test_an_endpoint_without_a_bucket_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="WORKSPACE_ENDPOINT: needs WORKSPACE_URL beside it"):
        settings_for(tmp_path, WORKSPACE_ENDPOINT="https://minio.example.com")


@pytest.mark.slow
@pytest.mark.proves("programs:folder")
async def test_a_bucket_keeps_files_and_no_program_runs(tmp_path: Path, s3_bucket: S3Bucket) -> None:
    settings = settings_for(tmp_path, s3_bucket, EXECUTE_LOCAL_COMMANDS="true")
    async with assemble(settings) as signoff:
        await make_workspaces(settings).of(ADA).write("a.txt", b"a")
        with pytest.raises(UnusableReply, match=f"execute_shell is switched off here: {IN_A_BUCKET}"):
            signoff.core.loop.runner.commands.get("execute_shell")
    assert not (tmp_path / "workspaces").exists()
    assert [file.path for file in stored_files(settings).files()] == ["0ada", "0ada/a.txt"]


@pytest.mark.proves("programs:folder")
@pytest.mark.parametrize(("allowed", "state"), [("true", "fault"), ("false", "off")])
async def test_the_doctor_tells_what_programs_need_beside_a_bucket(tmp_path: Path, allowed: str, state: str) -> None:
    settings = settings_for(tmp_path, WORKSPACE_URL="s3://b-1/x", EXECUTE_LOCAL_COMMANDS=allowed)
    [finding] = await Capabilities.of(settings).programs.findings()
    assert finding.state == state
    assert f"{IN_A_BUCKET}. Set WORKSPACE_URL to a folder of this machine" in finding.why


@pytest.mark.slow
async def test_a_bucket_that_cannot_be_used_stops_the_start_in_one_line(
    tmp_path: Path,
    s3_bucket: S3Bucket,
) -> None:
    settings = settings_for(tmp_path, s3_bucket, WORKSPACE_URL="s3://not-there/x")
    with pytest.raises(SettingsError) as caught:
        async with assemble(settings):
            pass
    assert str(caught.value) == (
        f"WORKSPACE_URL: s3://not-there/x at {s3_bucket.endpoint} cannot be used: "
        "The storage of the agents' files has no such bucket. Example: WORKSPACE_URL=s3://my-bucket/signoff"
    )


@pytest.mark.slow
async def test_the_doctor_tells_in_one_line_whether_the_bucket_can_be_used(
    tmp_path: Path,
    s3_gate: S3Gate,
) -> None:
    settings = settings_for(tmp_path, s3_gate.bucket)
    assert await find_workspaces_fault(settings) == ""
    assert [each async for each in S3Storage(bucket=s3_gate.bucket).list_objects("")] == []
    s3_gate.forbids = OWNER_NAME
    assert await find_workspaces_fault(settings) == "The storage of the agents' files refuses access."
    s3_gate.forbids = ""
    s3_gate.ignores_conditions = True
    assert (await find_workspaces_fault(settings)).startswith("ignores conditions of writes (If-None-Match)")
    s3_gate.refuses = True
    assert await find_workspaces_fault(settings) == "does not answer"
    missing = settings_for(tmp_path, s3_gate.bucket, WORKSPACE_URL="s3://not-there")
    s3_gate.refuses = False
    assert await find_workspaces_fault(missing) == "has no such bucket"


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("s3://b-1/x", "files          on     s3://b-1/x, tested by writing there · WORKSPACE_URL"),
        ("file:///mnt", "files          on     /mnt · WORKSPACE_URL"),
        ("file:///proc/1", "files          fault  /proc/1 cannot be written to · WORKSPACE_URL"),
        ("", None),
    ],
)
async def test_a_finding_names_the_place(tmp_path: Path, url: str, line: str | None) -> None:
    settings = settings_for(tmp_path, WORKSPACE_URL=url)

    async def is_fine() -> str:
        return ""

    found = await findings(settings, replace(probes(settings), files=is_fine))
    lines = [each for each in report(found).splitlines() if each.startswith("files")]
    assert [each.split() for each in lines] == ([line.split()] if line else [])


def test_keys_are_secrets_and_are_not_shown(tmp_path: Path) -> None:
    keys = {"AWS_SECRET_ACCESS_KEY": "hush-hush", "AWS_SESSION_TOKEN": "hush-too"}
    settings = settings_for(tmp_path, None, WORKSPACE_URL="s3://bucket/x", **keys)
    assert {"hush-hush", "hush-too"} <= set(settings.secrets)
    assert "hush" not in repr(settings)


async def test_without_the_package_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("obstore", "obstore.exceptions", "obstore.store"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "agent_core.capabilities.files.s3_storage", raising=False)
    settings = settings_for(tmp_path, WORKSPACE_URL="s3://bucket/x")
    said = "needs the package obstore for a bucket: run make extras EXTRAS=s3, then start again."
    assert await find_workspaces_fault(settings) == said
    with pytest.raises(SettingsError, match="WORKSPACE_URL: needs the package obstore"):
        make_workspaces(settings)


@pytest.mark.slow
async def test_a_storage_keeps_its_identity(tmp_path: Path, s3_bucket: S3Bucket) -> None:
    bucket = make_workspaces(settings_for(tmp_path, s3_bucket))
    for workspaces in (FolderWorkspaces(tmp_path / "files"), bucket):
        first, *others = await asyncio.gather(*(workspaces.identify() for _ in range(4)))
        assert len(first.id) == 32
        assert others == [first] * 3
    files, other = FolderWorkspaces(tmp_path / "files"), FolderWorkspaces(tmp_path / "other")
    assert (await files.identify()).id != (await other.identify()).id
    assert (await bucket.identify()).place == f"s3://{s3_bucket.bucket}/{s3_bucket.prefix}"


async def test_a_process_that_keeps_files_elsewhere_is_told_of_the_one_before() -> None:
    database = TemporaryDatabase()
    first, second = (StorageIdentity(id=name, place=f"place {name}") for name in "ab")
    assert await record_storage(database, first) == ""
    assert await record_storage(database, first) == ""
    assert await record_storage(database, second) == "place a"
    assert await record_storage(database, second) == ""
    assert await record_storage(database, first) == "place b"


@pytest.mark.proves("files:different-places")
async def test_two_processes_with_different_folders_are_told_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = TemporaryDatabase()
    with caplog.at_level(logging.WARNING):
        for home in ("first", "second", "second"):
            settings = settings_for(tmp_path / home, DATABASE_URL=SHARED)
            workspaces = make_workspaces(settings)
            await check_storage(settings, workspaces, database)
    [record] = caplog.records
    said = record.getMessage()
    assert "\n" not in said
    assert said.startswith("agents' files are in different places: ")
    assert f"this process keeps them in {tmp_path}/second/workspaces on " in said
    assert f"the one that started before in {tmp_path}/first/workspaces on " in said
    assert "give both the same WORKSPACE_URL" in said


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "bucket"])
async def test_a_place_is_used_by_the_first_database_that_starts_on_it(
    tmp_path: Path,
    kind: str,
    s3_bucket: S3Bucket,
) -> None:
    first, second = TemporaryDatabase(), TemporaryDatabase()
    bucket = s3_bucket if kind == "bucket" else None
    url = {} if bucket else {"WORKSPACE_URL": (tmp_path / "shared").as_uri()}
    settings = settings_for(tmp_path / "home", bucket, **url)
    workspaces = make_workspaces(settings)
    await asyncio.gather(*(check_storage(settings, workspaces, first) for _ in range(4)))
    with pytest.raises(SettingsError, match=r"belong to another database\. Set DATABASE_URL to that one"):
        await check_storage(settings, workspaces, second)
    await check_storage(settings, workspaces, first)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "bucket"])
async def test_an_import_takes_files_of_another_database_only_if_told(
    tmp_path: Path,
    kind: str,
    s3_bucket: S3Bucket,
) -> None:
    bucket = s3_bucket if kind == "bucket" else None
    url = {} if bucket else {"WORKSPACE_URL": (tmp_path / "shared").as_uri()}
    live, trial = settings_for(tmp_path / "live", bucket, **url), settings_for(tmp_path / "trial", bucket, **url)
    await _start(live)
    file = tmp_path / "x.zip"
    await asyncio.to_thread(asyncio.run, _transfer_of(live).export_to(file))
    with pytest.raises(FilesTaken, match="belong to another database"):
        await asyncio.to_thread(asyncio.run, _transfer_of(trial).import_from(file))
    assert not (tmp_path / "trial/signoff.db").exists()
    await _start(live)
    await asyncio.to_thread(asyncio.run, _transfer_of(trial).import_from(file, take_files=True))
    await _start(trial)
    with pytest.raises(SettingsError, match="belong to another database"):
        await _start(live)


def _transfer_of(settings: Settings) -> Transfer:
    return Transfer(url=settings.database_url, workspaces=stored_files(settings), tell=print)


def below(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


async def _start(settings: Settings) -> None:
    await upgrade(settings.database_url)
    database = SqlDatabase(settings.database_url)
    try:
        workspaces = make_workspaces(settings)
        await check_storage(settings, workspaces, database)
    finally:
        await database.close()


@pytest.mark.slow
async def test_the_files_of_a_database_on_postgresql_are_not_used_by_the_sqlite_file_beside_them(
    tmp_path: Path,
) -> None:
    settings = settings_for(tmp_path / "home")
    await _start_on_postgres(settings)
    await asyncio.to_thread(shutil.rmtree, tmp_path / "home/workspaces/.locks")
    there = below(tmp_path)
    assert await find_workspaces_fault(settings) != ""
    assert below(tmp_path) == there, "who looks may be somebody who can only read"
    with pytest.raises(SettingsError, match=r"Was this Signoff on PostgreSQL\? Then set DATABASE_URL again") as refused:
        await _start(settings)
    assert refused.value.variable == "DATABASE_URL"
    told = await find_workspaces_fault(settings)
    assert told.startswith("DATABASE_URL names no server, so Signoff starts on SQLite, but the agents' files in ")
    assert await export_data(settings, [str(tmp_path / "x.zip")]) == 1
    assert not (tmp_path / "x.zip").exists()
    assert settings.sqlite_file
    await asyncio.to_thread(settings.sqlite_file.write_bytes, b"")  # without tables
    assert await find_workspaces_fault(settings) == told
    await asyncio.to_thread(settings.sqlite_file.write_bytes, b"no database " * 100)
    assert await find_workspaces_fault(settings) == "", "the finding on the database tells it"


async def _start_on_postgres(settings: Settings) -> None:
    """Mark the files as those of a database on PostgreSQL."""
    on_postgres = settings.model_copy(update={"database_url": "postgresql://db.example.com/signoff"})
    workspaces = make_workspaces(on_postgres)
    await check_storage(on_postgres, workspaces, TemporaryDatabase())


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"\n", b"\0" * 32])
async def test_a_damaged_mark_still_keeps_others_from_the_files(tmp_path: Path, content: bytes) -> None:
    settings = settings_for(tmp_path / "home")
    await _start_on_postgres(settings)
    await asyncio.to_thread((tmp_path / "home/workspaces" / OWNER_NAME).write_bytes, content)
    with pytest.raises(SettingsError):
        await _start(settings)
    with pytest.raises(FilesTaken):
        await asyncio.to_thread(asyncio.run, _import_into(settings, tmp_path))


async def _import_into(settings: Settings, folder: Path) -> None:
    live = settings_for(folder / "live")
    await _start(live)
    await _transfer_of(live).export_to(folder / "x.zip")
    trial = settings.model_copy(update={"database_url": f"sqlite:///{folder}/trial.db"})
    await _transfer_of(trial).import_from(folder / "x.zip")


@pytest.mark.slow
async def test_without_database_url_a_shared_folder_is_not_backed_up_with_another_database(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "home", WORKSPACE_URL=(tmp_path / "shared").as_uri())
    await _start_on_postgres(settings)
    with pytest.raises(SettingsError, match="belong to another database"):
        await _start(settings)
    assert "belong to another database" in await find_workspaces_fault(settings)
    assert await asyncio.to_thread(asyncio.run, export_data(settings, [str(tmp_path / "x.zip")])) == 1
    assert not (tmp_path / "x.zip").exists()


@pytest.mark.slow
async def test_without_workspace_url_a_database_is_not_backed_up_without_its_files(
    tmp_path: Path, postgres: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = (tmp_path / "shared").as_uri()
    await _start(settings_for(tmp_path / "home", DATABASE_URL=postgres, WORKSPACE_URL=shared))
    elsewhere = settings_for(tmp_path / "home", DATABASE_URL=postgres)
    assert await asyncio.to_thread(asyncio.run, export_data(elsewhere, [str(tmp_path / "x.zip")])) == 1
    assert f"the agents' files of this database are in {tmp_path}/shared on " in capsys.readouterr().err
    assert "the agents' files of this database are in" in await find_workspaces_fault(elsewhere)
    right = settings_for(tmp_path / "home", DATABASE_URL=postgres, WORKSPACE_URL=shared)
    assert await asyncio.to_thread(asyncio.run, export_data(right, [str(tmp_path / "x.zip")])) == 0


async def test_on_sqlite_nothing_is_compared(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "home")
    database = SqlDatabase(settings.database_url)
    workspaces = make_workspaces(settings)
    await check_storage(settings, workspaces, database)
    await database.close()
    assert not (tmp_path / "home").exists()
