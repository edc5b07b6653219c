"""What was taken out of the house stays out."""

import ast

from tests.architecture.sources import SHIPPED, imported, parse

DRIVERS = {  # of databases, and the modules that may call them past SQLAlchemy
    "asyncpg": set[str](),
    "aiosqlite": set[str](),
    "psycopg": {"agent_core/persistence/server_broadcast.py"},  # LISTEN is no statement of SQLAlchemy
}
DRIVER_CONNECTION = {"agent_core/persistence/file_connections.py"}  # a search of SQLite has a limit of time


def test_only_sqlalchemy_calls_a_driver_of_a_database() -> None:
    shipped = [*parse(*SHIPPED)]
    for driver, allowed in DRIVERS.items():
        found = {str(each.path) for each in shipped if any(name.split(".")[0] == driver for name in imported(each))}
        assert found <= allowed, driver
    past = {
        str(each.path)
        for each in shipped
        if any(isinstance(node, ast.Attribute) and node.attr == "driver_connection" for node in each.nodes)
    }
    assert past <= DRIVER_CONNECTION
