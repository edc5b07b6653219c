"""AutoGPT's file, written of an agent, read back, pasted and hostile."""

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.typed.settings_file import (
    is_settings,
    parse_settings,
    pasted_draft,
    read_settings,
    settings_text,
    write_settings,
)
from agent_core.errors import InvalidInput
from agent_core.model.draft import AgentDraft
from agent_core.model.model_calls import Budget
from agent_core.testing.examples import an_agent

NASTY = (
    "yes",
    "null",
    "123",
    "1e3",
    "a: b",
    "- x",
    "# c",
    "'",
    '"',
    "|",
    "&a",
    "*a",
    "!!x",
    "0x1F",
    "2024-01-01",
    "é☕",
    "\x85a",
    "\t",
)
texts = st.lists(st.sampled_from(NASTY) | st.text(max_size=5), min_size=1, max_size=4).map(" ".join)
cents = st.integers(1, 10**9).map(lambda number: Decimal(number) / 100)


@pytest.mark.slow
@given(texts, texts, st.lists(texts, min_size=1, max_size=5), st.none() | cents)
def test_what_is_written_is_read_back(name: str, role: str, goals: list[str], limit: Decimal | None) -> None:
    agent = an_agent(name=name, role=role, goals=tuple(goals), budget=Budget(limit=limit))
    assert parse_settings(settings_text(agent)) == AgentDraft(
        name=name, role=role, goals=tuple(goals), budget=limit or Decimal(0)
    )


def test_the_file_is_as_autogpt_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "ai_settings.yaml"
    write_settings(an_agent(goals=("Write a poem", "Then: read it"), budget=Budget(limit=Decimal("1.5"))), path)
    assert path.read_text() == (
        "ai_name: Ada\nai_role: a careful writer\nai_goals:\n- Write a poem\n- 'Then: read it'\napi_budget: 1.5\n"
    )
    assert read_settings(path).goals == ("Write a poem", "Then: read it")


def test_a_file_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="Is a directory"):
        write_settings(an_agent(), tmp_path)


@pytest.mark.parametrize("text", ["{}", "```{}```", "```yaml\n{}\n```", "\ufeff{}", "  \n{}"])
def test_a_pasted_file_is_known_and_read_also_between_marks_of_code(text: str) -> None:
    pasted = text.replace("{}", "ai_name: Ada\nai_goals: [Write]\napi_budget: 0").removeprefix("\ufeff")
    assert is_settings(pasted)
    assert pasted_draft(pasted) == AgentDraft(name="Ada", goals=("Write",))


@pytest.mark.parametrize("text", ["write ai_name: x", "make an agent", "ai_role: poet", ""])
def test_a_sentence_is_no_pasted_file(text: str) -> None:
    assert not is_settings(text)


BOMB = "a: &a [x,x]\n" + "".join(f"{c}: &{c} [*{p},*{p},*{p}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (f"{BOMB}ai_goals: [{{x: *i}}]", "uses YAML aliases"),
        ("ai_name: 0x" + "f" * 15_000, "too many digits"),
        ("ai_goals: [0x" + "f" * 15_000 + "]", "one of ai_goals is not text"),
        ("ai_name: " + "9" * 15_000, "not YAML"),
        ("ai_name: " + "[" * 15_000, "nested too deeply"),
        ("ai_name:\n" + "- " * 9_000, "nested too deeply"),
        ("ai_name: " + "x" * 20_000, "more than 20,000 characters"),
        ("api_budget: '1e99999'", "api_budget is not an amount"),
        ("ai_name: !!python/object/apply:os.system [ls]", "not YAML"),
        ("? {a: b}\n: c", "holds no ai_name|not YAML"),
    ],
)
def test_a_hostile_file_is_refused_in_one_short_line(text: str, fault: str) -> None:
    with pytest.raises(InvalidInput, match=fault) as raised:
        parse_settings(text)
    assert len(str(raised.value)) < 300
    assert "\n" not in str(raised.value)
