"""Which turns of a thread are one list, and what stands on the entry of a long one."""

from datetime import timedelta

import pytest

from adapters.screens.turn_state import state_text
from adapters.web.thread_entries import group_entries, last_decided
from agent_core.model.command import Failed, Result, Succeeded
from agent_core.model.decision import Approve
from agent_core.model.note import Note
from agent_core.model.turn import Turn
from agent_core.testing.examples import ANA, NOON, a_turn, an_agent

AGENT = an_agent()
LATER = NOON + timedelta(minutes=1)


def ran(number: int, result: Result = Succeeded("ok"), *, first: bool = False) -> Turn:  # noqa: B008 - a frozen value
    """A turn that ran under ana's approval of ten commands; `first`: the one whose card she pressed."""
    approval = Approve(10) if first else Approve(under="lease", granted_at=NOON)
    turn = a_turn(AGENT, number=number).decide(approval, by=ANA, at=NOON)
    return turn.start(NOON).finish(result, LATER)


@pytest.mark.proves("page:one-entry")
def test_more_than_five_commands_are_one_entry_which_tells_how_many_failed_and_who_approved() -> None:
    turns = [ran(1, first=True), *(ran(number) for number in range(2, 7)), ran(7, Failed("no"))]
    group, whole = group_entries((*turns, ran(8)))
    assert (group.is_run, whole.is_run) == (True, False)
    assert state_text(group.summary_parts) == "7 commands ran, 1 failed · approved ×10 by @ana, 12:00 UTC"
    assert group.has_failed
    simulated = [*turns[:5], ran(6, Succeeded("ok", is_simulated=True)), ran(8)]
    assert state_text(group_entries(simulated)[0].summary_parts).startswith("5 commands ran, 1 only simulated · ")


@pytest.mark.proves("page:one-list")
def test_five_commands_are_a_list_and_the_newest_turn_stands_alone() -> None:
    turns = [ran(1, first=True), *(ran(number) for number in range(2, 7))]
    listed, whole = group_entries(turns)
    assert (len(listed.turns), listed.is_run, whole.entries) == (5, False, (turns[-1],))
    assert last_decided(turns) == turns[-1]


def test_what_a_person_wrote_between_two_commands_stays_between_them() -> None:
    note = Note.to(AGENT, "go on", by=ANA, at=NOON)
    groups = group_entries((ran(1, first=True), note, ran(2), ran(3)))
    assert [len(group.entries) for group in groups] == [1, 1, 1, 1]
    assert groups[1].entries == (note,)
