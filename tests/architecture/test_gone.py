"""What was taken out of the house stays out."""

import ast
import re
from collections.abc import Iterator, Sequence

import pytest

from agent_core.persistence.tables import metadata
from agent_core.text.own_commands import command_text
from tests.architecture.sources import ROOT, SHIPPED, Source, imported

pytestmark = pytest.mark.xdist_group("architecture")  # one process parses the sources

DRIVERS = {  # of databases, and the modules that may call them past SQLAlchemy
    "asyncpg": set[str](),
    "aiosqlite": set[str](),
    "psycopg": {"agent_core/persistence/server_broadcast.py"},  # LISTEN is no statement of SQLAlchemy
}
OF_A_CLONE = re.compile(r"\bmake (?:run|address|doctor|setup|extras|docs|test|check|reference)\b|python3? -m bot\b")
DRIVER_CONNECTION = {"agent_core/persistence/connections.py"}  # a search of SQLite has a limit of time


def test_only_sqlalchemy_calls_a_driver_of_a_database(shipped: Sequence[Source]) -> None:
    for driver, allowed in DRIVERS.items():
        found = {str(each.path) for each in shipped if any(name.split(".")[0] == driver for name in imported(each))}
        assert found <= allowed, driver
    past = {
        str(each.path)
        for each in shipped
        if any(isinstance(node, ast.Attribute) and node.attr == "driver_connection" for node in each.nodes)
    }
    assert past <= DRIVER_CONNECTION


def test_no_coroutine_is_driven_by_hand(shipped: Sequence[Source]) -> None:
    driven = {
        str(each.path)
        for each in shipped
        for node in each.nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "send"
        if [ast.unparse(argument) for argument in node.args] == ["None"]
    }
    assert driven <= {"agent_core/testing/database.py"}, "asyncio drives them"


def test_no_table_says_who_is_alive_or_who_has_an_agent() -> None:
    """Procrastinate's tables do, which are not Signoff's."""
    columns = {f"{table.name}.{column.name}" for table in metadata.sorted_tables for column in table.columns}
    assert not {each for each in columns if "beat" in each or "claim" in each or "worker_id" in each}
    assert not {"workers", "claims", "sightings"} & {table.name for table in metadata.sorted_tables}


def test_what_slack_sends_is_checked_by_bolt(shipped: Sequence[Source]) -> None:
    at_slack = [each for each in shipped if "/slack/" in str(each.path)]
    assert at_slack
    assert not {str(each.path) for each in at_slack if "hmac" in imported(each)}
    texts = {
        str(each.path)
        for each in at_slack
        for node in each.nodes
        if isinstance(node, ast.Constant) and "x-slack-signature" in str(node.value).casefold()
    }
    assert not texts


def _said_for_people(shipped: Sequence[Source]) -> Iterator[tuple[str, str]]:
    """The texts of modules without their docstrings, and the pages."""
    for each in shipped:
        docstrings = {id(node.value) for node in each.nodes if isinstance(node, ast.Expr)}
        yield from (
            (str(each.path), node.value)
            for node in each.nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
        )
    pages = (path for folder in SHIPPED for ending in ("html", "js") for path in (ROOT / folder).rglob(f"*.{ending}"))
    yield from ((path.relative_to(ROOT).as_posix(), path.read_text()) for path in pages)


def test_one_module_says_how_commands_are_run_in_a_clone_and_how_where_signoff_is_installed(
    shipped: Sequence[Source],
) -> None:
    found = {(path, text.strip()) for path, text in _said_for_people(shipped) if OF_A_CLONE.search(text)}
    assert {path for path, _ in found} == {"agent_core/text/own_commands.py"}, found
    assert (command_text("address", is_clone=True), command_text("address", is_clone=False)) == (
        "make address",
        "signoff address",
    )
    assert (command_text("solo", is_clone=True), command_text("solo", is_clone=False)) == (
        "python -m bot solo",
        "signoff solo",
    )
