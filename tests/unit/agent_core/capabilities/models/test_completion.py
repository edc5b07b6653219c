"""Replies that arrive in very many small parts."""

from types import SimpleNamespace
from typing import Any

import pytest

from agent_core.capabilities.models.completion import Completion
from agent_core.capabilities.models.openai_model import OpenAIDialect

PARTS = 20_000


class CountedPart(str):
    """A part of a reply that counts the characters which are copied when it, or a sum with it, is added to a text."""

    __slots__ = ()
    copied = 0

    def __add__(self, other: str) -> "CountedPart":
        CountedPart.copied += len(self) + len(other)
        return CountedPart(str.__add__(self, other))

    def __radd__(self, other: str) -> "CountedPart":
        CountedPart.copied += len(self) + len(other)
        return CountedPart(str.__add__(other, self))


def delta_of(field: str, part: str) -> Any:
    if field != "arguments":
        return SimpleNamespace(**{field: part})
    return SimpleNamespace(tool_calls=[SimpleNamespace(index=0, function=SimpleNamespace(name=None, arguments=part))])


@pytest.mark.slow
@pytest.mark.parametrize("field", ["content", "reasoning", "refusal", "arguments"])
def test_a_reply_in_many_parts_takes_linear_work(field: str) -> None:
    answer, part, CountedPart.copied = Completion(), CountedPart("word "), 0
    for sent in range(1, PARTS + 1):
        OpenAIDialect.add_event(answer, SimpleNamespace(choices=[SimpleNamespace(delta=delta_of(field, part))]))
        assert answer.progress().characters == 5 * sent
    assert CountedPart.copied <= 5 * PARTS
    received = {"content": answer.text, "reasoning": answer.reply(len, (), 0).reasoning, "refusal": answer.refusal}
    assert received.get(field, answer.progress().written()) == "word " * PARTS
