"""The table of attacks, gathered from the tests that carry them out.

    @attack("door", "An address written as one number: http://2130706433/", "refused: 127.0.0.1 is this machine")
    async def test_…(answer: str) -> None: …

`attack` marks a test, or one `pytest.param(…, marks=attack(…))` of it. `python -m tests.attacks.rows` writes the table
into docs/explanation/security.md, and with `--print` only prints it.
"""

import contextlib
import io
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "security.md"
BEGIN, END = "<!-- the table of attacks begins -->", "<!-- the table of attacks ends -->"
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


def table(rows: list[Row]) -> str:
    """The rows as Markdown, one table for each part of Signoff."""
    parts: list[str] = []
    for on in cast("tuple[On, ...]", get_args(On)):
        lines = [f"| {number} | {_cell(row.tries)} | {_cell(row.answer)} |" for number, row in _of(rows, on)]
        parts += [f"### {HEADINGS[on]}", "", "| | What is tried | Result |", "|---|---|---|", *lines, ""]
    return "\n".join(parts)


def _of(rows: list[Row], on: On) -> list[tuple[int, Row]]:
    return list(enumerate((row for row in rows if row.on == on), 1))


def _cell(text: str) -> str:
    shown = text if "`" in text else text.replace("<", "&lt;")  # between backticks an escape would be read as it is
    return shown.replace("|", "\\|")


def written(page: str, rows: str) -> str:
    """The page with the table in its place; raise ValueError where it has none."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{PAGE.name} has no place for the table.")
    return f"{before}{begin}\n\n{rows}\n{end}{after}"


if __name__ == "__main__":
    found = table(gathered())
    if "--print" in sys.argv:
        sys.stdout.write(found)
    else:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
