"""The settings that a channel used last, offered again."""

from dataclasses import replace
from decimal import Decimal

import pytest

from agent_core.errors import InvalidInput
from agent_core.model.decision import Policy
from agent_core.model.draft import AgentDraft
from agent_core.model.origin import Origin
from agent_core.testing.examples import ANA, CHANNEL, NOON

ORIGIN = Origin(by=ANA, channel=CHANNEL)

LAST = AgentDraft(
    name="Ada",
    budget=Decimal(5),
    model="small",
    effort="high",
    policy=Policy(approvers="owner", free=("write",), verbosity="brief"),
)


def test_a_draft_takes_the_settings_it_leaves_open_but_no_class_that_runs_unasked() -> None:
    offered = AgentDraft(name="Ben", goals=("Go",)).like(LAST)
    policy = Policy(approvers="owner", verbosity="brief")
    assert offered == AgentDraft(
        name="Ben", goals=("Go",), budget=Decimal(5), model="small", effort="high", policy=policy
    )


def test_a_draft_keeps_its_own_settings() -> None:
    own = AgentDraft(name="Ben", budget=Decimal(1), model="large", effort="none", policy=Policy(free=("read",)))
    assert own.like(LAST) == own


def test_a_draft_in_a_new_channel_stays_as_it_is() -> None:
    assert AgentDraft(name="Ben").like(None) == AgentDraft(name="Ben")


def test_an_agent_is_made_with_its_effort_and_an_unknown_effort_is_refused() -> None:
    draft = AgentDraft(goals=("Go",), effort="high").tidied()
    assert draft.made(ORIGIN, NOON).choice.effort == "high"
    with pytest.raises(InvalidInput) as refused:
        replace(draft, effort="hard").tidied()
    assert refused.value.problems["effort"].startswith("Reasoning effort: one of none, minimal, low")


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("x" * 201, "at most 200 characters, this name has 201"),
        ("gpt\n5", "U\\+000A"),
        ("gpt\x1b[2J", "U\\+001B"),
        ("gpt\u202e4-tpg", "U\\+202E"),
        ("gpt-5\u200b", "U\\+200B"),
        ("gpt-5\u00a0", "U\\+00A0"),
        ("gpt-5\ufe0f", "U\\+FE0F"),
        ("gpt-5\u3164", "U\\+3164"),
        ("gpt-5\u2800", "U\\+2800"),
        ("gpt-5\ud800", "U\\+D800"),
    ],
)
def test_a_models_name_is_one_line_of_visible_characters(model: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=f"^Model: .*{why}"):
        AgentDraft(goals=("Go",), model=model).tidied()


@pytest.mark.parametrize("model", ["", "gpt-5.4-mini", "meta-llama/Llama-3.1-8B:free", "My Model.gguf", "模型-1"])
def test_every_visible_name_of_a_model_can_be_used(model: str) -> None:
    assert AgentDraft(goals=("Go",), model=model).tidied().model == model
