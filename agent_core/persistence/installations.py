"""Repository of installations: the workspaces that installed Signoff, with their encrypted tokens."""

from typing import Any

from sqlalchemy import Row, bindparam, delete, select, text, update

from agent_core.model.origin import Installation, InstalledOn
from agent_core.persistence.tables import installations
from agent_core.persistence.write_buffer import SqlRepository

_COLUMNS = installations.c
_ON = _COLUMNS.surface == bindparam("on_surface")
_THIS = _COLUMNS.workspace == bindparam("in_workspace")
_OF = select(installations).where(_ON).order_by(_COLUMNS.workspace)
_GET = select(installations).where(_ON, _THIS)
_PUT = text(
    "INSERT INTO installations (surface, workspace, name, sealed, installed_at)"
    " VALUES (:surface, :workspace, :name, :sealed, :installed_at)"
    " ON CONFLICT (surface, workspace) DO UPDATE"
    " SET name = excluded.name, sealed = excluded.sealed, installed_at = excluded.installed_at"
).bindparams(*(bindparam(column.name, type_=column.type) for column in _COLUMNS))
_REPLACE = update(installations).where(_ON, _THIS, _COLUMNS.sealed == bindparam("replacing"))
_REMOVE = delete(installations).where(_ON, _THIS)


class SqlInstallations(SqlRepository):
    """See `Installations` in the ports."""

    async def get(self, surface: InstalledOn, workspace: str) -> Installation | None:
        rows = await self._buffer.rows(_GET, _key_values(surface, workspace))
        return _value(rows[0]) if rows else None

    async def of(self, surface: InstalledOn) -> tuple[Installation, ...]:
        return tuple(_value(row) for row in await self._buffer.rows(_OF, {"on_surface": surface}))

    def put(self, installation: Installation, *, replacing: str | None = None) -> None:
        key_values = _key_values(installation.surface, installation.workspace)
        values = {column.name: getattr(installation, column.name) for column in _COLUMNS}
        if replacing is None:
            self._buffer.queue(_PUT, values, key=_key(key_values))
        else:
            values |= key_values | {"replacing": replacing}
            self._buffer.queue(_REPLACE, values, key=_key(key_values), checked=True)

    def remove(self, surface: InstalledOn, workspace: str) -> None:
        key_values = _key_values(surface, workspace)
        self._buffer.queue(_REMOVE, key_values, key=_key(key_values))


def _key_values(surface: InstalledOn, workspace: str) -> dict[str, object]:
    return {"on_surface": surface, "in_workspace": workspace}


def _key(key_values: dict[str, object]) -> tuple[object, ...]:
    return ("installation", *key_values.values())


def _value(row: Row[Any]) -> Installation:
    return Installation(
        surface=row.surface, workspace=row.workspace, name=row.name, sealed=row.sealed, installed_at=row.installed_at
    )
