"""The faces of people and agents: initials in a look."""

import pytest

from adapters.web.faces import LOOKS, face_of

NAMES = {
    "ada": "Ad",
    "B": "B",
    "Energy-GPT": "EG",
    "the weekly report": "TW",
    "Agent 7": "A",
    "\u202e!بوب علي": "ب",
    "🙂": "?",
}


@pytest.mark.parametrize(("name", "letters"), [*NAMES.items(), ("", "?")])
def test_a_face_has_the_initials_of_a_name_and_the_look_of_an_id(name: str, letters: str) -> None:
    face = face_of(name, "agent-1")
    assert face.letters == letters
    assert face.look == face_of("other", "agent-1").look < LOOKS
