"""Databases with rows of every kind, and what is in a database, read without the code that is tested."""

import asyncio
import base64
import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from sqlalchemy import BigInteger, Boolean, Column, Connection, LargeBinary, Table, insert, select, text

from agent_core.capabilities.export.transfer import Transfer
from agent_core.capabilities.files.workspace_transfer import WorkspaceTransfer
from agent_core.model.agent import Agent
from agent_core.model.draft import FormDraft
from agent_core.model.note import Note, Notice
from agent_core.model.records.audit import AuditEntry
from agent_core.model.records.memory import Memory
from agent_core.model.turn import Turn
from agent_core.persistence import schema
from agent_core.persistence.json_codec import encode
from agent_core.persistence.row_transfer import TABLES
from agent_core.persistence.tables import AnyText, UtcDateTime
from tests.properties.strategies import texts
from tests.tables import on_database

Rows = Mapping[str, Sequence[Mapping[str, Any]]]

KINDS = {
    "agents": Agent,
    "turns": Turn,
    "notes": Note,
    "notices": Notice,
    "audit": AuditEntry,
    "memories": Memory,
    "form_drafts": FormDraft,
}
LONG = "\U0001f986\x00\ud800 \ud83d" + "\ude00 " + "long " * 2_000  # also a pair of surrogates that is no character
# Of the columns that have any length: an index of PostgreSQL takes 2,700 bytes.
UNINDEXED = {("preferences", "text"), ("installations", "sealed"), ("turns", "shown_as")}
TIMES = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@st.composite
def every_table(draw: st.DrawFn) -> Rows:
    """Rows for each table of the schema, whatever it has; keys are any texts, and every agent has records."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for table in TABLES:
        is_of_agent = any(column.foreign_keys for column in table.primary_key)  # one row for each agent
        count = len(rows["agents"]) if is_of_agent else draw(st.integers(1, 4))
        rows[table.name] = [_row(draw, table, number, rows) for number in range(count)]
    return rows


def _row(draw: st.DrawFn, table: Table, number: int, rows: Rows) -> dict[str, Any]:
    return {each.name: _value(draw, each, number, rows) for each in table.columns if not each.computed}


def _value(draw: st.DrawFn, column: Column[Any], number: int, rows: Rows) -> object:
    table = column.table.name
    if column.foreign_keys:
        return rows["agents"][number % len(rows["agents"])]["id"]
    if column.nullable and draw(st.booleans()):
        return None
    if column.name == "data":
        return encode(draw(st.from_type(KINDS[table])))
    if column.primary_key or column.name == "name_key":
        return f"{number} {draw(texts)}"
    if column.name == "number":
        return number
    return draw(_of_type(column, (table, column.name) in UNINDEXED))


def _of_type(column: Column[Any], may_be_long: bool) -> st.SearchStrategy[object]:
    match column.type:
        case AnyText():
            return texts | st.just(LONG) if may_be_long else texts
        case UtcDateTime():
            return TIMES
        case Boolean():
            return st.booleans()
        case LargeBinary():
            return st.binary(max_size=200)
        case BigInteger():
            return st.integers(-(2**63), 2**63 - 1)
        case _:
            return st.integers(-(2**31), 2**31 - 1)


async def run(url: str, work: Callable[[Connection], Any]) -> Any:
    """Call a function with a connection."""
    return await on_database(url, work)


async def fill(url: str, rows: Rows) -> None:
    """Add rows to a database that has its tables."""

    def add(connection: Connection) -> None:
        for table in TABLES:
            if rows.get(table.name):
                connection.execute(insert(table), list(rows[table.name]))

    await run(url, add)


async def rows_in(url: str) -> Rows:
    """All rows of a database by table, in the order of their JSON."""

    def read(connection: Connection) -> Rows:
        return {
            table.name: sorted((dict(row) for row in connection.execute(select(table)).mappings()), key=_sortable)
            for table in TABLES
        }

    found: Rows = await run(url, read)
    return found


def _sortable(row: Mapping[str, Any]) -> str:
    return json.dumps(
        row, default=lambda value: base64.b64encode(value).decode() if isinstance(value, bytes) else f"{value}"
    )


async def revision(url: str, changed: str | None = None) -> str:
    """The revision of the tables, after it was set to `changed`."""
    if changed is not None:
        statement = text("UPDATE alembic_version SET version_num = :version").bindparams(version=changed)
        await run(url, lambda connection: connection.execute(statement).close())
    return await schema.version(url)


async def empty(url: str) -> None:
    """Make the tables of a PostgreSQL server's database, and remove their rows."""
    names = ", ".join(table.name for table in TABLES)
    await schema.upgrade(url)
    await run(url, lambda connection: connection.exec_driver_sql(f"TRUNCATE {names} CASCADE").close())


def transfer(url: str, home: Path, told: list[str] | None = None) -> Transfer:
    return Transfer(
        url=url, workspaces=WorkspaceTransfer(home / "workspaces"), tell=(told if told is not None else []).append
    )


def write_files(home: Path, files: Mapping[str, bytes]) -> None:
    """Write files below the folder of workspaces; a path that ends with / is a folder, one with .sh a program."""
    for path, content in files.items():
        target = home / "workspaces" / path
        (target if path.endswith("/") else target.parent).mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.endswith("/"):
            target.write_bytes(content)
            target.chmod(0o700 if path.endswith(".sh") else 0o600)
            os.utime(target, ns=(1_700_000_000_123_456_789, 1_700_000_000_123_456_789))


def files_in(home: Path) -> dict[str, tuple[bytes, int, int] | None]:
    """Content, permissions and time of change of each file of the workspaces; None for a folder."""
    root = home / "workspaces"
    return {
        str(path.relative_to(root)): None
        if path.is_dir()
        else (path.read_bytes(), path.stat().st_mode & 0o777, path.stat().st_mtime_ns)
        for path in sorted(root.rglob("*"))
    }


def in_thread(work: Callable[[], Any]) -> None:
    """Run a coroutine function to its end while a loop runs in this thread."""
    from threading import Thread

    thread = Thread(target=lambda: asyncio.run(work()))
    thread.start()
    thread.join()
