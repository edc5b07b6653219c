"""The decision log as people read it: which rows it has, what they say, how it is paged, and the files of all of it."""

import csv
import io
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from adapters.screens.decision_log import NEWEST_ROWS, csv_text, json_line, newest_rows, right_text, row_text, what_text
from adapters.typed.answers import Answer
from adapters.typed.subcommands import ThreadSubcommand, grant_to_agent
from adapters.typed.typed_text import typed
from agent_core.errors import InvalidInput, NotAllowed
from agent_core.model.channel_settings import Sites
from agent_core.model.decision import Approve, ApproveEdited, Policy
from agent_core.model.draft import AgentDraft
from agent_core.model.ids import AgentId, TurnId
from agent_core.model.origin import Actor
from agent_core.model.records.audit import ENDED, RAN, AuditEntry
from agent_core.ports.database import UnitOfWork, in_one_unit
from agent_core.service.reading import decision_log
from agent_core.service.reading.decision_log import EVERY_ROW, LogFilter
from agent_core.testing.examples import ANA, BEN, NOON, a_turn, an_agent, an_entry, keep
from agent_core.testing.language_model import ScriptedModel, reply_text
from agent_core.testing.stage import Stage
from tests.wiring import actions_of

ADA = an_agent(turns=1)
BOT = Actor(id="b", display="bot", kind="bot")
MINUTE = timedelta(minutes=1)


def writing(name: str) -> str:
    return reply_text("write_to_file", {"filename": name, "text": "x"})


async def rows_of(stage: Stage, wanted: LogFilter = EVERY_ROW) -> list[AuditEntry]:
    return [entry async for entry in stage.views.log.rows(stage.origin(BEN), wanted)]


async def told(stage: Stage, wanted: LogFilter = EVERY_ROW) -> list[tuple[str, str, str]]:
    return [(what_text(entry), right_text(entry), entry.outcome) for entry in await rows_of(stage, wanted)]


async def decided(stage: Stage, agent: Any, decision: Any, by: Actor = ANA) -> None:
    await stage.decide(agent, decision, by)
    await stage.wait_until_settled(agent)


async def log_of(*entries: AuditEntry) -> Stage:
    """A channel in which this was recorded."""
    stage = Stage(model=ScriptedModel())

    async def save(work: UnitOfWork) -> None:
        for entry in entries:
            work.audit.append(entry)

    await in_one_unit(stage.database, save)
    return stage


def ran(number: int, **changes: Any) -> AuditEntry:
    """The start of Ada's command of this turn, and with `act=ENDED` its end."""
    turn = a_turn(ADA, number=number)
    at = NOON + 2 * number * MINUTE
    entry = AuditEntry.on(ADA, RAN, by=ANA, at=at, turn=turn)
    return replace(entry, id=f"e{number:05}-ran", outcome="running", grant="approve", **changes)


def ended(number: int, outcome: Any = "done", **changes: Any) -> AuditEntry:
    return replace(
        ran(number),
        **{
            "id": f"e{number:05}-end",
            "act": ENDED,
            "outcome": outcome,
            "at": NOON + (2 * number + 1) * MINUTE,
            **changes,
        },
    )


# Which rows there are, and by which right


@pytest.mark.proves("log:every-run")
async def test_every_run_has_one_row_with_its_right_and_its_outcome() -> None:
    replies = (writing("a"), writing("b"), writing("c"), reply_text("read_file", {"filename": "a"}))
    stage = Stage(model=ScriptedModel(*replies, writing("d")))
    agent = await stage.create(policy=Policy(free=("read",)))
    await decided(stage, agent, Approve(2))
    await decided(stage, agent, ApproveEdited({"filename": "c", "text": "edited"}), BEN)
    rows = await rows_of(stage)
    assert '{"filename": "c", "text": "edited"}' in row_text(rows[1])
    assert await told(stage) == [
        ("ran read_file (read) a", "no approval needed (policy by @ana)", "done"),
        ("ran write_to_file (write) c · +1 −0", "edited", "done"),
        ("ran write_to_file (write) b · +1 −0", "auto-approved by @ana’s Approve ×N at 09:00 UTC", "done"),
        ("ran write_to_file (write) a · +1 −0", "approved ×2", "done"),
        ("created", "", ""),
    ]


async def test_an_approval_that_its_run_does_not_tell_keeps_its_row() -> None:
    approval = AuditEntry.on(ADA, "approve", by=ANA, at=NOON, turn=a_turn(ADA, number=1), detail="×3")
    stage = await log_of(replace(approval, id="e00000"), ran(1), ended(1))
    assert [entry.act for entry in await rows_of(stage)] == [RAN, "approve"]


async def test_an_approval_is_told_on_its_run_also_if_a_page_begins_between_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decision_log, "PAGE_ROWS", 1)
    approval = AuditEntry.on(ADA, "approve", by=ANA, at=NOON, turn=a_turn(ADA, number=1))
    before = replace(an_entry(ADA, act="created"), id="e00000-a", at=NOON)
    stage = await log_of(before, replace(approval, id="e00000-b"), ran(1), ended(1))
    newest = await stage.views.log.page(stage.origin(BEN))
    (row,) = (await stage.views.log.page(stage.origin(BEN), before=newest.earlier)).rows
    assert row.entry.act == "created"


async def test_what_was_set_for_the_channel_has_a_row_that_names_nobodys_agent() -> None:
    stage = Stage(model=ScriptedModel(writing("a")))
    origin = stage.origin(ANA, "delivery-1")
    await stage.agent_settings.set_channel_budget(None, stage.origin())
    sites = Sites(allow=("example.org",), deny=("evil.example",))
    for _ in range(2):
        await stage.agent_settings.set_sites(lambda _: sites, origin)
    found = [(entry.act, entry.detail, entry.agent_id, str(entry.by)) for entry in await rows_of(stage)]
    assert found == [
        ("set the channel's sites", "allowed: example.org · denied: evil.example", "", "@ana"),
        ("set the channel's budget", "no limit", "", "@ana"),
    ]


async def test_goals_and_budgets_are_recorded_with_what_they_became() -> None:
    stage = Stage(model=ScriptedModel(writing("a")))
    agent = await stage.create()
    await stage.agent_settings.set_goals(agent.id, ("rest", "sleep"), stage.origin())
    await stage.agent_settings.set_budget(agent.id, None, stage.origin())
    found = [(entry.act, entry.detail) for entry in await rows_of(stage)][:2]
    assert found == [("set the budget", "no limit"), ("set the goals", "1. rest 2. sleep")]


async def test_a_command_that_never_started_has_a_row_that_says_so() -> None:
    stage = await log_of(ended(1, "not run", detail="There is no such file."))
    (row,) = await rows_of(stage)
    assert (what_text(row), row.outcome) == ("did not run write_file (write) poem.txt", "not run")
    assert "There is no such file." in row_text(row)


@pytest.mark.proves("log:outlives")
async def test_rows_of_a_deleted_agent_stay_and_are_found_by_its_name() -> None:
    stage = Stage(model=ScriptedModel(writing("a"), reply_text("do_nothing")))
    agent = await stage.create()
    await decided(stage, agent, Approve())
    await stage.service.lifecycle.delete(agent.id, stage.origin(BEN))
    answer, nobody = await grant_to_agent(
        actions_of(stage).management_commands, ThreadSubcommand("audit", "clerk"), stage.origin(BEN)
    )
    assert nobody is None
    lines = answer.text.splitlines()
    assert lines[0] == "Decision log of Clerk, newest first:"
    assert " · Clerk · deleted · @ben · " in lines[1]
    ran = " · Clerk · turn 1 · ran write_to_file (write) · @ana · approved · done · text deleted with the agent"
    assert ran in lines[2]
    assert [row.card for row in answer.log] == ["", "", ""]


async def test_deleting_an_agent_ends_the_row_of_what_it_ran() -> None:
    stage = Stage(model=ScriptedModel())
    now = stage.clock.now()
    turn = a_turn(ADA).decide(Approve(), by=ANA, at=now).start(now)
    await keep(stage.database, ADA, turn, AuditEntry.of_run(ADA, turn, now))
    await stage.service.lifecycle.delete(ADA.id, stage.origin(BEN))
    assert [(entry.act, entry.outcome) for entry in await rows_of(stage)] == [("deleted", ""), ("ran", "stopped")]


# Outcomes across pages


async def test_the_end_of_a_command_is_told_on_its_start_also_across_chunks_and_pages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decision_log, "CHUNK_ENTRIES", 3)
    monkeypatch.setattr(decision_log, "PAGE_ROWS", 2)
    monkeypatch.setattr(decision_log, "FOLLOWING_ENTRIES", 2)
    between = [replace(an_entry(ADA, act="added a memory"), id=f"e00003-m{at}", at=ran(3).at) for at in range(5)]
    entries = [each for number in (1, 2, 3, 4) for each in (ran(number), ended(number, "failed"))]
    again = replace(ran(2), id="e00002-ran-again", at=ended(2).at)
    last = replace(ended(2), id="e00002-the-end", at=ended(2).at)
    stage = await log_of(*entries, *between, replace(ran(5), outcome="running"), again, last)
    whole, before = [], ""
    while True:
        page = await stage.views.log.page(stage.origin(), before=before)
        whole += [(row.entry.turn_number, row.entry.outcome) for row in page.rows if row.entry.turn_number]
        if not (before := page.earlier):
            break
    assert whole == [(5, "running"), (4, "failed"), (3, "failed"), (2, "done"), (2, "failed"), (1, "failed")]
    assert whole == [(entry.turn_number, entry.outcome) for entry in await rows_of(stage) if entry.turn_number]


async def test_a_page_reads_no_more_than_it_may_and_says_where_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_log, "CHUNK_ENTRIES", 5)
    monkeypatch.setattr(decision_log, "MAX_ENTRIES_PER_PAGE", 10)
    rare = replace(an_entry(ADA, act="created"), id="e00000", by=BEN)
    stage = await log_of(rare, *(ran(number) for number in range(1, 20)))
    first = await stage.views.log.page(stage.origin(), LogFilter(person="@BEN"))
    assert (first.rows, first.earlier) == ((), "e00010-ran")
    second = await stage.views.log.page(stage.origin(), LogFilter(person="ben"), before=first.earlier)
    assert [row.entry.id for row in second.rows] == ["e00000"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"agent": "ada"}, [3, 2, 1]),
        ({"agent": "eve"}, []),
        ({"agent_id": AgentId("agent-ada")}, [3, 2, 1]),
        ({"agent_id": AgentId("other")}, []),
        ({"person": "@Ben"}, [3]),
        ({"person": "u-ana"}, [2, 1]),
        ({"command": "WRITE_FILE"}, [3, 2, 1]),
        ({"command": "write"}, [3, 2, 1]),
        ({"command": "delete"}, []),
        ({"risk": "write", "outcome": "failed"}, [2]),
        ({"risk": "spend"}, []),
    ],
)
async def test_rows_are_found_by_person_command_class_outcome_and_agent(wanted: Any, found: list[int]) -> None:
    stage = await log_of(ran(1), ended(1), ran(2), ended(2, "failed"), ran(3, by=BEN))
    rows = await rows_of(stage, LogFilter(**wanted))
    assert [entry.turn_number for entry in rows] == found


@pytest.mark.proves("log:rights")
async def test_bots_read_no_log_and_guests_do() -> None:
    stage = await log_of(ran(1))
    with pytest.raises(NotAllowed, match="read the decision log here"):
        await stage.views.log.page(stage.origin(BOT))
    with pytest.raises(NotAllowed, match="read the decision log here"):
        await newest_rows(stage.views, stage.origin(BOT), EVERY_ROW)
    guest = Actor(id="g", display="gus", kind="guest")
    assert (await stage.views.log.page(stage.origin(guest))).rows


# What is told


async def test_the_newest_rows_are_told_and_the_files_hold_all() -> None:
    stage = await log_of(*(ran(number) for number in range(1, NEWEST_ROWS + 3)))
    answer = await newest_rows(stage.views, stage.origin(), EVERY_ROW)
    lines = answer.text.splitlines()
    assert lines[0] == f"Decision log of this channel, the newest {NEWEST_ROWS} of {NEWEST_ROWS + 2} rows:"
    assert (
        lines[1]
        == "• 14 Mar 2026, 12:34 UTC · Ada · turn 17 · ran write_file (write) poem.txt · @ana · approved · running"
    )
    assert len(lines) == 1 + NEWEST_ROWS == 1 + len(answer.log)
    assert [file.name for file in answer.files] == ["channel-decision-log.jsonl", "channel-decision-log.csv"]
    assert len(answer.files[0].data.splitlines()) == NEWEST_ROWS + 2
    assert answer.whole == answer.text


async def test_a_name_that_nobody_had_is_told_with_those_there_are() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing")))
    await stage.service.lifecycle.create(AgentDraft(name="Clerk", goals=("wait",)), stage.origin())
    with pytest.raises(InvalidInput, match=r"No agent here is or was called Clark\. Did you mean Clerk"):
        await newest_rows(stage.views, stage.origin(), LogFilter(agent="Clark"))


async def test_audit_in_a_thread_is_the_agents_and_audit_channel_that_of_all() -> None:
    stage = Stage(model=ScriptedModel(reply_text("do_nothing"), reply_text("do_nothing")))
    clerk = await stage.create()
    await stage.service.lifecycle.create(AgentDraft(name="Ada", goals=("wait",)), stage.origin())

    async def said(words: str) -> Answer:
        return await actions_of(stage).say(clerk.id, typed(f"!audit {words}"), stage.origin(BEN))

    assert [row.entry.agent_name for row in (await said("")).log] == ["Clerk"]
    assert [row.entry.agent_name for row in (await said("channel")).log] == ["Ada", "Clerk"]
    with pytest.raises(InvalidInput, match="Audit: write audit for"):
        await said("set 5")


async def test_a_lease_of_another_day_is_told_with_its_date() -> None:
    entry = replace(ran(1), grant="lease", granted_at=NOON - timedelta(days=1))
    assert right_text(entry) == "auto-approved by @ana’s Approve ×N on 13 Mar 2026, 12:00 UTC"


async def test_what_others_wrote_hides_nothing_in_a_row() -> None:
    reason = "no\u202e\nnever " + "x" * 200
    entry = AuditEntry.on(replace(ADA, name="A\u200bda"), "reject", by=ANA, at=NOON, detail=reason, turn=a_turn(ADA))
    line = row_text(entry)
    assert "A⟨U+200B⟩da" in line
    assert "no⟨U+202E⟩ never x" in line
    assert "\n" not in line
    assert len(line) < 250


# The files


async def test_the_table_escapes_quotes_and_lines_and_keeps_every_character() -> None:
    entry = AuditEntry.on(ADA, "reject", by=ANA, at=NOON, detail='He said "no",\nthen ☕', turn=a_turn(ADA))
    header, cells = csv.reader(io.StringIO(csv_text([entry])[1:], newline=""))
    row = dict(zip(header, cells, strict=True))
    assert row["detail"] == 'He said "no",\nthen ☕'
    assert (row["what"], row["command"], row["classes"], row["turn"]) == ("rejected", "write_file", "write", "1")


async def test_a_line_of_json_holds_everything_and_nothing_in_it_hides() -> None:
    entry = replace(ran(1), detail="a\u202eb\n☕", granted_at=NOON, run_hash="abc", turn_id=TurnId("t1"))
    line = json_line(entry)
    assert line.isascii()
    assert line.count("\n") == 1
    told = json.loads(line)
    assert (told["detail"], told["right"], told["run_hash"], told["who"]) == ("a\u202eb\n☕", "approved", "abc", "ana")
    assert (told["classes"], told["granted_at"]) == (["write"], NOON.isoformat())
