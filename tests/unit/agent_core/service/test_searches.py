"""Search over agents, names of files, turns and notes: how far one page goes, and where its links lead."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from agent_core.model.ids import AgentId, NoteId, TurnId, new_id
from agent_core.model.note import Note
from agent_core.model.origin import ChannelScope
from agent_core.model.records.text_search import LabelledText, excerpt_of
from agent_core.model.turn import Turn
from agent_core.ports.database import Database
from agent_core.service.reading.text_search import MAX_FOUND, TextSearches
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import CHANNEL, NOON, a_note, a_turn, an_agent, keep
from agent_core.testing.files import InMemoryWorkspaces

ELSEWHERE = ChannelScope("slack", "T1", "C1")
MANY = 600
ADA = an_agent(turns=MANY)
EVA = an_agent(id=AgentId("agent-eva"), channel=ELSEWHERE, role="another")


def searches(database: Database) -> TextSearches:
    return TextSearches(database=database, workspaces=InMemoryWorkspaces())


def turns(number: int = MANY) -> list[Turn]:
    """Turns with ids of successive seconds; each writes a poem."""
    moments = ((each, NOON + timedelta(seconds=each)) for each in range(1, number + 1))
    return [a_turn(ADA, id=TurnId(new_id(at)), number=each, proposed_at=at) for each, at in moments]


@pytest.mark.slow
@pytest.mark.proves("page:search-bounded")
async def test_a_page_has_fifty_newest_first_and_the_next_one_goes_on(database: TemporaryDatabase) -> None:
    await keep(database, ADA, *turns(120))
    found = await searches(database).find([CHANNEL], ["poem"])
    numbers = [hit.found.number for hit in found.entries if isinstance(hit.found, Turn)]
    assert numbers == list(range(120, 120 - MAX_FOUND, -1))
    assert found.searched_since == NOON + timedelta(seconds=71)
    second = await searches(database).find([CHANNEL], ["poem"], before=found.earlier)
    third = await searches(database).find([CHANNEL], ["poem"], before=second.earlier)
    assert [len(second.entries), len(third.entries), third.earlier] == [MAX_FOUND, 20, ""]
    assert second.agents == ()


async def test_a_link_leads_to_the_page_of_the_thread_that_has_the_turn(database: TemporaryDatabase) -> None:
    made = turns()
    old = a_note(ADA, id=NoteId(new_id(NOON)), text="poem")
    new = replace(old, id=NoteId(new_id(NOON + timedelta(days=1))))
    await keep(database, ADA, *made[99:101], made[-1], old, new)
    async with database.begin() as work:
        work.notes.take([old], made[99].id)
        await work.commit()
    found = await searches(database).find([CHANNEL], ["poem"])
    pages = [(type(hit.found), hit.before) for hit in found.entries]
    assert pages == [(Note, None), (Turn, None), (Turn, 126), (Turn, 125), (Note, 125)]


@pytest.mark.proves("page:search-sealed")
async def test_agents_files_and_turns_of_other_channels_are_not_found(database: TemporaryDatabase) -> None:
    await keep(database, ADA, EVA, a_turn(ADA), replace(a_turn(EVA), proposal=a_turn(ADA).proposal))
    search = searches(database)
    for agent in (ADA, EVA):
        await search.workspaces.of(agent).write("poem.txt", b"")
    for channel, agent in ((CHANNEL, ADA), (ELSEWHERE, EVA)):
        found = await search.find([channel], ["poem"])
        assert {hit.agent.id for hit in (*found.agents, *found.files, *found.entries)} == {agent.id}
        assert (len(found.files), len(found.entries), found.folders) == (1, 1, 1)
    assert (await search.find([], ["poem"])).is_empty


EXCERPTS: list[tuple[str, Sequence[str], list[str]]] = [
    ("Die STRASSE zur Straße", ["strasse"], ["STRASSE", "Straße"]),
    ("ẞ und groß", ["gros"], ["groß"]),
    ("οδυσσεύς", ["σσεύσ"], ["σσεύς"]),
    ("to and together", ["to", "together"], ["to", "together"]),
    ("x" * 500 + "needle" + "y" * 500, ["needle"], ["needle"]),
]


@pytest.mark.parametrize(("text", "words", "marked"), EXCERPTS)
def test_an_excerpt_marks_the_words_as_they_are_written(text: str, words: Sequence[str], marked: list[str]) -> None:
    excerpt = excerpt_of([LabelledText("other", "nothing"), LabelledText("text", text)], words)
    whole = "".join(piece for piece, _ in excerpt.pieces)
    assert [piece for piece, is_marked in excerpt.pieces if is_marked] == marked
    assert whole in text
    assert (len(whole) <= 300, excerpt.begins and excerpt.ends) == (True, whole == text)


@pytest.mark.parametrize("language", ["word wording", "كلمة طويلة"])
def test_an_excerpt_begins_and_ends_with_a_whole_word_where_the_text_has_spaces(language: str) -> None:
    text = f"{f'{language} ' * 99}needle {f'{language} ' * 99}"
    excerpt = excerpt_of([LabelledText("text", text)], ["needle"])
    whole = "".join(piece for piece, _ in excerpt.pieces)
    assert set(whole.split()) == {*language.split(), "needle"}
    assert 200 < len(whole) <= 240
    assert whole == whole.strip()


@pytest.mark.parametrize("blank", ["\n\n", "\n \t\n"])
def test_an_excerpt_leaves_out_paragraphs_without_a_word_that_was_sought(blank: str) -> None:
    sought = blank.join(("A needle\nof steel,", "hay,", "the other needle."))
    excerpt = excerpt_of([LabelledText("text", blank.join(("Before.", sought, "| a | table |")))], ["needle"])
    assert ("".join(piece for piece, _ in excerpt.pieces), excerpt.begins, excerpt.ends) == (sought, False, False)


@pytest.fixture
def database() -> TemporaryDatabase:
    return TemporaryDatabase()
