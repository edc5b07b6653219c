"""Search for words in stored agents, turns and notes, on every database."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from agent_core.model.command import CommandCall, Proposal, Succeeded, Thoughts
from agent_core.model.decision import ApproveEdited, Reject
from agent_core.model.ids import AgentId, NoteId, TurnId
from agent_core.model.origin import ChannelScope
from agent_core.model.records.text_search import words_of
from agent_core.model.turn import Turn
from agent_core.persistence.database import SqlDatabase
from agent_core.ports.database import Database
from agent_core.testing.examples import ANA, CHANNEL, NOON, a_note, a_turn, an_agent, keep
from tests.tables import on_database

ADA = an_agent(goals=("Compare prices", "Schreibe über die STRASSE nach Süden"))
ELSEWHERE = ChannelScope("slack", "T1", "C1")
EVA = an_agent(id=AgentId("agent-eva"), channel=ELSEWHERE)
LANGUAGES = [
    ("straße", "Die STRASSE ist lang."),
    ("STRASSE", "Die Straße ist lang."),
    ("gros", "groß"),
    ("sein", "Fußeinlage"),
    ("ΟΔΥΣΣΕΥΣ", "ο οδυσσεύς γύρισε, οδυσσευς"),
    ("οδυσσευσ", "ΟΔΥΣΣΕΥΣ"),
    ("تقرير", "هذا تقرير عن السوق"),
    ("ÜBER", "über"),
    ("привет", "ПРИВЕТ, мир"),
    ("50%", "a rise of 50% since May"),
    ("a_b", "the file a_b.md"),
    ("wow!", "Wow! that worked"),
    ('say"no', 'say"no"'),
    ("c:\\temp", "in C:\\Temp\\x"),
    ("😀", "done 😀"),
    ("ǆ", "Ǆ ǅ"),
]


def saying(text: str, number: int = 1) -> Turn:
    """A turn that writes this text into a file."""
    call = CommandCall("write_to_file", {"filename": "report.md", "text": text})
    proposal = Proposal(thoughts=Thoughts(text="I write."), call=call)
    return a_turn(ADA, id=TurnId(f"t-{number:02}"), number=number, proposal=proposal)


async def found(
    database: Database, query: str, *, channels: Sequence[ChannelScope] = (CHANNEL,), before: str = "", most: int = 99
) -> list[str]:
    """The ids of the turns that are found."""
    async with database.begin() as work:
        page = await work.text_search.turns(channels, words_of(query), before=before, most=most)
    return [turn.id for turn in page]


@pytest.mark.proves("page:search")
@pytest.mark.parametrize(("query", "text"), LANGUAGES, ids=[query for query, _ in LANGUAGES])
async def test_a_word_is_found_whatever_its_case_and_language(database: Database, query: str, text: str) -> None:
    await keep(database, ADA, saying(text), saying("something else", 2))
    assert await found(database, query) == ["t-01"]


async def test_all_words_must_occur_anywhere_in_the_turn(database: Database) -> None:
    await keep(database, ADA, saying("red apples"), saying("red pears", 2))
    assert await found(database, "RED report.md") == ["t-02", "t-01"]
    assert await found(database, "red apples write_to_file") == ["t-01"]
    assert await found(database, "red plums") == []
    assert await found(database, "") == ["t-02", "t-01"]


async def test_names_of_stored_fields_are_no_text(database: Database) -> None:
    await keep(database, ADA, saying("red"))
    assert await found(database, "proposal") == []
    assert await found(database, "prompt") == []


@pytest.mark.proves("page:search-sealed")
async def test_nothing_is_found_outside_the_channels_that_are_searched(database: Database) -> None:
    other = replace(saying("red", 3), agent_id=EVA.id, channel=ELSEWHERE)
    await keep(database, ADA, EVA, saying("red"), other)
    assert await found(database, "red") == ["t-01"]
    assert await found(database, "red", channels=[ELSEWHERE]) == ["t-03"]
    assert await found(database, "red", channels=[ELSEWHERE, CHANNEL]) == ["t-03", "t-01"]
    assert await found(database, "red", channels=[]) == []


async def test_a_search_goes_on_where_the_one_before_ended(database: Database) -> None:
    await keep(database, ADA, *[saying("red" if number % 2 else "blue", number) for number in range(1, 6)])
    assert await found(database, "red", most=2) == ["t-05", "t-03"]
    assert await found(database, "red", most=2, before="t-03") == ["t-01"]


async def test_result_reason_and_both_versions_of_an_edited_command_are_searched(database: Database) -> None:
    edited = saying("first version").decide(ApproveEdited({"text": "second version"}), by=ANA, at=NOON)
    done = edited.start(NOON).finish(Succeeded("wrote 14 bytes"), NOON)
    rejected = saying("green", 2).decide(Reject("too colourful"), by=ANA, at=NOON)
    await keep(database, ADA, done, rejected)
    for query in ("first", "second", "bytes"):
        assert await found(database, query) == ["t-01"]
    assert await found(database, "colourful") == ["t-02"]


async def test_agents_are_found_by_name_role_and_goals_and_notes_by_text(database: Database) -> None:
    note = a_note(ADA, id=NoteId("t-99"), text="Please use EURO")
    await keep(database, ADA, EVA, saying("x"), note)
    async with database.begin() as work:
        work.notes.take([note], TurnId("t-01"))
        await work.commit()
    async with database.begin() as work:
        for query in ("ada", "writer", "süden straße"):
            agents = await work.text_search.agents([CHANNEL], words_of(query), before="", most=9)
            assert [agent.id for agent in agents] == [ADA.id]
        notes = await work.text_search.notes([CHANNEL], words_of("euro ana"), before="", most=9)
    assert notes == (replace(note, taken_into=TurnId("t-01")),)


async def test_a_turn_in_a_form_of_a_newer_release_is_not_found(sqlite_url: str) -> None:
    database = SqlDatabase(sqlite_url)
    await keep(database, ADA, saying("red"), saying("red", 2))
    melted = """UPDATE turns SET data = replace(data, 'proposed"', 'melted"') WHERE number = 1"""
    await on_database(sqlite_url, lambda connection: connection.exec_driver_sql(melted))
    assert await found(database, "red") == ["t-02"]
    await database.close()
