"""What an agent's turns and notes tell of one file, on every database."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent_core.model.command import CommandCall, Failed, Preview, Proposal, Result, RiskClass, Succeeded, Thoughts
from agent_core.model.decision import Approve
from agent_core.model.ids import AgentId, NoteId, TurnId
from agent_core.model.origin import ChannelScope
from agent_core.model.turn import Turn
from agent_core.ports.database import Database
from agent_core.testing.examples import ANA, NOON, a_note, a_turn, an_agent, keep

ADA = an_agent(turns=12)
BOB = an_agent(id=AgentId("agent-bob"), name="Bob", turns=12)
EVA = an_agent(id=AgentId("agent-eva"), channel=ChannelScope("slack", "T1", "C1"), turns=12)
OK = Succeeded("ok")


def ran(number: int, target: str, result: Result = OK, **changes: object) -> Turn:
    """A turn of Ada that wrote to this path, and mentions it nowhere else."""
    preview = Preview(title="new file", body="+x", target=target)
    proposal = Proposal(thoughts=Thoughts(text="I write."), call=CommandCall("write_to_file", {}), preview=preview)
    turn = a_turn(ADA, id=TurnId(f"t-{number:02}"), number=number, proposal=proposal)
    done = turn.decide(Approve(), by=ANA, at=NOON).start(NOON).finish(result, NOON)
    return replace(done, **changes)  # type: ignore[arg-type]


async def changing(database: Database, path: str, *, among: int = 99, most: int = 9) -> tuple[list[int], bool]:
    async with database.begin() as work:
        found, are_more = await work.text_search.turns_changing(ADA, path, among=among, most=most)
    return [turn.number for turn in found], are_more


@pytest.mark.proves("files:versions")
@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("docs/report.md", "docs/report.md"),
        ("docs/report.md", "./docs//x/../report.md"),
        ("docs/deep/report.md", "docs/"),
        ("تقرير.txt", "تقرير.txt"),
        ("100%_!.txt", "100%_!.txt"),
        ("Straße.md", "Straße.md"),
        ('a"b.txt', 'a"b.txt'),
    ],
)
async def test_a_turn_is_found_by_the_file_that_it_changed(database: Database, path: str, target: str) -> None:
    await keep(database, ADA, ran(1, target), ran(2, "other.txt"), ran(3, target))
    assert await changing(database, path) == ([3, 1], False)


@pytest.mark.proves("files:versions")
@pytest.mark.parametrize("risk", ["write", "delete"])
async def test_a_turn_is_found_by_each_risk_that_changes_files(database: Database, risk: RiskClass) -> None:
    await keep(database, ADA, ran(1, "a.md", risks=(risk,)), ran(2, "a.md", risks=("network",)))
    assert await changing(database, "a.md") == ([1], False)


async def test_turns_that_changed_no_such_file_are_not_found(database: Database) -> None:
    other = replace(ran(7, "a.md", id=TurnId("t-bob")), agent_id=BOB.id)
    elsewhere = replace(ran(8, "a.md", id=TurnId("t-eva")), agent_id=EVA.id, channel=EVA.channel)
    read, failed = ran(1, "a.md", risks=("read",)), ran(2, "a.md", Failed("full"))
    mentioned = ran(3, "b.md", Succeeded("see a.md"))
    made = ran(4, "b.md", Succeeded("ok", files=("pictures/a.md", "a.md")))
    asked = a_turn(ADA, id=TurnId("t-05"), number=5, proposal=read.proposal)
    await keep(database, ADA, BOB, EVA, read, failed, mentioned, made, asked, ran(6, "A.md"), other, elsewhere)
    assert await changing(database, "a.md") == ([4], False)
    assert await changing(database, "pictures/a.md") == ([4], False)


async def test_only_so_many_of_the_newest_turns_are_searched(database: Database) -> None:
    await keep(database, ADA, *(ran(number, "a.md") for number in range(1, 13)))
    assert await changing(database, "a.md", among=3) == ([12, 11, 10], False)
    assert await changing(database, "a.md", most=2) == ([12, 11], True)


@pytest.mark.proves("files:versions")
async def test_the_notes_of_people_who_added_a_file_are_found_and_no_others(database: Database) -> None:
    name = 'Bücher "100%_".md'
    told = [
        a_note(ADA, id=NoteId(f"note-{number}"), at=NOON + timedelta(minutes=number), file=name) for number in range(3)
    ]
    said = f'{{"file":"{name}"}}'
    others = (
        a_note(ADA, id=NoteId("said"), text=said),
        a_note(ADA, id=NoteId("other"), file=name.upper()),
        a_note(BOB, id=NoteId("of-bob"), file=name),
    )
    await keep(database, ADA, BOB, *told, *others)
    async with database.begin() as work:
        found = await work.text_search.notes_adding(ADA, name, most=9)
        newest = await work.text_search.notes_adding(ADA, name, most=2)
    assert found == (tuple(reversed(told)), False)
    assert newest == ((told[2], told[1]), True)
