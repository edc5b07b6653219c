"""From a sentence to a filled-in form."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from agent_core.capabilities.demo.rehearsal import RehearsalModel
from agent_core.capabilities.models.token_counters import Estimates
from agent_core.errors import ModelRefused, ModelUnavailable, NotPossible
from agent_core.model.draft import AgentDraft
from agent_core.model.model_calls import Reply, Usage
from agent_core.model.origin import Origin
from agent_core.ports.models import LanguageModel
from agent_core.prompt.model_client import MeteredModel
from agent_core.service.creating.drafting import (
    NO_ANSWER,
    NO_MODEL_DRAFT,
    NOT_AFFORDABLE,
    NOT_IN_DEMO,
    AgentDrafting,
    Drafted,
)
from agent_core.spending.budget_ledger import BudgetLedger
from agent_core.testing.clock import FakeClock
from agent_core.testing.database import TemporaryDatabase
from agent_core.testing.examples import ANA, CHANNEL
from agent_core.testing.language_model import ScriptedModel

SENTENCE = "research the best tennis strings for topspin"
DRAFT = {"name": "String Scout", "role": "a patient researcher", "goals": ["Find five strings", "Compare their spin"]}


ORIGIN = Origin(by=ANA, channel=CHANNEL)


def _drafting(model: LanguageModel, database: TemporaryDatabase | None = None) -> AgentDrafting:
    ledger = BudgetLedger(database or TemporaryDatabase(), FakeClock())
    return AgentDrafting(MeteredModel(model=model, tokens=Estimates()), ledger)


async def test_a_sentence_becomes_name_role_and_goals() -> None:
    model = ScriptedModel(f"Here you are:\n```json\n{json.dumps(DRAFT)}\n```")
    drafted = await _drafting(model).draft(f"  {SENTENCE} ", ORIGIN)
    assert drafted == Drafted(
        AgentDraft(name="String Scout", role="a patient researcher", goals=("Find five strings", "Compare their spin"))
    )
    assert model.prompts[0][-1].content == SENTENCE


async def test_a_draft_keeps_within_the_limits_of_the_form() -> None:
    long = {"name": "n" * 200, "role": "r\n" * 2000, "goals": [*(["g" * 5000] * 7), "", 3]}
    drafted = await _drafting(ScriptedModel(json.dumps(long))).draft(SENTENCE, ORIGIN)
    assert drafted.draft.tidied() == drafted.draft


@pytest.mark.parametrize(
    "answer",
    [
        "I would rather not.",
        json.dumps({"name": "x", "role": "y", "goals": []}),
        Reply(text=json.dumps(DRAFT), usage=Usage(), finish_reason="length"),
        ModelUnavailable("busy"),
        ModelRefused("no"),
    ],
    ids=repr,
)
async def test_without_a_usable_answer_the_sentence_stands_as_the_goal(answer: str | Reply | Exception) -> None:
    drafted = await _drafting(ScriptedModel(answer)).draft(SENTENCE, ORIGIN)
    assert drafted == Drafted(AgentDraft(goals=(SENTENCE,)), NO_MODEL_DRAFT)


@pytest.mark.parametrize("answer", ["I would rather not.", ModelUnavailable("busy"), ModelRefused("no")], ids=repr)
async def test_a_form_that_is_to_stay_as_it_is_learns_that_the_model_gave_no_draft(answer: str | Exception) -> None:
    with pytest.raises(NotPossible, match=NO_ANSWER):
        await _drafting(ScriptedModel(answer)).draft_by_model(SENTENCE, ORIGIN)


async def test_a_form_that_is_to_stay_as_it_is_learns_that_demo_mode_drafts_nothing() -> None:
    drafting = replace(_drafting(ScriptedModel(json.dumps(DRAFT))), rehearsal=RehearsalModel())
    with pytest.raises(NotPossible, match=NOT_IN_DEMO):
        await drafting.draft_by_model(SENTENCE, ORIGIN)


async def test_the_channel_pays_for_a_draft() -> None:
    database = TemporaryDatabase()
    await _drafting(ScriptedModel(json.dumps(DRAFT), cost=Decimal("0.02")), database).draft(SENTENCE, ORIGIN)
    async with database.begin() as work:
        assert (await work.budgets.of(CHANNEL)).spent == Decimal("0.02")


async def test_a_channel_without_money_left_gets_its_sentence_back_and_no_call_is_made() -> None:
    database, model = TemporaryDatabase(), ScriptedModel(json.dumps(DRAFT), cost=Decimal("0.02"))
    async with database.begin() as work:
        work.budgets.set_limit(CHANNEL, Decimal("0.01"))
        await work.commit()
    assert (await _drafting(model, database).draft(SENTENCE, ORIGIN)).said == NO_MODEL_DRAFT
    with pytest.raises(NotPossible, match=NOT_AFFORDABLE):
        await _drafting(model, database).draft_by_model(SENTENCE, ORIGIN)
    assert model.prompts == []
