"""The table of attacks, gathered from the tests that carry them out.

    @attack("door", "An address written as one number: http://2130706433/", "refused: 127.0.0.1 is this machine")
    async def test_…(answer: str) -> None: …

`attack` marks a test, or one `pytest.param(…, marks=attack(…))` of it. `python -m tests.attacks.rows` writes
docs/reference/attacks.md, and with `--print` only prints it.
"""

import contextlib
import io
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "attacks.md"
INTRODUCTION = """# Attacks that were tried

Each row is a test of `tests/attacks`. The test carries out the attack and compares the result
with its row. `python -m tests.attacks.rows` writes this page from the tests. The attacks on the sandbox run twice: as
root and as an ordinary user. [Security](../explanation/security.md) says who is hostile and what is not defended.
"""
On: TypeAlias = Literal["door", "sandbox", "plugins", "servers", "files", "http", "services", "approval"]
HEADINGS: dict[On, str] = {
    "door": "The egress gateway",
    "sandbox": "The sandbox",
    "plugins": "Plugins of AutoGPT",
    "files": "Workspace files",
    "http": "The HTTP server",
    "services": "External services",
    "approval": "Approval and secrets",
    "servers": "Tool servers",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One attack: the part of Signoff it is aimed at, what is tried, and the result."""

    on: On
    tries: str
    answer: str


def attack(on: On, tries: str, answer: str) -> pytest.MarkDecorator:
    """Mark a test as an attack: `tries` is what is tried, in a phrase, and `answer` the result."""
    return pytest.mark.attack(on=on, tries=tries, answer=answer)


def row_of(item: pytest.Item) -> Row | None:
    """The attack that a test is marked with."""
    mark = item.get_closest_marker("attack")
    return Row(**mark.kwargs) if mark else None


@dataclass(slots=True, eq=False)
class Gathering:
    """A plugin that keeps the rows of what pytest collects."""

    rows: list[Row] = field(default_factory=list)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keep them."""
        self.rows = [row for item in session.items if (row := row_of(item))]


def gathered() -> list[Row]:
    """All rows, in the order of the files; raise ValueError when the tests cannot be collected."""
    gathering = Gathering()
    with contextlib.redirect_stdout(io.StringIO()) as said:
        options = ["--collect-only", "-q", "-m", "", "-n", "0", "-p", "no:cacheprovider"]
        code = pytest.main([*options, str(Path(__file__).parent)], plugins=[gathering])
    if code != pytest.ExitCode.OK:
        raise ValueError(said.getvalue())
    return gathering.rows


def page(rows: list[Row]) -> str:
    """The page in Markdown, with one table for each part of Signoff."""
    parts = [INTRODUCTION]
    for on in cast("tuple[On, ...]", get_args(On)):
        of_part = enumerate((row for row in rows if row.on == on), 1)
        lines = [f"| {number} | {_cell(row.tries)} | {_cell(row.answer)} |" for number, row in of_part]
        parts += [f"## {HEADINGS[on]}", "", "| | What is tried | Result |", "|---|---|---|", *lines, ""]
    return "\n".join(parts).rstrip() + "\n"


def _cell(text: str) -> str:
    shown = text if "`" in text else text.replace("<", "&lt;")  # between backticks an escape would be read as it is
    return shown.replace("|", "\\|")


if __name__ == "__main__":
    written = page(gathered())
    if "--print" in sys.argv:
        sys.stdout.write(written)
    else:
        PAGE.write_text(written, encoding="utf-8")
