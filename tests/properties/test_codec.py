"""Every value that is stored comes back equal, whatever is written into it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.engine.default import DefaultDialect

from agent_core.model.agent import Agent
from agent_core.model.command import CommandCall, Proposal, Thoughts
from agent_core.model.note import Note, Notice
from agent_core.model.records.audit import AuditEntry
from agent_core.model.turn import Turn
from agent_core.persistence.json_codec import decode, encode
from agent_core.persistence.tables import AnyText
from agent_core.testing.examples import a_turn, an_agent
from tests.properties.strategies import texts


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Agent, Turn, Note, Notice, AuditEntry])
@given(data=st.data())
def test_every_stored_value_comes_back(kind: type, data: st.DataObject) -> None:
    value = data.draw(st.from_type(kind))
    text = encode(value)
    assert decode(kind, text) == value
    assert text.isascii()
    assert "\0" not in text


def test_a_deeply_nested_argument_comes_back() -> None:
    nested: object = "deep"
    for _ in range(400):
        nested = [nested]
    turn = a_turn(an_agent(), proposal=Proposal(thoughts=Thoughts(), call=CommandCall("echo", {"text": nested})))
    assert decode(Turn, encode(turn)) == turn


def test_a_field_of_another_release_is_left_out() -> None:
    text = encode(an_agent()).replace('"role":', '"mood":"good","role":')
    assert decode(Agent, text) == an_agent()


@pytest.mark.parametrize("text", ["", "{", "{}", "null", encode(an_agent()).replace('"thinking"', '"dreaming"')])
def test_what_is_no_such_value_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(Agent, text)


def test_what_is_no_value_is_not_stored() -> None:
    with pytest.raises(TypeError):
        encode(object())


@pytest.mark.slow
@given(texts)
def test_any_text_fits_a_column(text: str) -> None:
    column, dialect = AnyText(), DefaultDialect()
    stored = column.process_bind_param(text, dialect)
    assert stored is not None
    assert b"\0" not in stored.encode()
    assert column.process_result_value(stored, dialect) == text
