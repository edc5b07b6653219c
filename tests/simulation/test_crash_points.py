"""A process that ends at any step of a turn, by a kill or by SIGTERM, loses nothing and does nothing twice."""

import re
import sys
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest

from agent_core.loop.act_step import ActStep
from agent_core.model.agent import Agent
from agent_core.model.turn import Turn
from agent_core.service.transactional import TransactionalService
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.spending.spending_tracker import SpendingTracker
from tests.simulation.crash_points import KINDS, count_points, findings
from tests.simulation.crash_world import Ending

PAGE = Path(__file__).parents[2] / "docs/explanation/durability.md"
ROW = re.compile(r"^\| (?P<kind>[^|]+) \| (?P<points>\d+) \|$", re.MULTILINE)
SHARE = 0.25  # by which the page may be off: releases of Python take other numbers of steps
SOME = 8  # of the points of a kind


@pytest.mark.slow
@pytest.mark.proves("crash:points")
@pytest.mark.parametrize("ending", get_args(Ending))
@pytest.mark.parametrize("kind", ["shell command", "question"])
def test_a_process_may_end_at_some_points(kind: str, ending: Ending) -> None:
    points = count_points(kind)
    assert [str(found) for found in findings(kind, ending, range(1, points + 1, points // SOME))] == []


@pytest.mark.slow
@pytest.mark.proves("crash:points")
@pytest.mark.parametrize("ending", get_args(Ending))
@pytest.mark.parametrize("kind", KINDS)
def test_a_process_may_end_at_every_point(kind: str, ending: Ending) -> None:
    assert [str(found) for found in findings(kind, ending, range(1, count_points(kind) + 1))] == []


@pytest.mark.slow
def test_the_page_says_how_many_points_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    written = {row["kind"]: int(row["points"]) for row in ROW.finditer(PAGE.read_text(encoding="utf-8"))}
    counted = {kind: count_points(kind) for kind in KINDS}
    with capsys.disabled():
        sys.stdout.write(f"\npoints at which a process may end: {counted}, {sum(counted.values()):,} in all\n")
    assert list(written) == list(counted)
    assert {kind: written[kind] for kind in counted if abs(written[kind] / counted[kind] - 1) > SHARE} == {}


def first_finding(kind: str, ending: Ending = "kill", *, stride: int = 1) -> str:
    return str(next(findings(kind, ending, range(1, count_points(kind) + 1, stride)), None))


@pytest.mark.slow
def test_a_command_that_runs_before_its_start_is_saved_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run_and_save_then(step: ActStep, agent: Agent, turn: Turn) -> Agent:
        preview = await step.runner.preview_call(agent, turn.call)
        result = await step.runner.run(agent, turn.call, SpendingTracker(), approved=preview)
        await step.claim.save_and_present(partial(step._save_start, turn.id, preview, "", {}))
        return await step._finish(turn.id, result)

    monkeypatch.setattr(ActStep, "_start", run_and_save_then)
    found = first_finding("shell command", stride=4)
    assert re.match(r"shell command, kill at step \d+ \(agent_core/testing/sandbox\.py:\d+ run\)", found), found
    assert "the program ran 2 times and not 1" in found


@pytest.mark.slow
def test_a_command_that_always_runs_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Turn, "only_reads", property(lambda _turn: True))
    assert "the program ran 2 times and not 1" in first_finding("shell command")


@pytest.mark.slow
def test_an_event_that_counts_each_time_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_given: Any) -> bool:
        return False

    monkeypatch.setattr(TransactionalService, "is_repeated", never)
    assert "2 answers were posted and not 1" in first_finding("question")


@pytest.mark.slow
def test_a_call_that_is_never_charged_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(_ledger: BudgetLedger) -> None:
        return

    monkeypatch.setattr(BudgetLedger, "charge_left_by_others", nothing)
    assert "is still reserved" in first_finding("question")


@pytest.mark.slow
def test_a_start_that_is_not_taken_back_at_sigterm_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_given: Any) -> None:
        return

    monkeypatch.setattr(ActStep, "_take_back_start", nothing)
    assert "people were asked for nothing" in first_finding("shell command", "SIGTERM without time")
