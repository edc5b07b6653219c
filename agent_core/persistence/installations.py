"""The installations in the database."""

from typing import Any

from sqlalchemy import Row, bindparam, delete, select, text, update

from agent_core.model.channels import SurfaceName
from agent_core.model.installation import Installation
from agent_core.persistence.tables import installations
from agent_core.persistence.write_buffer import WriteBuffer

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


class SqlInstallations:
    """See `Installations` in the ports."""

    def __init__(self, buffer: WriteBuffer) -> None:
        self._buffer = buffer

    async def get(self, surface: SurfaceName, workspace: str) -> Installation | None:
        """The one that is committed."""
        rows = await self._buffer.rows(_GET, _place(surface, workspace))
        return _value(rows[0]) if rows else None

    async def of(self, surface: SurfaceName) -> tuple[Installation, ...]:
        """Those that are committed."""
        return tuple(_value(row) for row in await self._buffer.rows(_OF, {"on_surface": surface}))

    def put(self, installation: Installation, *, replacing: str | None = None) -> None:
        """Insert or overwrite it at commit, or update it if it is still as it was."""
        place = _place(installation.surface, installation.workspace)
        values = {column.name: getattr(installation, column.name) for column in _COLUMNS}
        if replacing is None:
            self._buffer.queue(_PUT, values, key=_key(place))
        else:
            values |= place | {"replacing": replacing}
            self._buffer.queue(_REPLACE, values, key=_key(place), checked=True)

    def remove(self, surface: SurfaceName, workspace: str) -> None:
        """Delete it at commit."""
        place = _place(surface, workspace)
        self._buffer.queue(_REMOVE, place, key=_key(place))


def _place(surface: SurfaceName, workspace: str) -> dict[str, object]:
    return {"on_surface": surface, "in_workspace": workspace}


def _key(place: dict[str, object]) -> tuple[object, ...]:
    return ("installation", *place.values())


def _value(row: Row[Any]) -> Installation:
    return Installation(
        surface=row.surface, workspace=row.workspace, name=row.name, sealed=row.sealed, installed_at=row.installed_at
    )
