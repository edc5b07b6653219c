"""From a sentence to a filled-in form."""

import json

import pytest

from agent_core.errors import ModelRefused, ModelUnavailable
from agent_core.model.draft import AgentDraft
from agent_core.model.messages import Reply
from agent_core.model.usage import Usage
from agent_core.providers.rehearsal import RehearsalModel
from agent_core.service.drafting import AS_WRITTEN, AgentDrafting, Drafted
from agent_core.testing.model import ScriptedModel

SENTENCE = "research the best tennis strings for topspin"
DRAFT = {"name": "String Scout", "role": "a patient researcher", "goals": ["Find five strings", "Compare their spin"]}


async def test_a_sentence_becomes_name_role_and_goals() -> None:
    model = ScriptedModel(f"Here you are:\n```json\n{json.dumps(DRAFT)}\n```")
    drafted = await AgentDrafting(model).draft(f"  {SENTENCE} ")
    assert drafted == Drafted(
        AgentDraft(name="String Scout", role="a patient researcher", goals=("Find five strings", "Compare their spin"))
    )
    assert model.prompts[0][-1].content == SENTENCE


async def test_a_draft_keeps_within_the_limits_of_the_form() -> None:
    long = {"name": "n" * 200, "role": "r\n" * 2000, "goals": [*(["g" * 5000] * 7), "", 3]}
    drafted = await AgentDrafting(ScriptedModel(json.dumps(long))).draft(SENTENCE)
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
    drafted = await AgentDrafting(ScriptedModel(answer)).draft(SENTENCE)
    assert drafted == Drafted(AgentDraft(goals=(SENTENCE,)), AS_WRITTEN)


async def test_the_rehearsal_drafts_nothing_and_says_so() -> None:
    assert (await AgentDrafting(RehearsalModel()).draft(SENTENCE)).said == AS_WRITTEN
