"""Statements that are compiled once in a process, and not once for each database that a test makes."""

from typing import Any

from sqlalchemy import Connection, Engine, event

_COMPILED: dict[Any, Any] = {}
_DIALECTS: dict[str, Any] = {}  # by driver; a compiled statement is kept for one dialect object


def share_compiled_statements() -> None:
    """Give every connection made from now on the same cache."""
    event.listen(Engine, "engine_connect", _share)


def _share(connection: Connection) -> None:
    connection.dialect = _DIALECTS.setdefault(connection.dialect.driver, connection.dialect)
    connection.execution_options(compiled_cache=_COMPILED)
