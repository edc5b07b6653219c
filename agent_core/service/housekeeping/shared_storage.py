"""Whether all processes on one database keep the agents' files at the same place, and which database that is."""

from secrets import token_hex

from agent_core.model.files import DATABASE_ID, StorageIdentity
from agent_core.model.origin import ChannelScope
from agent_core.ports.database import Database, UnitOfWork, in_one_unit

SCOPE, KEY = ChannelScope("web", "", ""), "storage of files"


async def record_storage(database: Database, own: StorageIdentity) -> str:
    """Record where this process keeps files; return the place of the process before if that is another one, or ""."""

    async def act(work: UnitOfWork) -> str:
        recorded = await work.preferences.get(SCOPE, KEY) or ""
        identity, _, place = recorded.partition(" ")
        if identity != own.id:
            work.preferences.put(SCOPE, KEY, f"{own.id} {own.place}")
        return "" if identity in ("", own.id) else place

    return await in_one_unit(database, act)


async def read_storage_place(database: Database) -> str:
    """Where the process that started last keeps files, or "" if none has said so."""
    async with database.begin() as work:
        return (await work.preferences.get(SCOPE, KEY) or "").partition(" ")[2]


async def read_database_id(database: Database) -> str:
    """The random id of the database, or "" if it has none yet."""
    async with database.begin() as work:
        return await work.preferences.get(SCOPE, DATABASE_ID) or ""


async def find_database_id(database: Database) -> str:
    """The random id of the database, made at the first call."""

    async def act(work: UnitOfWork) -> str:
        if found := await work.preferences.get(SCOPE, DATABASE_ID):
            return found
        made = token_hex(16)
        work.preferences.add(SCOPE, DATABASE_ID, made)
        return made

    return await in_one_unit(database, act)
