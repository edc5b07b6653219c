"""What people do in Slack about an agent's mind: reviews, goals, budgets, memory, settings."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_core.model.origin import Origin
from agent_core.testing.language_model import ScriptedModel
from tests.scenario.chat import writing
from tests.scenario.slack_app import GENERAL, Office, Running, at_work, text_of
from tests.scenario.team import SlackCard, SlackChat, new_clerk

WRITE = writing("notes.md", "one\n")
SETTINGS = "ai_name: Poet\nai_role: writes verse\nai_goals:\n- Write a poem\n- 'Then: read it'\napi_budget: 1.5\n"


@asynccontextmanager
async def asking(office: Office, folder: Path, *, waits: bool = False) -> AsyncIterator[tuple[SlackChat, SlackCard]]:
    """An agent that asks, and a model with nothing more to say; with `waits` it waits for what it is to say."""
    async with at_work(office, ScriptedModel(WRITE, waits=waits), folder) as running:
        chat = await new_clerk(office, running)
        yield chat, await chat.asks("write_to_file")


def model_of(running: Running) -> ScriptedModel:
    """The model behind it."""
    return running.stage.script


async def remember(running: Running, *texts: str) -> None:
    """Have the clerk remember."""
    agent = await running.agent()
    for text in texts:
        await running.stage.memories.add(agent.id, text, Origin(by=agent.owner, channel=GENERAL))


# Self-review


@pytest.mark.slow
async def test_a_self_review_is_answered_at_once_and_comes_onto_the_card_when_the_model_said_it(
    office: Office, tmp_path: Path
) -> None:
    async with asking(office, tmp_path, waits=True) as (chat, card):
        await card.press("Self-review")
        await office.told(office.ana, "reviews its own proposal")
        await chat.says("!status")
        await office.told(office.ana, "Clerk: needs approval")
        model_of(chat.running).say("Nobody asked for notes.")
        reviewed = await office.card(1, "Self-review: Nobody asked for notes.")
        assert "Approve ×N" in text_of(reviewed)
        assert len(office.cards()) == 1


@pytest.mark.slow
async def test_a_self_review_that_fails_is_told_to_whoever_asked_and_can_be_asked_again(
    office: Office, tmp_path: Path
) -> None:
    async with asking(office, tmp_path) as (chat, card):
        await card.press("Self-review")
        await office.told(office.ana, "No self-review: ")
        model_of(chat.running).say("It is fine.")
        await card.press("Self-review")
        await office.card(1, "Self-review: It is fine.")


# /agent goals, budget, memory, export


@pytest.mark.slow
async def test_an_export_is_a_file_in_the_thread_for_approvers_and_text_for_others(
    office: Office, tmp_path: Path
) -> None:
    async with asking(office, tmp_path) as (chat, _):
        await remember(chat.running, "Tea is served at four")
        eve = office.team.person("U9", "eve", "guest")
        await eve.types("/agent", "export", office.general)
        assert "- Write a report" in text_of(await office.told(eve, "ai_name: Clerk"))
        await eve.types("/agent", "memory export", office.general)
        await office.told(eve, '"text": "Tea is served at four"')
        assert not any(message.get("files") for message in office.general.messages)
        await office.ana.types("/agent", "export", office.general)
        await office.told(office.ana, "ai_settings.yaml is in the thread of Clerk.")
        await chat.says("!memory export")
        await office.told(office.ana, "memory.jsonl is in the thread of Clerk.")
        shared = [message for message in office.general.messages if message.get("files")]
        assert [message["files"][0]["name"] for message in shared] == ["ai_settings.yaml", "memory.jsonl"]
        kept = office.slack.contents[shared[1]["files"][0]["id"]]
        assert json.loads(kept)["text"] == "Tea is served at four"


# ai_settings.yaml


@pytest.mark.slow
async def test_a_pasted_settings_file_fills_the_form_in_and_no_model_is_asked(office: Office, tmp_path: Path) -> None:
    async with at_work(office, ScriptedModel(WRITE), tmp_path) as running:
        await office.ana.types("/agent", f"new\n{SETTINGS}", office.general)
        form = await office.form(office.ana, "New agent")
        assert model_of(running).prompts == []
        await office.ana.submits(form)
        await office.card(1)
        agent = await running.agent("Poet")
        assert agent.goals == ("Write a poem", "Then: read it")
        assert str(agent.budget.limit) == "1.5"


@pytest.mark.slow
@pytest.mark.parametrize("is_dropped", [True, False])
async def test_a_settings_file_with_a_mention_is_offered_as_an_agent(
    office: Office, tmp_path: Path, *, is_dropped: bool
) -> None:
    async with at_work(office, ScriptedModel(WRITE), tmp_path) as running:
        bot = f"<@{office.team.bot_user}>"
        if is_dropped:
            await office.ana.says(office.general, bot, files=[("ai_settings.yaml", SETTINGS.encode())])
        else:
            await office.ana.says(office.general, f"{bot}\n```{SETTINGS}```")
        offer = await office.said("From ai_settings.yaml.")
        await office.ana.clicks(offer, "Create")
        await office.card(1)
        assert str((await running.agent("Poet")).budget.limit) == "1.5"


async def test_a_settings_file_that_cannot_be_used_is_told_alone(office: Office, tmp_path: Path) -> None:
    async with at_work(office, ScriptedModel(), tmp_path):
        bot = f"<@{office.team.bot_user}>"
        await office.ana.says(office.general, bot, files=[("old.yml", b"ai_goals: Write")])
        await office.told(office.ana, "old.yml: ai_goals is not a list.")
        await office.ana.says(office.general, f"{bot} ai_goals: [{', '.join('abcdefg')}]")
        await office.told(office.ana, "Goals: at most 5")
        await office.ana.says(office.general, f"{bot} ai_goals:\n- {'very long ' * 190}")
        await office.told(office.ana, "too long for a button")
