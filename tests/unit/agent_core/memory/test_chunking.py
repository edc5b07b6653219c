"""What goes into long-term memory, and in which pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.memory.chunking import (
    CHUNK_CHARACTERS,
    OVERLAP_CHARACTERS,
    chunk_note,
    chunk_text,
    chunk_turn,
)
from agent_core.model.command import Succeeded
from agent_core.model.decision import Approve, Reject
from agent_core.testing.examples import ANA, NOON, a_note, a_turn, an_agent

TEXT = " ".join(f"Sentence number {number} says something of its own." for number in range(60))


def test_pieces_begin_and_end_between_sentences() -> None:
    found = list(chunk_text(TEXT))
    assert len(found) > 5
    assert all(piece.startswith("Sentence") and piece.endswith(".") for piece in found)
    assert all(len(piece) <= CHUNK_CHARACTERS for piece in found)


@pytest.mark.slow
@given(st.text(max_size=2_000), st.integers(5, 200))
def test_no_word_is_lost_between_pieces_and_none_is_too_long(text: str, size: int) -> None:
    found = list(chunk_text(text, size, size // 4))
    assert all(piece and len(piece) <= size for piece in found)
    kept = set("".join(found))
    assert {letter for letter in text if not letter.isspace()} <= kept


def test_what_stands_across_an_end_stands_whole_in_the_next_piece() -> None:
    text = "a" * 250 + ". " + "The code is 7719. " + "b" * 400
    assert any("The code is 7719." in piece for piece in chunk_text(text))
    assert len("The code is 7719.") < OVERLAP_CHARACTERS


def test_a_turn_is_told_by_its_thought_its_command_and_the_beginning_of_its_result() -> None:
    turn = a_turn(an_agent(), number=7).decide(Approve(), by=ANA, at=NOON).start(NOON).finish(Succeeded("kept"), NOON)
    (memory,) = chunk_turn(turn, NOON)
    assert (memory.source, memory.turn, memory.at) == ("turn 7", 7, NOON)
    assert memory.text == ('A poem needs a file.\nwrite_file {"path": "poem.txt", "text": "Roses are red"}\nkept')


def test_a_long_result_is_told_in_pieces_and_a_very_long_one_by_its_beginning() -> None:
    done = a_turn(an_agent(), number=7).decide(Approve(), by=ANA, at=NOON).start(NOON)
    told = chunk_turn(done.finish(Succeeded(TEXT * 20), NOON), NOON)
    assert 5 < len(told) < 20
    assert {memory.source for memory in told} == {"turn 7"}


def test_a_rejection_is_told_with_its_reason_and_an_open_turn_not_at_all() -> None:
    (memory,) = chunk_turn(a_turn(an_agent()).decide(Reject("Not now"), by=ANA, at=NOON), NOON)
    assert memory.text.endswith("Rejected by @ana: Not now")
    assert chunk_turn(a_turn(an_agent()), NOON) == ()


def test_a_note_is_told_as_its_writers() -> None:
    (memory,) = chunk_note(a_note(an_agent()))
    assert (memory.text, memory.source) == ("@ana wrote: Make it rhyme.", "@ana")
