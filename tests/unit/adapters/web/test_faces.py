"""The faces of people and agents: a letter on a hue."""

import pytest

from adapters.web.faces import HUES, face_of


@pytest.mark.parametrize(("name", "letter"), [("ada", "A"), ("\u202e!بوب", "ب"), ("🙂", "?"), ("", "?")])
def test_a_face_has_the_first_letter_of_a_name_and_the_hue_of_an_id(name: str, letter: str) -> None:
    face = face_of(name, "agent-1")
    assert face.letter == letter
    assert face.hue == face_of("other", "agent-1").hue < HUES
