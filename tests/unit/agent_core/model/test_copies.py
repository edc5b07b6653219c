"""Copies of values are those of the standard library."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.model.agent import Agent
from agent_core.model.command import CommandCall
from agent_core.model.copies import replace
from agent_core.model.lease import Lease
from agent_core.model.result import Failed
from agent_core.model.turn import Turn
from agent_core.model.usage import Usage
from agent_core.ports.kept_records import KeptRecord


def names_of(kind: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(kind) if field.init]


@given(kind=st.sampled_from([Agent, Turn, Lease, Usage, Failed, CommandCall, KeptRecord]), data=st.data())
def test_a_copy_has_the_changed_fields_and_all_others(kind: Any, data: st.DataObject) -> None:
    numbers = dict(zip(names_of(kind), range(100), strict=False))
    value = kind(**numbers)
    changes = data.draw(st.dictionaries(st.sampled_from(names_of(kind)), st.text(), max_size=4))
    copied = replace(value, **changes)
    assert copied == dataclasses.replace(value, **changes)
    assert [getattr(copied, name) for name in numbers] == [changes.get(name, numbers[name]) for name in numbers]
    assert (copied is not value, type(copied)) == (True, kind)
    assert value == kind(**numbers)


def test_a_cached_value_is_not_copied_with_other_fields() -> None:
    call = CommandCall("read_file", {"filename": "a"})
    before = call.canonical
    assert replace(call, arguments={"filename": "b"}).canonical != before


def test_an_unknown_field_is_refused() -> None:
    changes: dict[str, Any] = {"naem": "Ada"}
    with pytest.raises(TypeError, match="naem"):
        replace(Usage(), **changes)
