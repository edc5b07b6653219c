"""Storage of the agents' files (folder or S3): builds it, checks that it is the database's, and tells doctor.

Part of the composition root. Modules of S3 are imported only if WORKSPACE_URL names a bucket.
"""

import asyncio
import logging
from typing import TYPE_CHECKING, TypeAlias

from agent_core.capabilities.files.folder_workspace import FolderWorkspaces
from agent_core.capabilities.files.workspace_paths import OWNER_NAME
from agent_core.capabilities.files.workspace_transfer import StoredFiles, WorkspaceTransfer
from agent_core.errors import CommandError, SettingsError, TransferRefused
from agent_core.persistence.database import SqlDatabase
from agent_core.persistence.schema import version
from agent_core.ports.database import Database
from agent_core.service.housekeeping.shared_storage import (
    find_database_id,
    read_database_id,
    read_storage_place,
    record_storage,
)
from agent_core.text.own_commands import install_text
from bot.settings import Settings

if TYPE_CHECKING:
    from agent_core.capabilities.files.s3_storage import S3Storage
    from agent_core.capabilities.files.s3_workspace import S3Workspaces


AnyWorkspaces: TypeAlias = "FolderWorkspaces | S3Workspaces"
URL = "WORKSPACE_URL"
EXAMPLE = "s3://my-bucket/signoff"
NO_OBSTORE = f"needs the package obstore for a bucket: run {install_text('s3')}, then start again."
DIFFERENT = (
    "agents' files are in different places: this process keeps them in %s, the one that started before in %s. "
    "If both run, give both the same WORKSPACE_URL (docs/how-to/run-on-several-machines.md)"
)
OF_A_SERVER = (
    "names no server, so Signoff starts on SQLite, but the agents' files in %s belong to another database. Was this "
    "Signoff on PostgreSQL? Then set DATABASE_URL again. To start over, name a new SIGNOFF_HOME or an empty "
    f"WORKSPACE_URL. If the other database was only tried, or is gone for good, delete the file {OWNER_NAME} there."
)
ELSEWHERE = "the agents' files of this database are in %s, and not in %s. Set it as the processes have it."
EXAMPLE_DATABASE = "postgresql://signoff@localhost/signoff"
NOT_OWN = (
    "the agents' files in %s belong to another database. Set DATABASE_URL to that one; or leave WORKSPACE_URL empty "
    "and name a new SIGNOFF_HOME, or name an empty place. If the other database is gone for good, delete the file "
    f"{OWNER_NAME} there."
)

logger = logging.getLogger(__name__)


def make_workspaces(settings: Settings) -> AnyWorkspaces:
    """The workspaces of all agents. Raise SettingsError if a bucket needs a package that is missing."""
    if settings.workspace_folder:
        return FolderWorkspaces(settings.workspace_folder)
    storage = _s3_storage(settings)
    from agent_core.capabilities.files.s3_workspace import S3Workspaces

    return S3Workspaces(storage)


async def check_storage(settings: Settings, workspaces: AnyWorkspaces, database: Database) -> None:
    """Raise SettingsError if the files cannot be used. Warn if the process before kept files elsewhere.

    On SQLite the folder in the data folder needs no check, unless a process on PostgreSQL has marked it as its own.
    """
    try:
        if settings.sqlite_file and not settings.workspace_url and not stored_files(settings).read_owner():
            return
        own_id = await find_database_id(database)
        own = await workspaces.identify()
        owner = await workspaces.belong_to(own_id)
    except (CommandError, TransferRefused) as fault:
        raise SettingsError(URL, f"{settings.shown_workspaces} cannot be used: {fault}", EXAMPLE) from fault
    if owner != own_id and settings.sqlite_file and not settings.workspace_url:
        raise SettingsError("DATABASE_URL", OF_A_SERVER % own.place, EXAMPLE_DATABASE)
    if owner != own_id:
        raise SettingsError(URL, NOT_OWN % own.place, EXAMPLE)
    if other := await record_storage(database, own):
        logger.warning(DIFFERENT, own.place, other)


async def find_missing_setting(settings: Settings) -> str:
    """What to do if the files at the place of the settings are not those of their database; else "".

    On SQLite DATABASE_URL was lost then, on a server WORKSPACE_URL. Raise TransferRefused if the files cannot be read.
    """
    owner = await asyncio.to_thread(stored_files(settings).read_owner)
    if settings.sqlite_file and not owner:
        return ""
    try:
        is_new = settings.sqlite_file and not settings.sqlite_file.exists()
        own, place = ("", "") if is_new else await _read_own(settings)
    except Exception:  # the finding on the database tells it, and the start
        return ""
    if owner == own:
        return ""
    if not settings.sqlite_file:
        return f"{URL}: {ELSEWHERE % (place, settings.shown_workspaces)}" if place else ""
    if settings.workspace_url:
        return f"{URL}: {NOT_OWN % settings.shown_workspaces}"
    return f"DATABASE_URL {OF_A_SERVER % settings.workspace_folder}"


async def _read_own(settings: Settings) -> tuple[str, str]:
    """The id of the database of these settings, and where the process that started last kept files; "" without."""
    if not await version(settings.database_url):
        return "", ""
    database = SqlDatabase(settings.database_url)
    try:
        return await read_database_id(database), await read_storage_place(database)
    finally:
        await database.close()


async def find_workspaces_fault(settings: Settings) -> str:
    """What keeps Signoff from using the files, or "". Whether a folder can be written is not tested."""
    try:
        if not settings.workspace_folder:
            storage = _s3_storage(settings)
            from agent_core.capabilities.files.s3_check import find_storage_fault

            if fault := await find_storage_fault(storage):
                return fault
        return await find_missing_setting(settings)
    except SettingsError as refused:
        return refused.fault
    except TransferRefused as refused:
        return str(refused)


def stored_files(settings: Settings) -> StoredFiles:
    """The files of all workspaces, for export and import."""
    if settings.workspace_folder:
        return WorkspaceTransfer(settings.workspace_folder)
    storage = _s3_storage(settings)
    from agent_core.capabilities.files.s3_transfer import S3WorkspaceTransfer

    return S3WorkspaceTransfer(storage)


def _s3_storage(settings: Settings) -> "S3Storage":
    try:
        from agent_core.capabilities.files.s3_storage import S3Bucket, S3Storage
    except ImportError as fault:
        raise SettingsError(URL, NO_OBSTORE, EXAMPLE) from fault
    bucket, _, prefix = settings.workspace_url.removeprefix("s3://").partition("/")
    return S3Storage(
        bucket=S3Bucket(
            bucket=bucket,
            prefix=prefix,
            endpoint=settings.workspace_endpoint,
            region=settings.aws_region,
            access_key_id=settings.aws_access_key_id,
            secret_access_key=settings.aws_secret_access_key.get_secret_value(),
            session_token=settings.aws_session_token.get_secret_value(),
        )
    )
