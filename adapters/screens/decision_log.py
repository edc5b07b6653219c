"""Formats the decision log: one line of text per row, the newest rows as an answer, all rows as JSON Lines and CSV."""

import asyncio
import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches

from adapters.screens.visible_text import visible
from adapters.typed.answers import Answer, Attachment
from agent_core.errors import InvalidInput
from agent_core.model.command import text_digest
from agent_core.model.origin import Actor, Origin
from agent_core.model.records.audit import ENDED, RAN, AuditEntry
from agent_core.service.reading.decision_log import LogFilter
from agent_core.service.reading.views import AgentViews
from agent_core.text.lines import in_quotation_marks, one_line, unseparated

JSON_FILE, CSV_FILE = "decision-log.jsonl", "decision-log.csv"
CHANNEL_PREFIX = "channel-"
NEWEST_ROWS = 15
BRIEF_CHARACTERS = 80
TEXT_DELETED = "text deleted with the agent"
BYTE_ORDER_MARK = "\ufeff"  # without it Excel reads a CSV file in the local code page
DECISIONS = {
    "approve": "approved",
    "edit": "edited and approved",
    "reject": "rejected",
    "run again": "said to run again",
    "it ran": "said that it ran:",
    "skip": "skipped",
    RAN: "ran",
    ENDED: "did not run",
}
OUTCOMES = ("running", "done", "failed", "stopped", "interrupted", "not run")
# The start of a formula in a spreadsheet, also in one that splits cells at semicolons or tabs.
FORMULA = re.compile(r"(\A|[;\t\r\n])(?=[\"'\s]*[=+\-@\uff1d\uff0b\uff0d\uff20])")


async def newest_rows(views: AgentViews, origin: Origin, wanted: LogFilter) -> Answer:
    """The newest rows as text, and all rows as files.

    Raise NotAllowed for bots, InvalidInput if `wanted` names an agent and no row matches.
    """
    entries = [entry async for entry in views.log.rows(origin, wanted)]
    if not entries and wanted.agent:
        raise InvalidInput({"name": await _find_unknown_name(views, origin, wanted.agent)})
    whose = entries[0].agent_name if wanted.agent or wanted.agent_id else ""
    rows = await views.log.with_cards(entries[:NEWEST_ROWS])
    text = "\n".join((head_text(whose, len(entries)), *(f"• {row_text(row.entry)}" for row in rows)))
    return Answer(text, is_wanted=True, files=await log_files(entries, is_channel=not whose), log=rows)


def head_text(whose: str, count: int) -> str:
    head = f"Decision log of {visible(whose)}" if whose else "Decision log of this channel"
    if not count:
        return f"{head}: nothing yet."
    return f"{head}, {f'the newest {NEWEST_ROWS} of {count:,} rows' if count > NEWEST_ROWS else 'newest first'}:"


def row_text(entry: AuditEntry) -> str:
    parts = (
        time_text(entry.at),
        unseparated(entry.agent_name),
        f"turn {entry.turn_number}" if entry.turn_number else "",
        what_text(replace(entry, target=one_line(visible(entry.target), BRIEF_CHARACTERS))),
        who_text(entry.by),
        right_text(entry),
        entry.outcome,
        detail_text(entry),
    )
    return " · ".join(" ".join(visible(part).split()) for part in parts if part)


def what_text(entry: AuditEntry) -> str:
    """The action, with a command's name, risk classes and target: `ran write_to_file (write) report.md · +4 −1`."""
    classes = f"({', '.join(entry.risks)})" if entry.risks else ""
    of_command = (entry.command, classes, one_line(visible(entry.target))) if entry.command else ()
    return " ".join(filter(None, (act_text(entry), *of_command)))


def act_text(entry: AuditEntry) -> str:
    """What was done: `ran`, `approved ×3`."""
    done = DECISIONS.get(entry.act, entry.act)
    return f"{done} {entry.detail}".rstrip() if entry.act == "approve" else done


def who_text(actor: Actor) -> str:
    """The actor's name. An agent is marked as one, so that it cannot pass for a person of the same name."""
    return actor.in_full if actor.kind != "bot" else f"agent {in_quotation_marks(unseparated(actor.display))}"


def right_text(entry: AuditEntry) -> str:
    """The permission under which a command ran, in words; "" for other rows."""
    match entry.grant:
        case "approve":
            return f"approved {entry.given}".rstrip()
        case "edit":
            return "edited"
        case "lease":
            return f"auto-approved by {who_text(entry.by)}’s Approve ×N{_since(entry)}"
        case "rule":
            return f"no approval needed (rule by {who_text(entry.by)})"
        case "policy":
            return f"no approval needed (policy by {who_text(entry.by)})"
        case _:
            return ""


def detail_text(entry: AuditEntry) -> str:
    """The row's detail on one line, cut to BRIEF_CHARACTERS."""
    return one_line(visible(whole_detail(entry)), BRIEF_CHARACTERS)


def whole_detail(entry: AuditEntry) -> str:
    """The row's detail, for an edited command its arguments first; "" for an approval, told by `what_text`."""
    if entry.is_blanked:
        return TEXT_DELETED
    if entry.act == "approve":
        return ""
    return " · ".join(filter(None, (entry.given if entry.grant == "edit" else "", entry.detail)))


def time_text(at: datetime) -> str:
    """A date and time in UTC: `14 Mar 2026, 12:34 UTC`."""
    return f"{at.day} {at:%b %Y, %H:%M} UTC"


def _person_id(entry: AuditEntry) -> str:
    """The person's id on their platform, or the account with which they signed in to the page.

    Without accounts the page's ids are in cookies: then a digest tells people apart.
    """
    is_in_cookie = entry.channel.surface == "web" and not entry.by.signed_in
    return text_digest(f"who\0{entry.by.id}")[:16] if is_in_cookie else entry.by.id


async def log_files(entries: Sequence[AuditEntry], *, is_channel: bool) -> tuple[Attachment, ...]:
    """All rows as JSON lines and as CSV; written in a worker thread, because a long log takes seconds."""
    return await asyncio.to_thread(_written, entries, CHANNEL_PREFIX if is_channel else "")


def json_line(entry: AuditEntry) -> str:
    """A row as one line of JSON. All characters beyond ASCII are escaped, so none is invisible."""
    return json.dumps(_fields(entry)) + "\n"


def csv_text(entries: Sequence[AuditEntry]) -> str:
    """The rows as CSV, written so that a spreadsheet takes no cell for a formula."""
    table = io.StringIO(newline="")
    writer = csv.writer(table, quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    for entry in entries:
        writer.writerow(csv_cells(entry))
    return BYTE_ORDER_MARK + table.getvalue()


def _written(entries: Sequence[AuditEntry], prefix: str) -> tuple[Attachment, ...]:
    files = ((JSON_FILE, "".join(map(json_line, entries))), (CSV_FILE, csv_text(entries)))
    return tuple(Attachment(prefix + name, text.encode(), is_readable=False) for name, text in files)


# The columns of both files, in order.
COLUMNS: Mapping[str, Callable[[AuditEntry], object]] = {
    "at": lambda entry: entry.at.isoformat(),
    "agent": lambda entry: entry.agent_name,
    "turn": lambda entry: entry.turn_number or "",
    "what": lambda entry: DECISIONS.get(entry.act, entry.act).removesuffix(":"),
    "command": lambda entry: entry.command,
    "classes": lambda entry: list(entry.risks),
    "who": lambda entry: entry.by.display,
    "who_kind": lambda entry: entry.by.kind,
    "right": right_text,
    "granted_at": lambda entry: entry.granted_at.isoformat() if entry.granted_at else "",
    "outcome": lambda entry: entry.outcome,
    "detail": lambda entry: whole_detail(entry) or entry.detail,
    "act": lambda entry: entry.act,
    "who_id": lambda entry: _person_id(entry),
    "agent_id": lambda entry: entry.agent_id,
    "turn_id": lambda entry: entry.turn_id or "",
    "shown_hash": lambda entry: entry.shown_hash,
    "run_hash": lambda entry: entry.run_hash,
    "id": lambda entry: entry.id,
    "target": lambda entry: entry.target,
}


def _fields(entry: AuditEntry) -> dict[str, object]:
    return {name: read(entry) for name, read in COLUMNS.items()}


def csv_cells(entry: AuditEntry) -> list[str]:
    """The cells of a row, in the order of COLUMNS."""
    return [_cell(" ".join(value) if isinstance(value, list) else value) for value in _fields(entry).values()]


def _cell(value: object) -> str:
    """A value as CSV text; against CSV injection, an apostrophe is put before everything that could start a formula."""
    text = FORMULA.sub(r"\1'", visible(str(value)))
    return f"'{text}" if text[:1] in ("\t", "\r", "\n") else text


def _since(entry: AuditEntry) -> str:
    """When the lease of this row was granted, with the date if that was another day; "" if the row has no lease."""
    if entry.granted_at is None:
        return ""
    is_same_day = entry.granted_at.date() == entry.at.date()
    return f" at {entry.granted_at:%H:%M} UTC" if is_same_day else f" on {time_text(entry.granted_at)}"


async def _find_unknown_name(views: AgentViews, origin: Origin, name: str) -> str:
    names = [agent.name for agent in await views.agents(origin.channel)]
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    there = f" Agents here: {', '.join(names[:20])}." if names else ""
    hint = f" Did you mean {near[0]}?" if near else there
    return f"No agent here is or was called {name}.{hint} Leave out the name for the log of the whole channel."
