"""Strategies for every value of the model, with texts of any characters."""

import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

from hypothesis import strategies as st

from agent_core.model.command import CommandCall
from agent_core.model.decision import ApproveEdited

# A pair of surrogates means one character, and that is what comes back.
texts = st.text(st.characters(exclude_categories=()), max_size=20).map(lambda text: str(json.loads(json.dumps(text))))
zones = st.integers(-14, 14).map(lambda hours: timezone(timedelta(hours=hours)))
times = st.datetimes(timezones=zones | st.just(UTC))
amounts = st.decimals(allow_nan=False, allow_infinity=False)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
trees = st.recursive(leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4))
# An argument's name stands in a schema, which has no lone surrogates.
arguments = st.dictionaries(st.text(max_size=20), trees, max_size=4)

st.register_type_strategy(str, texts)
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))  # no value of the model is either
st.register_type_strategy(datetime, times)
st.register_type_strategy(Decimal, amounts)
st.register_type_strategy(CommandCall, st.builds(CommandCall, texts, arguments))
st.register_type_strategy(ApproveEdited, st.builds(ApproveEdited, arguments))
